/** Node's decoder of Brotli let whoever sent the data take over the process (CVE-2026-111497). */
import { brotliCompressSync } from "node:zlib";
import { expect, it } from "vitest";
import { startStandInStripe } from "../../src/stand-in/stripe/index.js";
import { serveWithOAuth } from "../support/oauth.js";
import { createWorld } from "../support/world.js";

const DOORS = {
  "/v1/memories": "application/json",
  "/v1/memories/bulk": "application/json",
  "/graphql": "application/json",
  "/mcp": "application/json",
  "/signup": "application/json",
  "/billing/stripe-webhook": "application/json",
  "/oauth/register": "application/json",
  "/oauth/token": "application/x-www-form-urlencoded",
  "/invitations/a/answer": "application/x-www-form-urlencoded",
};

it("decodes at no door what a client sends in Brotli", async () => {
  await using world = await createWorld();
  const { url } = await serveWithOAuth(world);
  const { key } = await world.user();
  const outcomes: Record<string, number> = {};

  for (const [path, type] of Object.entries(DOORS)) {
    const headers = { authorization: `Bearer ${key}`, "content-type": type, "content-encoding": "br" };
    const response = await fetch(url + path, { method: "POST", headers, body: brotliCompressSync("{}") });
    outcomes[path] = response.status;
  }

  expect(outcomes).toEqual(Object.fromEntries(Object.keys(DOORS).map((path) => [path, 415])));
});

it.each([
  ["/_stand-in/advance", "application/json"],
  ["/v1/customers", "application/x-www-form-urlencoded"],
  ["/checkout/a/pay", "application/x-www-form-urlencoded"],
])("decodes none at %s of the stand-in for Stripe, which development runs", async (path, type) => {
  await using standIn = await startStandInStripe();
  const headers = {
    authorization: `Bearer ${standIn.secretKey}`,
    "content-type": type,
    "content-encoding": "br",
    "idempotency-key": "k",
  };

  const response = await fetch(standIn.url + path, { method: "POST", headers, body: brotliCompressSync("{}") });

  expect([response.status, await response.text()]).toEqual([415, expect.any(String)]);
});
