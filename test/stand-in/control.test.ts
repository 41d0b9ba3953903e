import { once } from "node:events";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { type StandInRequest, startStandInStripe } from "../../src/stand-in/stripe/index.js";
import { stripeClient } from "../../src/platform/billing/stripe-client.js";
import { shareStandIn } from "../../src/stand-in/stripe/shared.js";
import { SOON_MS } from "../../src/stand-in/stripe/state.js";
import { roundsOf } from "../support/rounds.js";
import { manyOf } from "../support/teams.js";
import { clientOf, errorOf, onlySubscription, openSession, startWorld, subscribe, upgrade } from "./world.js";

const DAY_MS = 24 * 3_600_000;

async function temporaryFolder() {
  const path = await mkdtemp(join(tmpdir(), "stand-in-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

const tell = (url: string, path: string, body: object = {}) =>
  fetch(`${url}/_stand-in/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

it("keeps everything in its file from one run to the next: objects, keys, clock and saved answers", async () => {
  await using folder = await temporaryFolder();
  const stateFile = join(folder.path, "deep", "stripe.json");
  const first = await startWorld({ stateFile });
  const { customer } = await subscribe(first, 3);
  await first.stripe.customers.create({ name: "Bob" }, { idempotencyKey: "k" });
  await first.standIn.advance(3 * DAY_MS);
  const { secretKey, priceId } = first.standIn;
  await first[Symbol.asyncDispose]();

  await using second = await startWorld({ stateFile });

  expect(second.standIn).toMatchObject({ secretKey, priceId });
  expect(second.standIn.now().getTime() - Date.now()).toBeGreaterThan(2.9 * DAY_MS);
  expect(await onlySubscription(second, customer.id)).toMatchObject({ status: "active" });
  expect((await second.stripe.customers.list()).data).toHaveLength(2);
  expect(JSON.parse(await readFile(stateFile, "utf8"))).toHaveProperty("customers");
  if (process.platform !== "win32") expect((await stat(stateFile)).mode & 0o777).toBe(0o600);
});

it("delivers events of an earlier run that were not delivered then", async () => {
  await using folder = await temporaryFolder();
  const stateFile = join(folder.path, "stripe.json");
  await using world = await startWorld({ delivery: "once" });
  const webhook = { url: world.webhookUrl, secret: "whsec_of_the_test" };
  world.answerEventsBy(500);
  const first = await startStandInStripe({ stateFile, webhook, delivery: "once" });
  await clientOf(first).customers.create({ name: "Bob" });
  await first[Symbol.asyncDispose]();
  world.answerEventsBy(200);

  await using second = await startStandInStripe({ stateFile, webhook, delivery: "once" });
  await second.delivered();

  expect(world.received.at(-1)?.event()).toMatchObject({ type: "customer.created", data: { object: { name: "Bob" } } });
});

it("goes on while its file cannot be written, and writes it later", async () => {
  await using folder = await temporaryFolder();
  const [inside, stateFile] = [join(folder.path, "inside"), join(folder.path, "inside", "stripe.json")];
  await using world = await startWorld({ stateFile, delivery: "once" });
  let answer = (_status: number) => {};
  world.answerEventsBy(new Promise((resolve) => (answer = resolve)));
  await world.stripe.customers.create({ name: "Bob" });
  await rm(inside, { recursive: true });
  await writeFile(inside, "not a folder");

  // The delivery changes the state, and began a timer of the same length earlier than this one.
  answer(200);
  await world.standIn.delivered();
  await sleep(SOON_MS);
  await rm(inside);

  await expect.poll(() => readFile(stateFile, "utf8").catch(String)).toContain("Bob");
});

it("is shared by those who start it with the same file, who get its events until they end", async () => {
  await using folder = await temporaryFolder();
  const stateFile = join(folder.path, "stripe.json");
  await using world = await startWorld();
  await using first = await shareStandIn(stateFile);

  const shared = await shareStandIn(relative(".", stateFile));
  await shared.sendEventsTo(world.webhookUrl);
  const { customers } = stripeClient(first.secretKey, first.url);
  await customers.create({ name: "Bob" });
  await expect.poll(() => world.received.length).toBeGreaterThan(0);
  await shared[Symbol.asyncDispose]();
  await customers.create({ name: "Ann" });

  const { url, secretKey, webhookSecret, priceId } = first;
  expect(shared).toMatchObject({ url, secretKey, webhookSecret, priceId });
  await tell(url, "delivered");
  const names = world.received.map(
    ({ body }) => (JSON.parse(body) as { data: { object: { name: string } } }).data.object.name,
  );
  expect(new Set(names)).toEqual(new Set(["Bob"]));
});

it("is started once by many who start it at the same moment, again and again, also beside another program", async () => {
  await using folder = await temporaryFolder();
  const stateFile = join(folder.path, "stripe.json");
  const seen = new Set<string>();
  for (let round = 0; round < roundsOf(20); round++) {
    const all = await manyOf(8, () => shareStandIn(stateFile));
    const ports = new Set(all.map(({ url }) => new URL(url).port));
    expect(ports.size).toBe(1);
    for (const { secretKey } of all) seen.add(secretKey);
    for (const one of all) await one[Symbol.asyncDispose]();
    // Afterwards another program has the port.
    if (round === 0) {
      const other = createServer((_request, response) => void response.end("Hello.")).listen(
        Number([...ports][0]),
        "127.0.0.1",
      );
      onTestFinished(() => void other.close());
      await once(other, "listening");
    }
  }
  expect(seen.size).toBe(1);
});

it("says so when it did not write its file", async () => {
  await using folder = await temporaryFolder();
  const stateFile = join(folder.path, "stripe.json");
  await writeFile(stateFile, "{");

  await expect(startStandInStripe({ stateFile })).rejects.toThrow(SyntaxError);
});

it("says so when its port is taken", async () => {
  await using world = await startWorld();

  const port = Number(new URL(world.standIn.url).port);

  await expect(startStandInStripe({ port })).rejects.toThrow("EADDRINUSE");
});

it("refuses to move its clock too far", async () => {
  await using world = await startWorld();
  await subscribe(world);

  await expect(world.standIn.advance(3_000 * 365 * DAY_MS)).rejects.toThrow(RangeError);
});

it("does the same over HTTP as in the process", async () => {
  await using world = await startWorld();
  const { customer, session } = await openSession(world, 3);
  const { url, secretKey, priceId } = world.standIn;

  expect(await (await fetch(`${url}/_stand-in/`)).json()).toMatchObject({ url, secretKey, priceId });
  expect((await tell(url, "pay", { session: session.id })).status).toBe(200);
  await tell(url, "card", { customer: customer.id, card: "declined" });
  const waiting = await upgrade(world, await onlySubscription(world, customer.id), 5);
  expect(waiting.pending_update).not.toBeNull();
  const invoice = (await world.stripe.subscriptions.retrieve(waiting.id)).latest_invoice;
  await tell(url, "invoice", { invoice });
  expect((await onlySubscription(world, customer.id)).pending_update).toBeNull();
  await tell(url, "advance", { milliseconds: DAY_MS });
  expect(world.standIn.now().getTime() - Date.now()).toBeGreaterThan(DAY_MS - 60_000);
  await tell(url, "pause", { subscription: waiting.id });
  expect((await onlySubscription(world, customer.id)).status).toBe("paused");
  await tell(url, "give-up", { subscription: waiting.id });
  expect((await onlySubscription(world, customer.id)).status).toBe("unpaid");
  await tell(url, "delivered");
  const requests = (await (await fetch(`${url}/_stand-in/requests`)).json()) as StandInRequest[];
  expect(requests.map(({ path }) => path)).toEqual(world.standIn.requests.map(({ path }) => path));
  await tell(url, "fault", { kind: "429", method: "POST", path: "^/v1/customers$", times: 2 });
  expect(await errorOf(world.stripe.customers.create())).toMatchObject({ statusCode: 429 });
  await tell(url, "faults/clear");
  await world.stripe.customers.create();
});

it.each([
  ["fault", { kind: "fire" }, "Unknown fault: fire."],
  ["fault", { kind: "429", path: "(" }, "Invalid regular expression"],
  ["pay", { session: "cs_test_0" }, "No such checkout.session: 'cs_test_0'"],
  ["pay", {}, "session must be text."],
  ["advance", { milliseconds: -1 }, "milliseconds must be a number"],
  ["card", { customer: "cus_0", card: "lost" }, "card must be accepted, challenged or declined."],
])("says what is wrong with POST /_stand-in/%s %o", async (path, body, message) => {
  await using world = await startWorld();

  const answer = await tell(world.standIn.url, path, body);

  expect(answer.status).toBe(400);
  expect(((await answer.json()) as { error: { message: string } }).error.message).toContain(message);
});

it("refuses commands from a form, which any page could send", async () => {
  await using world = await startWorld();

  // It needs nothing of the body, so only its type can be wrong.
  const answer = await fetch(`${world.standIn.url}/_stand-in/faults/clear`, {
    method: "POST",
    body: new URLSearchParams({ milliseconds: "1000" }),
  });

  expect(answer.status).toBe(400);
});
