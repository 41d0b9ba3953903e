import assert from "node:assert/strict";
import { CLIENTS } from "./connect.js";

/** What an agent does, with one client: `node run.js <client> <url> <key>`. */
const [name, url, key] = process.argv.slice(2);
const client = await CLIENTS[name](url, { Authorization: `Bearer ${key}` });

/** Calls a tool; the client checks the answer against the tool's schema. */
async function call(tool, args) {
  const { structuredContent, content, isError } = await client.callTool({ name: tool, arguments: args });
  assert.equal(isError, undefined, JSON.stringify(content));
  assert.deepEqual(JSON.parse(content[0].text), structuredContent);
  return structuredContent;
}

/** Calls a tool and expects a refusal. */
async function refused(tool, args) {
  const { content, isError } = await client.callTool({ name: tool, arguments: args });
  assert.equal(isError, true);
  return JSON.parse(content[0].text).error;
}

assert.equal(client.getServerVersion().name, "memory-graph-gateway");
assert.match(client.getInstructions(), /search_memories/);
const { tools } = await client.listTools();
assert.equal(tools.length, 9);
assert.ok(!tools.some((tool) => tool.name === "recall_memories"));

const problem = await call("store_memory", {
  type: "problem",
  title: "Payments time out",
  content: `Under load, after 30 s. ${"More. ".repeat(4_000)}`,
  tags: ["payments"],
  context: { project_path: "/work/shop" },
});
const solution = await call("store_memory", {
  type: "solution",
  title: "Retry with backoff",
  content: "Wait longer each time.",
  summary: "Wait longer.",
});

for (const tool of ["search_memories", "recall_memories"]) {
  const { memories } = await call(tool, { query: "paymnts", limit: 5 });
  assert.deepEqual(
    memories.map(({ id }) => id),
    [problem.id],
  );
  assert.deepEqual(memories[0].tags, ["payments"]);
  assert.match(memories[0].snippet, /Under load/);
}
const open = await call("get_recent_activity", { days: 1, project: "/work/shop" });
assert.deepEqual(
  open.unresolved_problems.map(({ id }) => id),
  [problem.id],
);

const link = { from_memory_id: solution.id, to_memory_id: problem.id, relationship_type: "SOLVES" };
await call("create_relationship", link);
assert.equal((await refused("create_relationship", link)).reason, "relationship_exists");
const related = await call("get_related_memories", { id: problem.id, types: ["SOLVES"] });
assert.deepEqual(
  related.memories.map(({ id, direction }) => [id, direction]),
  [[solution.id, "in"]],
);
const path = await call("find_path", { from_memory_id: problem.id, to_memory_id: solution.id });
assert.equal(path.length, 1);

const read = await call("get_memory", { id: problem.id });
assert.equal(read.truncated, true);
const at = Number(/\[cut at character (\d+) of \d+\]$/.exec(read.content)[1]);
const rest = await call("get_memory", { id: problem.id, content_from: at });
assert.match(rest.content, /More\./);

const changed = await call("update_memory", { id: solution.id, title: "Retry with jitter", expected_version: 1 });
assert.equal(changed.version, 2);
assert.equal((await refused("update_memory", { id: solution.id, title: "x", expected_version: 1 })).code, "conflict");
assert.equal((await refused("store_memory", { type: "problem", title: "No content" })).code, "bad_request");
await call("delete_memory", { id: solution.id });
assert.equal((await refused("get_memory", { id: solution.id })).code, "not_found");
await assert.rejects(client.callTool({ name: "create_team", arguments: {} }), /Unknown tool/);
await client.close();

// A wrong key must be reported as such, not as a missing authorization server.
await assert.rejects(CLIENTS[name](url, { Authorization: "Bearer mg_live_wrong" }), /API key|401|Unauthorized/i);
