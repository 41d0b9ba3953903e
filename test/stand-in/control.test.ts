import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type StandInRequest, runningStandIn, startStandInStripe } from "../../src/stand-in/stripe/index.js";
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

it("is shared by another process with the same file while it runs, which gets its events until it ends", async () => {
  await using folder = await temporaryFolder();
  const stateFile = join(folder.path, "stripe.json");
  await using world = await startWorld();
  expect(await runningStandIn(stateFile)).toBeUndefined();
  const first = await startStandInStripe({ stateFile, delivery: "once" });

  const shared = await runningStandIn(stateFile);
  await shared?.sendEventsTo(world.webhookUrl);
  const { customers } = clientOf(first);
  await customers.create({ name: "Bob" });
  await first.delivered();
  await shared?.[Symbol.asyncDispose]();
  await customers.create({ name: "Ann" });
  await first.delivered();

  const { url, secretKey, webhookSecret, priceId } = first;
  expect(shared).toMatchObject({ url, secretKey, webhookSecret, priceId });
  const names = world.received.map(({ body }) => (JSON.parse(body) as { data: { object: object } }).data.object);
  expect(names).toMatchObject([{ name: "Bob" }]);
  await first[Symbol.asyncDispose]();
  expect(await runningStandIn(stateFile)).toBeUndefined();
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
  expect((await tell(url, "decline", { session: session.id })).status).toBe(200);
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
  ["card", { customer: "cus_0", card: "lost" }, "card must be accepted or declined."],
])("says what is wrong with POST /_stand-in/%s %o", async (path, body, message) => {
  await using world = await startWorld();

  const answer = await tell(world.standIn.url, path, body);

  expect(answer.status).toBe(400);
  expect(((await answer.json()) as { error: { message: string } }).error.message).toContain(message);
});

it("refuses commands from a form, which any page could send", async () => {
  await using world = await startWorld();

  const answer = await fetch(`${world.standIn.url}/_stand-in/advance`, {
    method: "POST",
    body: new URLSearchParams({ milliseconds: "1000" }),
  });

  expect(answer.status).toBe(400);
});
