import { expect, it } from "vitest";
import { CreateMemoryInput, createMemory } from "../../../src/features/memories/create-memory.js";
import { memory } from "../../../src/features/memories/get-memory.js";
import { memories } from "../../../src/features/memories/list-memories.js";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { LIMITS } from "../../../src/limits.js";
import { withinBounds } from "../../../src/operation/within-bounds.js";
import { aMemory, miscounted } from "../../support/memories.js";
import { ask } from "../../support/http.js";
import { createWorld } from "../../support/world.js";

const { contextBytes, contextDepth } = LIMITS.memory;
const NOTE = { type: "general", title: "A note", content: "Something." };

const nested = (levels: number): object => (levels === 1 ? {} : { in: nested(levels - 1) });
/** An object that takes this many bytes as compact JSON. */
const ofBytes = (bytes: number) => ({ text: "x".repeat(bytes - '{"text":""}'.length) });

it.each([
  {},
  { z: 1, a: { deep: [1, "two", null, true, { three: 3 }] } },
  { "": "", "a.b": "$type", $type: "DateTime", constructor: 1, toPostgres: "x", toJSON: "y" },
  { numbers: [1e21, 1e-7, -0.1, 12_345_678_901_234, 1e300] },
  JSON.parse('{"__proto__":{"a":1}}') as object,
  nested(contextDepth),
  ofBytes(contextBytes),
])("keeps whatever object it is, byte by byte: case %#", async (context) => {
  await using world = await createWorld();
  const ann = await world.user();

  const { id } = await ann.did(createMemory, { ...NOTE, context });

  expect(JSON.stringify((await ann.did(memory, { id })).context)).toBe(JSON.stringify(context));
  await ann.did(updateMemory, { id, context: null });
  expect(JSON.stringify((await ann.did(updateMemory, { id, context })).context)).toBe(JSON.stringify(context));
  expect(await miscounted(world)).toEqual([]);
});

it.each([
  ["in one object", (values: object) => values],
  ["behind others", (values: object) => ({ first: Array.from({ length: 100 }, () => 1), values })],
])("reads no values of an object that has too many, %s", (_where, within) => {
  let reads = 0;
  const get = () => reads++;
  const names = Array.from({ length: contextBytes / 2 + 1 }, (_, index) => [`n${index}`, { get, enumerable: true }]);
  const values = Object.defineProperties({}, Object.fromEntries(names) as PropertyDescriptorMap);
  const input = Object.assign(new CreateMemoryInput(), { ...NOTE, tags: [], context: within(values) });

  expect(() => withinBounds(input)).toThrow("as compact JSON");
  expect(reads).toBe(0);
});

it.each([
  ["a list", []],
  ["a text", "{}"],
  ["a level too deep", nested(contextDepth + 1)],
  ["a byte too long", ofBytes(contextBytes + 1)],
  ["a NUL", { a: "\0" }],
  ["a NUL in a name", { "\0": 1 }],
  ["half a character", { a: ["\ud800"] }],
])("refuses %s, at both doors", async (_what, context) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();

  const rest = await ask(`${url}/v1/memories`, { key: ann.key, body: { ...NOTE, context } });
  const query = "mutation($input: CreateMemoryInput!) { createMemory(input: $input) { id } }";
  const graphql = await ask(`${url}/graphql`, {
    key: ann.key,
    body: { query, variables: { input: { ...NOTE, context } } },
  });

  expect(rest.status).toBe(400);
  expect(JSON.stringify(graphql.body)).toContain("BAD_REQUEST");
});

it("refuses a number that overflows to infinity, which JSON can write but not keep", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();

  const body = JSON.stringify({ ...NOTE, context: { a: 0 } }).replace(":0", ":1e999");
  const answer = await ask(`${url}/v1/memories`, { key: ann.key, body });

  expect(answer.status).toBe(400);
});

it("filters lists and searches by project", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const titled = async (title: string, context: object) => aMemory(ann, { title, context });
  await titled("Here", { project_path: "/srv/cafe\u0301" });
  await titled("There", { project_path: "/srv/other" });
  await titled("Nowhere", { project_path: ["/srv/caf\u00e9"] });
  await titled("Endless", { project_path: `/srv/${"\u{1f600}".repeat(3_000)}` });
  await aMemory(ann, { title: "Without" });

  const found = await ann.did(memories, { project: "/srv/caf\u00e9" });

  expect(found.memories.map(({ title }) => title)).toEqual(["Here"]);
  for (const other of ["/srv", "/srv/caf\u00e9/"]) {
    expect((await ann.did(memories, { project: other })).memories, other).toEqual([]);
  }
  const hits = await ann.did(searchMemories, { query: "something", project: "/srv/caf\u00e9" });
  expect(hits.memories.map(({ title }) => title)).toEqual(["Here"]);
});
