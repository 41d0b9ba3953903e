import { request } from "node:http";
import { expect, it } from "vitest";
import { ask } from "../support/http.js";
import { waitingForLocks } from "../support/locks.js";
import { createWorld } from "../support/world.js";

it("keeps no slot for clients that disconnected while their key was looked up", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, { connectionsPerKey: 2, waitingPerKey: 0 });
  const { key } = await world.user();
  const { pool } = world.database;
  const client = await pool.connect();
  await client.query("BEGIN; LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE");
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };

  const sent = [1, 2].map(() => request(`${url}/graphql`, { method: "POST", headers }).on("error", () => {}));
  for (const one of sent) one.end('{"query":"{ __typename }"}');
  await expect.poll(() => waitingForLocks(world)).toBeGreaterThan(0);
  for (const one of sent) one.destroy();
  // This request on another connection is answered only after the server has seen the others end.
  await ask(`${url}/healthz`);
  await client.query("COMMIT");
  client.release();

  const { status } = await ask(`${url}/graphql`, { key, body: { query: "{ memories { memories { id } } }" } });
  expect(status).toBe(200);
});
