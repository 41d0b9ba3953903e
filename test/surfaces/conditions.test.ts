import { expect, it } from "vitest";
import { createMemory } from "../../src/features/memories/create-memory.js";
import { memory } from "../../src/features/memories/get-memory.js";
import { putMemory } from "../../src/features/memories/put-memory.js";
import { createRelationship } from "../../src/features/relationships/create-relationship.js";
import { relationship } from "../../src/features/relationships/get-relationship.js";
import { ask } from "../support/http.js";
import { aMemory } from "../support/memories.js";
import { createWorld } from "../support/world.js";

const NOTE = { type: "solution", title: "Retry with backoff", content: "Wait longer after each failure." };

it("reads the expected version from If-Match", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const { id } = await ann.did(createMemory, NOTE);
  const change = async (ifMatch: string, body: object = {}) => {
    const request = {
      key: ann.key,
      method: "PATCH",
      headers: { "if-match": ifMatch },
      body: { title: "New", ...body },
    };
    const answer = await ask(`${url}/v1/memories/${id}`, request);
    const { version, error } = answer.body as { version?: number; error?: { reason?: string } };
    return [answer.status, version ?? error?.reason];
  };

  expect(await change('"1"')).toEqual([200, 2]);
  expect(await change('"1"')).toEqual([409, "version_mismatch"]);
  expect(await change('W/"2"')).toEqual([200, 3]);
  expect(await change("*")).toEqual([200, 4]);
  // Proxies that compress answers change their ETags.
  expect(await change('"4-gzip"')).toEqual([200, 5]);
  expect(await change('W/"5--br"')).toEqual([200, 6]);
  expect(await change('"6-seven"')).toEqual([400, undefined]);
  expect(await change('"abc"')).toEqual([400, undefined]);
  expect(await change('"4", "5"')).toEqual([400, undefined]);
  expect(await change('"4"', { expected_version: 4 })).toEqual([400, undefined]);
});

it("refuses a condition that a change would not check, and a version that is none, by the header's name", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const { id } = await ann.did(putMemory, { ...NOTE, clientId: "mine" });
  const other = await aMemory(ann);
  const made = { fromMemoryId: id, toMemoryId: other.id, relationshipType: "SOLVES" };
  const { id: link } = await ann.did(createRelationship, made);
  const requests: ReadonlyArray<readonly [method: string, path: string, header: string, value: string, body?: object]> =
    [
      ["DELETE", `/v1/memories/${id}`, "If-Match", '"7"'],
      ["PUT", "/v1/memories", "If-Match", '"7"', { ...NOTE, client_id: "mine" }],
      ["PUT", "/v1/memories", "If-None-Match", "*", { ...NOTE, client_id: "mine" }],
      ["PATCH", `/v1/memories/${id}`, "If-None-Match", '"1"', { title: "New" }],
      ["PATCH", `/v1/memories/${id}`, "If-Match", '"1", "2"', { title: "New" }],
      ["PATCH", `/v1/memories/${id}`, "If-Match", '"0"', { title: "New" }],
      ["PATCH", `/v1/memories/${id}`, "If-Match", '"01"', { title: "New" }],
      ["PATCH", `/v1/memories/${id}`, "If-Match", '"99999999999"', { title: "New" }],
      ["PATCH", `/v1/relationships/${link}`, "If-Match", '"1"', { strength: 1 }],
      ["DELETE", `/v1/relationships/${link}`, "If-Match", '"1"'],
      ["PATCH", `/api/v1/memories/${id}`, "If-Match", '"7"', { title: "New" }],
      ["PUT", `/memories/${id}`, "If-Match", '"7"', { title: "New" }],
      ["DELETE", `/api/v1/memories/${id}`, "If-Match", '"7"'],
      ["POST", "/memories", "If-None-Match", "*", { ...NOTE, id: "mine" }],
    ];

  for (const [method, path, header, value, body] of requests) {
    const answer = await ask(url + path, { key: ann.key, method, headers: { [header]: value }, ...(body && { body }) });
    const { error } = answer.body as { error?: { details?: unknown } };
    expect([method, path, answer.status, error?.details]).toEqual([
      method,
      path,
      400,
      [{ path: header, message: expect.any(String) as string }],
    ]);
  }
  expect(await ann.did(memory, { id })).toMatchObject({ version: 1, title: NOTE.title });
  expect(await ann.did(relationship, { id: link })).toMatchObject({ strength: 0.5 });
});
