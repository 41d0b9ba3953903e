import { once } from "node:events";
import { type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { Deadline, Payments } from "../../src/platform/billing/payments.js";

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
  const open = new Set<ServerResponse>();
  let answers = 0;
  const server = createServer((_request, answer) => {
    answers++;
    open.add(answer);
    answer.once("close", () => open.delete(answer));
    answer.writeHead(200, { "Content-Type": "application/json" });
    TOO_MUCH[how]?.(answer);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const apiBase = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const settings = { secretKey: "sk_test_x", webhookSecret: "whsec_x", priceId: "price_x", apiBase };
  const payments = new Payments(settings, { requestMs: 20_000, changeMs, readMs: changeMs });

  const asked = payments.ask("customer", new Deadline(changeMs), (stripe, options) =>
    stripe.customers.retrieve("cus_1", {}, options),
  );

  try {
    await expect(asked).rejects.toMatchObject({ outcome: "unknown" });
    expect(answers).toBeGreaterThan(0);
    await expect.poll(() => open.size).toBe(0);
  } finally {
    server.close().closeAllConnections();
  }
});
