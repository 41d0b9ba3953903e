import { once } from "node:events";
import { type ClientRequest, type ServerResponse, createServer } from "node:http";
import https from "node:https";
import { expect, it, onTestFinished } from "vitest";
import { Deadline, Payments } from "../../src/platform/billing/payments.js";
import { listen } from "../support/listening.js";

const MEBIBYTE = Buffer.alloc(1_048_576, " ");
const MEBIBYTES = 64;

const TOO_MUCH: Readonly<Record<string, (answer: ServerResponse) => void>> = {
  large(answer) {
    for (let sent = 0; sent < MEBIBYTES; sent++) answer.write(MEBIBYTE);
    answer.end('{"object":"customer","id":"cus_1"}');
  },
  slow(answer) {
    const drip = setInterval(() => void answer.write(" "), 20);
    answer.once("close", () => clearInterval(drip));
  },
};

it.each([
  { how: "large", changeMs: 5_000 },
  { how: "slow", changeMs: 500 },
])("closes the connection when the provider's answer is too $how", async ({ how, changeMs }) => {
  await using provider = await aProvider(TOO_MUCH[how]);

  await expect(askFor(provider, changeMs, new Deadline(changeMs))).rejects.toMatchObject({ outcome: "unknown" });

  expect(provider.answers()).toBeGreaterThan(0);
  await expect.poll(() => provider.open.size).toBe(0);
});

it("waits for a read no longer than until its deadline, though the answer may go on", async () => {
  await using provider = await aProvider(TOO_MUCH["slow"]);

  const asked = askFor(provider, 300_000, new Deadline(500));

  await expect(asked).rejects.toMatchObject({ outcome: "unknown", message: "Stripe did not answer in time." });
  expect([provider.answers(), provider.open.size]).toEqual([1, 1]);
});

it("asks nothing after its deadline, as when the process was paused meanwhile", async () => {
  await using provider = await aProvider((answer) => void answer.end('{"object":"customer","id":"cus_1"}'));

  await expect(askFor(provider, 5_000, new Deadline(0))).rejects.toMatchObject({ outcome: "unknown" });
  // What was asked before this one would have arrived by now.
  await askFor(provider, 5_000, new Deadline(5_000));

  expect(provider.answers()).toBe(1);
});

it("keeps addresses out of the messages of its errors, which are logged", async () => {
  const refusal = { type: "invalid_request_error", code: "email_invalid", param: "email" };
  const message = "Invalid email address: o'neil@example.com (see the documentation)";
  await using provider = await aProvider((answer) => {
    answer.statusCode = 400;
    answer.end(JSON.stringify({ error: { ...refusal, message } }));
  });

  const asked = askFor(provider, 5_000, new Deadline(5_000));

  await expect(asked).rejects.toMatchObject({
    outcome: "refused",
    message: expect.stringMatching(/ 400 email_invalid email: Invalid email address: …@… \(see the documentation\)$/),
  });
});

it("calls Stripe by Node's own agent, which may be told to go through a proxy", async () => {
  const { globalAgent } = https;
  onTestFinished(() => void (https.globalAgent = globalAgent));
  const asked: unknown[] = [];
  // In place of the connection, which Node's agent would make.
  https.globalAgent = Object.assign(new https.Agent(), {
    addRequest(request: ClientRequest, { port }: https.RequestOptions) {
      asked.push([request.host, port]);
      request.destroy(new Error("asked"));
    },
  });

  const answer = askFor({ apiBase: undefined }, 500, new Deadline(500));

  await expect(answer).rejects.toMatchObject({ outcome: "unknown" });
  expect(new Set(asked.map(String))).toEqual(new Set(["api.stripe.com,443"]));
});

/** A provider that answers each request like this. */
async function aProvider(answerTo: ((answer: ServerResponse) => void) | undefined) {
  const open = new Set<ServerResponse>();
  let answers = 0;
  const server = createServer((_request, answer) => {
    answers++;
    open.add(answer);
    answer.once("close", () => open.delete(answer));
    answer.setHeader("Content-Type", "application/json");
    answerTo?.(answer);
  });
  return {
    apiBase: `http://127.0.0.1:${await listen(server)}`,
    open,
    answers: () => answers,
    async [Symbol.asyncDispose]() {
      server.close().closeAllConnections();
      await once(server, "close");
    },
  };
}

function askFor({ apiBase }: { apiBase: string | undefined }, changeMs: number, deadline: Deadline) {
  const settings = { secretKey: "sk_test_x", webhookSecret: "whsec_x", priceId: "price_x", apiBase };
  const payments = new Payments(settings, { requestMs: 300_000, changeMs, readMs: changeMs });
  return payments.ask("customer", deadline, (stripe, options) => stripe.customers.retrieve("cus_1", {}, options));
}
