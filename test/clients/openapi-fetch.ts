import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./node_modules/.cache/openapi.js";

// A client's code with types generated from /openapi.json: that it compiles is half of the test.
const [baseUrl = "", key = ""] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

type Memory = components["schemas"]["Memory"];

async function store(type: string, title: string): Promise<Memory> {
  const { data, error, response } = await client.POST("/v1/memories", {
    params: { header: { "Idempotency-Key": `make ${title}`.replaceAll(" ", "-") } },
    body: { type, title, content: `${title}, at length.`, tags: ["http"] },
  });
  assert.ok(data, error?.error.message);
  assert.equal(response.status, 201);
  assert.equal(response.headers.get("location"), `/v1/memories/${data.id}`);
  assert.equal(data.relationships.length + data.relationships_total, 0);
  return data;
}

const problem = await store("problem", "Requests fail");
const solution = await store("solution", "Retry with backoff");
const path = { id: solution.id };

const linked = await client.POST("/v1/relationships", {
  body: { from_memory_id: solution.id, to_memory_id: problem.id, relationship_type: "SOLVES" },
});
assert.equal(linked.data?.strength, 0.5);

const read = await client.GET("/v1/memories/{id}", { params: { path, query: { graph: "personal" } } });
assert.equal(read.data?.relationships[0]?.memory.title, problem.title);
assert.equal(read.data.relationships[0].direction, "out");

const changed = await client.PATCH("/v1/memories/{id}", {
  params: { path, header: { "If-Match": read.response.headers.get("etag") ?? "" } },
  body: { summary: null, importance: 1 },
});
assert.equal(changed.data?.version, 2);

const late = await client.PUT("/v1/memories/{id}", { params: { path }, body: { title: "Late", expected_version: 1 } });
assert.equal(late.error?.error.reason, "version_mismatch");
assert.deepEqual(late.error.error.details, { version: 2 });

const listed = await client.GET("/v1/memories", { params: { query: { types: ["problem", "solution"], limit: 1 } } });
assert.equal(listed.data?.memories[0]?.id, solution.id);
assert.ok(listed.data.next_cursor);

const found = await client.GET("/v1/memories/search", { params: { query: { query: "backoff", tags: ["http"] } } });
assert.equal(found.data?.total, 1);
assert.ok((found.data.memories[0]?.relevance ?? 0) > 0);

const related = await client.GET("/v1/memories/{id}/related", {
  params: { path, query: { types: ["SOLVES", "CAUSES"], direction: "out" } },
});
assert.deepEqual(
  related.data?.memories.map(({ relationship, depth }) => [relationship, depth]),
  [["SOLVES", 1]],
);

const wrong = await client.POST("/v1/memories", { body: { type: "Not this", title: "", content: "Something." } });
const details = wrong.error?.error.details;
assert.deepEqual(Array.isArray(details) && details.map((issue) => issue.path), ["type", "title"]);

const removed = await client.DELETE("/v1/memories/{id}", { params: { path } });
assert.equal(removed.response.status, 204);
assert.equal(removed.error, undefined);

// @ts-expect-error The title is required.
await client.POST("/v1/memories", { body: { type: "fix", content: "No title." } });
// @ts-expect-error There is no such graph.
await client.GET("/v1/memories", { params: { query: { graph: "theirs" } } });
