import { type Socket, connect, createServer } from "node:net";
import { expect, it } from "vitest";
import { ask } from "../support/http.js";
import { listen } from "../support/listening.js";
import { startServerProcess } from "../support/server-process.js";
import { type World, createWorld } from "../support/world.js";

const NOTE = { type: "general", title: "Once", content: "Only once." };

it.each([
  ["before the write", { hold: "toDatabase", at: "SELECT create_memory(" }],
  ["after the write, before the commit", { hold: "toDatabase", at: "COMMIT" }],
  ["after the commit, before the answer", { hold: "fromDatabase", at: "COMMIT" }],
] as const)("has one effect and one answer when the server is killed %s", async (_when, moment) => {
  await using world = await createWorld();
  const ann = await world.user();
  const store = (url: string) =>
    ask(`${url}/v1/memories`, { key: ann.key, headers: { "idempotency-key": "k" }, body: NOTE });

  await using proxy = await holdingProxy(world.databaseUrl, moment);
  await using killed = await startServerProcess({ DATABASE_URL: proxy.url });
  const cutOff = store(killed.url).catch(() => "cut off");
  await proxy.held;
  await expectCommitted(world, moment.hold === "fromDatabase");
  await killed.kill("SIGKILL");
  proxy.drop();

  // It shares only the database with the killed server, so it can run in this process.
  const next = await world.serve();
  const answer = await eventuallyStored(() => store(next.url));
  const again = await store(next.url);

  expect(await cutOff).toBe("cut off");
  expect([again.status, again.body]).toEqual([201, answer.body]);
  const { rows } = await world.database.pool.query<{ id: string }>("SELECT id FROM memory");
  expect(rows).toEqual([{ id: (answer.body as { id: string }).id }]);
});

it("has one effect and one answer when the server is killed after the answer", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const store = (url: string) =>
    ask(`${url}/v1/memories`, { key: ann.key, headers: { "idempotency-key": "k" }, body: NOTE });

  await using killed = await startServerProcess({ DATABASE_URL: world.databaseUrl });
  const first = await store(killed.url);
  await killed.kill("SIGKILL");
  await using next = await startServerProcess({ DATABASE_URL: world.databaseUrl });
  const again = await store(next.url);

  expect([again.status, again.body]).toEqual([201, first.body]);
  expect((await world.database.pool.query("SELECT FROM memory")).rowCount).toBe(1);
});

/** The key's lock may be held until the database notices that the server was killed. */
async function eventuallyStored(store: () => ReturnType<typeof ask>) {
  let answer = await store();
  await expect.poll(async () => (answer = await store()).status, { interval: 100 }).not.toBe(409);
  return answer;
}

/** Checks that the server was killed at the intended moment: whether the change was committed or not. */
async function expectCommitted({ database }: World, expected: boolean): Promise<void> {
  const stored = async () => (await database.pool.query("SELECT FROM memory")).rowCount ?? 0;
  if (expected) await expect.poll(stored).toBe(1);
  else expect(await stored()).toBe(0);
}

interface Moment {
  /** The direction in which nothing passes any more. */
  readonly hold: "toDatabase" | "fromDatabase";
  /** It starts with the first message to the database that contains this. */
  readonly at: string;
}

/** A proxy between a server and its database that stops passing bytes at the given moment. */
async function holdingProxy(databaseUrl: string, { hold, at }: Moment) {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let tell: () => void = () => {};
  const held = new Promise<void>((resolve) => (tell = resolve));
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    let holding = false;
    client.on("data", (bytes) => {
      if (!holding && bytes.includes(at)) {
        holding = true;
        tell();
      }
      if (!holding || hold === "fromDatabase") upstream.write(bytes);
    });
    upstream.on("data", (bytes) => void (holding || client.write(bytes)));
    for (const [socket, other] of [[client, upstream] as const, [upstream, client] as const]) {
      sockets.add(socket);
      socket.on("close", () => other.destroy());
      socket.on("error", () => other.destroy());
    }
  });
  const url = new URL(databaseUrl);
  url.port = String(await listen(server));
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    held,
    drop,
    async [Symbol.asyncDispose]() {
      drop();
      await new Promise((done) => server.close(done));
    },
  };
}
