import { stat } from "node:fs";
import { gzipSync } from "node:zlib";
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { Response } from "express";
import pg from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { Unavailable } from "../../src/operation/failure.js";
import { Patience } from "../../src/operation/patience.js";
import { Bodies } from "../../src/surfaces/bodies.js";
import { Slots } from "../../src/surfaces/slots.js";
import { Turns } from "../../src/surfaces/turns.js";
import { whenAnswered } from "../../src/surfaces/when-over.js";
import { Work } from "../../src/surfaces/work.js";
import { bufferMegabytes, heapMegabytes } from "../support/heap.js";
import { ask } from "../support/http.js";
import { PATIENT } from "../support/patience.js";
import { nextAnswer, openConnection, saidIn } from "../support/socket.js";
import { createWorld } from "../support/world.js";

const PATIENCE = { timeout: 60_000 };
const NOTE = { type: "general", title: "A note", content: "Something." };

it("refuses requests beyond the limit before it reads them, at every door, and stays alive", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, { requestsAtOnce: 2 }, PATIENT);
  const { key } = await world.user();
  const client = new pg.Client(world.databaseUrl);
  await client.connect();
  await client.query("BEGIN; LOCK TABLE memory IN EXCLUSIVE MODE");

  const held = [1, 2].map(() => ask(`${url}/v1/memories`, { key, body: NOTE }));
  const statusOf = async (path: string) => (await ask(`${url}${path}`)).status;
  await expect.poll(() => statusOf("/docs"), PATIENCE).toBe(503);
  // Neither the key nor the body is looked at.
  const byRest = await ask(`${url}/v1/memories`, { key: "wrong", body: "x".repeat(2_000_000) });
  const byGraphQL = await ask(`${url}/graphql`, { body: { query: "{" } });
  const alive = await Promise.all([statusOf("/healthz"), statusOf("/readyz")]);
  await client.query("COMMIT");
  await client.end();

  expect(byRest).toMatchObject({ status: 503, body: { error: { code: "unavailable" } } });
  expect(byRest.headers.get("retry-after")).toMatch(/^\d+$/);
  const extensions = { code: "UNAVAILABLE", retryAfterSeconds: Number(byGraphQL.headers.get("retry-after")) };
  expect(byGraphQL).toMatchObject({ status: 503, body: { errors: [{ extensions }] } });
  expect(alive).toEqual([200, 200]);
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual([201, 201]);
  expect(await statusOf("/docs")).toBe(200);
  expect(world.log.filter((line) => line.includes('"why":"overloaded"'))).toHaveLength(1);
});

it("lets a request wait for a slot as long as its patience lasts, and at most as long as there", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const slots = new Slots({ slots: 1, waiting: 3, waitMs: 1_000 });
  expect(slots.take("ann")).toBe(true);
  const ended: string[] = [];
  const wait = async (name: string, ms?: number) => void ended.push(`${name}: ${await slots.take("ann", ms)}`);

  const waits = [wait("patient", 5_000), wait("impatient", 10), wait("usual")];
  await vi.advanceTimersByTimeAsync(10);
  expect(ended).toEqual(["impatient: false"]);
  slots.give("ann");
  await vi.advanceTimersByTimeAsync(1_000);
  await Promise.all(waits);
  expect(ended).toEqual(["impatient: false", "patient: true", "usual: false"]);
});

it("refuses bodies beyond the memory for all together, which each gives back", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, { bodiesBytes: 3_000 });
  const { key } = await world.user();
  const statusOf = async (bytes: number) =>
    (await ask(`${url}/v1/memories`, { key, body: { ...NOTE, content: "x".repeat(bytes) } })).status;

  const statuses = [];
  for (const bytes of [2_000, 2_000, 4_000, 2_000, 4_000, 2_000]) statuses.push(await statusOf(bytes));

  expect(statuses).toEqual([201, 201, 503, 201, 503, 201]);
});

/** A request whose body has a million bytes, of which so many come. */
const begunBody = (key: string, bytes: number): string =>
  `POST /v1/memories HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n` +
  `Content-Length: 1000000\r\n\r\n${" ".repeat(bytes)}`;

it("counts the memory that a body takes, which is more than what came of it", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, { bodiesBytes: 1_300_000 });
  const { key } = await world.user();
  const socket = openConnection(url);

  socket.write(begunBody(key, 600_000));

  await expect.poll(() => socket.writableLength, PATIENCE).toBe(0);
  // Each is answered after the server has read more of what has come.
  for (let n = 0; n < 20; n++) await ask(`${url}/healthz`);

  const sendAnother = async () => (await ask(`${url}/v1/memories`, { key, body: " ".repeat(600_000) })).status;
  await expect.poll(sendAnother).toBe(503);
  socket.destroy();
});

it("refuses an unfinished body of whoever has most of them, so that slow senders keep nobody else from sending", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, { bodiesBytes: 3_500_000 });
  const [ann, bob, cid] = [await world.user(), await world.user(), await world.user()];
  // Each of these takes a MiB.
  const slow = [bob, bob, cid].map(({ key }) => {
    const socket = openConnection(url);
    socket.write(begunBody(key, 600_000));
    return socket;
  });
  await expect.poll(() => slow.map(({ writableLength }) => writableLength), PATIENCE).toEqual([0, 0, 0]);
  for (let n = 0; n < 20; n++) await ask(`${url}/healthz`);
  const answers = slow.map(async (socket) => saidIn(await nextAnswer(socket)).status);

  const { status } = await ask(`${url}/v1/memories`, { key: ann.key, body: JSON.stringify(NOTE).padEnd(1_000_000) });
  for (const socket of slow.slice(1)) socket.write(" ".repeat(400_000));

  expect(status).toBe(201);
  // Of the others, nothing is lost: they are read, and are no JSON.
  expect(await Promise.all(answers)).toEqual([503, 400, 400]);
  for (const socket of slow) socket.destroy();
});

it("refuses no body that has arrived, and none of those that have less than the one that comes", () => {
  const bodies = new Bodies(10);
  const begin = (account: string) => bodies.begin(account, () => expect.unreachable());
  const [arrived, small, next] = [begin("ann"), begin("bob"), begin("cid")];
  arrived.take(6);
  arrived.complete();
  small.take(2);

  expect(() => next.take(3)).toThrow(Unavailable);
  // A body that is refused is freed again when its refusal is answered.
  for (const _time of ["refused", "answered"]) arrived.free();
  // Its client has gone, but what it sent is still decompressed.
  arrived.take(6);

  next.take(8);
  for (const body of [small, next]) body.complete();
  expect(() => begin("dan").take(1)).toThrow(Unavailable);
});

it("refuses the oldest unfinished bodies of the account that has most, until there is room", () => {
  const bodies = new Bodies(12);
  const refused: string[] = [];
  const take = (account: string, bytes: number) =>
    bodies.begin(account, () => refused.push(`${account} ${bytes}`)).take(bytes);
  for (const [account, bytes] of [
    ["ann", 3],
    ["bob", 1],
    ["bob", 2],
    ["bob", 3],
    ["ann", 1],
  ] as const) {
    take(account, bytes);
  }

  take("cid", 4);
  expect(refused).toEqual(["bob 1", "bob 2"]);
  take("dan", 4);
  expect(refused).toEqual(["bob 1", "bob 2", "ann 3"]);

  expect(() => take("eve", 5)).toThrow(Unavailable);
  expect(refused).toHaveLength(3);
});

it("counts the body of a GET while it comes, and not while its answer is read", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, { bodiesBytes: 20_000 });
  const { key } = await world.user();
  const send = async () => (await ask(`${url}/v1/memories`, { key, body: " ".repeat(10_000) })).status;
  const socket = openConnection(url);
  socket.write(begunBody(key, 15_000).replace("POST", "GET").replace("1000000", "16000"));

  await expect.poll(send, PATIENCE).toBe(503);
  socket.write(" ".repeat(1_000));
  const { status } = saidIn(await nextAnswer(socket));

  expect([status, await send()]).toEqual([200, 400]);
  socket.destroy();
});

it("keeps nothing of accounts whose bodies are answered", async () => {
  const bodies = new Bodies(10);
  const before = await heapMegabytes();

  for (let n = 0; n < 50_000; n++) {
    const body = bodies.begin(`account ${n}`, () => expect.unreachable());
    body.take(10);
    body.free();
  }

  expect((await heapMegabytes()) - before).toBeLessThan(5);
  bodies.begin("ann", () => expect.unreachable()).take(10);
});

it("frees the memory of refused bodies though their clients stay", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, { bodiesBytes: 3_000_000, connectionsPerAddress: 500 });
  const { key } = await world.user();
  const refused: Socket[] = [];
  const before = await bufferMegabytes();

  for (let wave = 0; wave < 8; wave++) {
    const waiting = new Set(Array.from({ length: 10 }, () => openConnection(url)));
    for (const socket of waiting) {
      socket.once("data", () => waiting.delete(socket) && refused.push(socket));
      socket.write(begunBody(key, 900_000));
    }
    await expect.poll(() => waiting.size, PATIENCE).toBeLessThan(3);
    for (const socket of waiting) socket.destroy();
  }

  expect((await bufferMegabytes()) - before).toBeLessThan(6);
  for (const socket of refused) socket.destroy();
});

it("gives back the memory of a compressed body whose client leaves while it is decompressed", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, { bodiesBytes: 3_000_000 });
  const { key } = await world.user();
  const body = gzipSync(" ".repeat(1_000_000));
  const head = `POST /v1/memories HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Encoding: gzip\r\n`;
  const sent = `${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;

  for (let n = 0; n < 60; n++) {
    const socket = openConnection(url);
    socket.write(Buffer.concat([Buffer.from(sent), body]), () => setTimeout(() => socket.resetAndDestroy(), 3));
    await new Promise((done) => socket.once("close", done));
  }

  const sendLarge = async () => (await ask(`${url}/v1/memories`, { key, body: " ".repeat(1_000_000) })).status;
  await expect.poll(sendLarge).toBe(400);
});

it("forgets the requests of clients that leave, also those behind others on their connection", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, { requestsAtOnce: 2, connectionsPerKey: 2 });
  const leave = async (key: string, afterMs: number) => {
    const ask = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`;
    const socket = openConnection(url);
    socket.write(ask("/v1/memories") + ask("/v1/export"), () => setTimeout(() => socket.resetAndDestroy(), afterMs));
    await new Promise((done) => socket.once("close", done));
  };

  const keys = await Promise.all(Array.from({ length: 15 }, async () => (await world.user()).key));
  for (const key of keys) for (let turn = 0; turn < 10; turn++) await leave(key, turn % 10);

  for (const key of keys) await expect.poll(async () => (await ask(`${url}/v1/memories`, { key })).status).toBe(200);
});

it("begins no work for a client that has left, which nothing would end, and gives back what it has taken", async () => {
  const work = new Work({ ...LIMITS.http, largeAtOnce: 1, largePerAccount: 1, bodiesBytes: 10 });
  onTestFinished(() => work[Symbol.dispose]());
  const response = new ServerResponse(new IncomingMessage(new Socket())).destroy() as Response;
  const holdBody = () => work.holdBody(response, "ann", () => expect.unreachable()).take(10);

  holdBody();
  await work.admitLarge(response, "ann", new Patience(0));
  expect([work.wasQuiet(), work.wasQuiet()]).toEqual([false, true]);
  work.begin(response, () => expect.unreachable());

  expect(work.wasQuiet()).toBe(true);
  holdBody();
  await work.enterLarge("ann", new Patience(0));
});

it("counts the body of a client that has left until its work ends", async () => {
  const work = new Work({ ...LIMITS.http, bodiesBytes: 10 });
  onTestFinished(() => work[Symbol.dispose]());
  const response = new ServerResponse(new IncomingMessage(new Socket())).destroy() as Response;
  const holdBody = () => work.holdBody(response, "ann", () => expect.unreachable()).take(10);

  holdBody();
  // Behind a timer that would free it at once.
  await new Promise((done) => setTimeout(done, 0));
  expect(holdBody).toThrow(Unavailable);

  response.emit("answered");
  holdBody();
});

it("keeps no timer of a request that was answered, before or after its client left", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const responses = [1, 2, 3].map(() => new ServerResponse(new IncomingMessage(new Socket())));
  const released: number[] = [];
  for (const [n, response] of responses.entries()) whenAnswered(response, () => released.push(n), 1_000);
  const [answered, left, gone] = responses;

  answered?.emit("answered");
  for (const response of responses) response.emit("close");
  left?.emit("answered");
  expect([released, vi.getTimerCount()]).toEqual([[0, 1], 1]);
  vi.advanceTimersByTime(1_000);
  gone?.emit("answered");

  expect([released, vi.getTimerCount()]).toEqual([[0, 1, 2], 0]);
});

it("refuses new requests while every turn of the event loop is late, but not after a single long one", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const work = new Work({ ...LIMITS.http, loopDelayMs: 30, loopWindowMs: 200 });
  onTestFinished(() => work[Symbol.dispose]());
  const takeTurns = async (turns: number, busyMs: number, idleMs = 0) => {
    for (let turn = 0; turn < turns; turn++) {
      keepBusy(busyMs);
      await new Promise((done) => setTimeout(done, idleMs));
    }
  };
  const isOverloadedAtEndOfWindow = () => {
    vi.advanceTimersByTime(200);
    try {
      work.assertNotOverloaded();
      return false;
    } catch (error) {
      return error instanceof Unavailable;
    }
  };
  const isOverloadedAfter = (...turns: Parameters<typeof takeTurns>) =>
    takeTurns(...turns).then(isOverloadedAtEndOfWindow);
  const isOverloadedWhenIdle = () => isOverloadedAfter(5, 0, 25);

  await expect.poll(isOverloadedWhenIdle, PATIENCE).toBe(false);
  await isOverloadedAfter(3, 100);
  expect(await isOverloadedAfter(3, 100)).toBe(true);
  await expect.poll(isOverloadedWhenIdle, PATIENCE).toBe(false);
  // A window's first turn only begins its measurement, so the long one is all that this window has.
  await takeTurns(1, 0, 25);
  expect(await isOverloadedAfter(1, 1_000)).toBe(false);
});

it("lets one account's much waiting work delay the work of others by one piece", async () => {
  const turns = new Turns(5);
  const begun: string[] = [];
  const begin = (name: string, account?: string) =>
    turns.begin(() => {
      keepBusy(10);
      begun.push(name);
    }, account);

  begin("busy");
  for (let n = 0; n < 5; n++) for (const account of ["a", "b"]) begin(account, account);
  begin("c", "c");
  begin("new");
  await expect.poll(() => begun.length, PATIENCE).toBe(13);

  expect(begun.join(" ")).toBe("busy a b c new a b a b a b a b");
});

it("lets requests arrive before the waiting work of accounts", async () => {
  const turns = new Turns(5);
  const begun: string[] = [];
  for (let n = 0; n < 10; n++) {
    turns.begin(() => {
      keepBusy(10);
      begun.push("work");
    }, "a");
  }
  for (let n = 0; n < 10; n++) turns.arrive(() => begun.push("arrival"));
  await expect.poll(() => begun.length, PATIENCE).toBe(20);

  // Some more if the machine is busy: without, they would take turns with the work, and the last be the last.
  expect(begun.lastIndexOf("arrival")).toBeLessThan(15);
});

it("begins requests in the order in which they arrive, also in a turn that has time", async () => {
  const turns = new Turns(100);
  const begun: string[] = [];
  const arrive = (name: string, work = () => {}) =>
    turns.arrive(() => {
      begun.push(name);
      work();
    });

  arrive("first", () => keepBusy(110));
  arrive("second", () => arrive("fourth"));
  arrive("third");
  await expect.poll(() => begun.length, PATIENCE).toBe(4);

  expect(begun).toEqual(["first", "second", "third", "fourth"]);
});

it("leaves half of each turn to the work of accounts while many requests arrive", async () => {
  const turns = new Turns(40);
  let [arrived, worked, workedMeanwhile] = [0, 0, 0];

  turns.begin(() => keepBusy(50), "a");
  for (let n = 0; n < 100; n++) {
    turns.begin(() => {
      keepBusy(1);
      worked++;
    }, "a");
  }
  for (let n = 0; n < 200; n++) {
    turns.arrive(() => {
      keepBusy(2);
      arrived++;
      workedMeanwhile = worked;
    });
  }
  await expect.poll(() => arrived + worked, PATIENCE).toBe(300);

  // With whole turns, ten of the hundred.
  expect(workedMeanwhile).toBeGreaterThan(50);
});

it("begins nothing while it is held, but continues what was begun, and begins all of it afterwards", async () => {
  const turns = new Turns(50);
  const events: string[] = [];
  const release = turns.hold();

  for (const name of ["arrival", "later arrival"]) turns.arrive(() => events.push(name));
  for (const name of ["work", "later work"]) turns.begin(() => events.push(name));
  for (let turn = 0; turn < 5; turn++) {
    await turns.waitForTurn({}, "", () => events.push("piece"));
    await new Promise(setImmediate);
  }
  expect(events).toEqual(Array(5).fill("piece"));
  release();
  await expect.poll(() => events.length, PATIENCE).toBe(9);

  expect(events.slice(5)).toEqual(["arrival", "later arrival", "work", "later work"]);
});

it.each([
  ["at once", (work: () => void) => work()],
  ["in microtasks", (work: () => void) => void Promise.resolve().then(() => Promise.resolve().then(work))],
])("starts in one turn of the event loop only what fits, in order, of work that runs %s", async (_when, run) => {
  const turns = new Turns(5);
  const events: string[] = [];
  const tick = () => {
    events.push("tick");
    if (events.filter((event) => event !== "tick").length < 20) setImmediate(tick);
  };
  setImmediate(tick);

  turns.begin(() => keepBusy(10));
  for (let n = 0; n < 20; n++) {
    turns.begin(() =>
      run(() => {
        keepBusy(10);
        events.push(String(n));
      }),
    );
  }
  const begun = () => events.filter((event) => event !== "tick");
  await expect.poll(() => begun().length, PATIENCE).toBe(20);

  expect(begun()).toEqual(Array.from({ length: 20 }, (_, n) => String(n)));
  expect(events.join(" ")).not.toMatch(/\d \d+ \d/);
});

it("starts many small requests in one turn, also behind a large one", async () => {
  const turns = new Turns(50);
  const [starts, count] = [new Set<number>(), 100];
  let turn = 0;
  let started = 0;
  const tick = () => {
    turn++;
    if (started < count) setImmediate(tick);
  };
  setImmediate(tick);

  turns.begin(() => keepBusy(60));
  for (let n = 0; n < count; n++) {
    turns.begin(() => {
      starts.add(turn);
      started++;
    });
  }
  await expect.poll(() => started, PATIENCE).toBe(count);

  expect(starts.size).toBeLessThan(count / 4);
});

it("continues started work in pieces, in turn with other work", async () => {
  const turns = new Turns(5);
  const events: string[] = [];
  const piece = async (whose: object, name: string) => {
    await turns.waitForTurn(whose);
    keepBusy(10);
    events.push(name);
  };
  const tick = () => {
    events.push("tick");
    if (events.filter((event) => event !== "tick").length < 20) setImmediate(tick);
  };
  setImmediate(tick);
  const [large, small] = [{}, {}];

  const pieces = Array.from({ length: 18 }, () => piece(large, "large"));
  pieces.push(piece(small, "small"), piece(small, "small"));
  await Promise.all(pieces);

  const done = events.filter((event) => event !== "tick");
  expect(done.lastIndexOf("small")).toBeLessThan(10);
  expect(done.filter((event) => event === "large").length).toBe(18);
  expect(events.slice(events.indexOf("tick")).join(" ")).not.toMatch(/(?:large|small) (?:large|small) (?:large|small)/);
});

it("continues many small pieces in one turn, also where each turn begins large work", async () => {
  const turns = new Turns(10);
  let turn = 0;
  const tick = () => {
    turn++;
    if (turn < 100) setImmediate(tick);
  };
  setImmediate(tick);
  for (let n = 0; n < 60; n++) turns.begin(() => keepBusy(15), "busy");

  const owner = {};
  for (let n = 0; n < 50; n++) await turns.waitForTurn(owner);

  expect(turn).toBeLessThan(25);
});

it("continues the work of one account as soon as that of another, however many requests the other has", async () => {
  const turns = new Turns(5);
  let [others, isOver] = [0, false];
  const keepOn = async (owner: object) => {
    for (;;) {
      await turns.waitForTurn(owner, "busy");
      if (isOver) return;
      keepBusy(1);
      others++;
    }
  };
  const running = Array.from({ length: 20 }, () => keepOn({}));

  const owner = {};
  for (let n = 0; n < 20; n++) await turns.waitForTurn(owner, "other");
  isOver = true;
  const before = others;
  await Promise.all(running);

  // Each of its pieces waits for one of the other, not for one of each of the other's requests.
  expect(before).toBeLessThan(100);
});

it("lets accounts take turns also where one piece fills a turn of the event loop", async () => {
  const turns = new Turns(5);
  const continued: string[] = [];
  const piece = async (account: string) => {
    await turns.waitForTurn({}, account);
    keepBusy(10);
    continued.push(account);
  };

  await Promise.all(["a", "b", "c"].flatMap((account) => [1, 2, 3].map(() => piece(account))));

  expect(continued.join("")).toBe("abcabcabc");
});

it("gives a turn of the event loop no second share of time", async () => {
  const turns = new Turns(5);
  const events: string[] = [];

  await new Promise<void>((done) => {
    // Like a request: immediates of the same turn come after it.
    stat(".", () => {
      turns.begin(() => {
        keepBusy(10);
        events.push("work");
      });
      turns.begin(() => {
        events.push("more work");
        done();
      });
      setImmediate(() => events.push("next turn"));
    });
  });

  expect(events).toEqual(["work", "next turn", "more work"]);
});

it("continues at least one piece in each turn, even if new work starts in it", async () => {
  const turns = new Turns(0);
  const mine = {};

  const pieces = Array.from({ length: 10 }, () => turns.waitForTurn(mine));

  expect(await Promise.all(pieces)).toHaveLength(10);
});

function keepBusy(milliseconds: number): void {
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
}
