import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { expect, it, vi } from "vitest";
import { createMemories } from "../../../src/features/bulk/create-memories.js";
import { exportGraph } from "../../../src/features/bulk/export-graph.js";
import { restoreMemories } from "../../../src/features/bulk/restore-memories.js";
import { GraphChoice } from "../../../src/features/memories/graph.js";
import { memories } from "../../../src/features/memories/list-memories.js";
import { ROW_BYTES } from "../../../src/features/memories/memory-columns.js";
import { memoryVersions } from "../../../src/features/memories/list-memory-versions.js";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { LIMITS } from "../../../src/limits.js";
import { ask, requestsLeft } from "../../support/http.js";
import { closedValidator, document, problemsOf, resolved } from "../../support/openapi.js";
import { withLimits } from "../../support/limits.js";
import { type TableLock, lockMemories } from "../../support/locks.js";
import { aLink, aMemory, miscounted } from "../../support/memories.js";
import { PATIENT } from "../../support/patience.js";
import { aTeam } from "../../support/teams.js";
import { type Actor, createWorld } from "../../support/world.js";

const NOTE = { type: "general", title: "A note", content: "Something." };

type Fields = Readonly<Record<string, unknown>>;

/** All records of a graph, from the stream. */
async function readExport(url: string, { key }: Actor, query = ""): Promise<Fields[]> {
  const { status, body } = await ask(`${url}/v1/export${query}`, { key });
  expect(status).toBe(200);
  return String(body)
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Fields);
}

const only = (records: readonly Fields[], kind: string) =>
  records.filter(({ record }) => record === kind).map(({ record: _record, ...fields }) => fields);

/** Creates a graph with every field and record that an export can have. */
async function fill(ann: Actor) {
  const context = { z: [1e21, 1e-7, null], project_path: "/a", é: "\u2028" };
  const whole = { summary: "Short", tags: ["b", 'a"'], importance: 0.1, confidence: 0.2, context, clientId: "m/1" };
  const one = await aMemory(ann, { ...whole, title: "Caf\u00e9 \u{1f600}", content: 'Line\nline "quoted"' });
  await ann.did(updateMemory, { id: one.id, title: "Frobnication" });
  const notes = Array.from({ length: 250 }, (_, index) => ({ ...NOTE, title: `Note ${index}`, ref: `${index}` }));
  const relationships = notes.slice(1).map(({ ref }, index) => {
    return { fromMemoryId: ref, toMemoryId: `${index}`, relationshipType: "FOLLOWS" };
  });
  const { memoryIds } = await ann.did(createMemories, { memories: notes, relationships });
  await aLink(ann, one, { id: memoryIds[0] ?? "" }, { strength: 0.1, confidence: 0.9, context: "Why" });
  return one;
}

/** Restores an export in many calls, as the import command does. */
async function restore(actor: Actor, records: readonly Fields[], graph?: string) {
  for (const [kind, list] of [
    ["memory", "memories"],
    ["relationship", "relationships"],
  ] as const) {
    const all = only(records, kind).map(inCode);
    for (let start = 0; start < all.length; start += LIMITS.bulk.items) {
      await actor.did(restoreMemories, { [list]: all.slice(start, start + LIMITS.bulk.items), graph });
    }
  }
}

const inCode = (fields: Fields) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name.replaceAll(/_([a-z])/g, (_part, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );

it("restores the same graph elsewhere, record by record", async () => {
  await using here = await createWorld();
  await using there = await createWorld();
  const [ann, bob] = [await here.user(), await there.user()];
  const { id } = await fill(ann);
  const before = await readExport((await here.serve()).url, ann);
  expect(only(before, "memory")).toHaveLength(251);
  expect(only(before, "relationship")).toHaveLength(250);

  await restore(bob, before);
  const after = await readExport((await there.serve()).url, bob);

  // Nobody in that graph knows ann.
  const byBob = (fields: Fields) => {
    const authors = Object.keys(fields).filter((name) => name.endsWith("_by"));
    return { ...fields, ...Object.fromEntries(authors.map((name) => [name, bob.caller.userId])) };
  };
  for (const kind of ["memory", "relationship"]) {
    expect(only(after, kind)).toEqual(only(before, kind).map(byBob));
  }
  expect(only(after, "end")).toEqual(only(before, "end"));
  expect((await bob.did(searchMemories, { query: "frobnication" })).memories).toMatchObject([{ memoryId: id }]);
  expect((await bob.did(memoryVersions, { id })).versions).toMatchObject([{ version: 2 }]);
  expect(await miscounted(there)).toEqual([]);
  expect(here.bugs.concat(there.bugs)).toEqual([]);
});

it("keeps authors in the team when its owner or an admin restores, else names the caller as author", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { owner, admin, member } = await aTeam(world);
  const stranger = await world.user();
  const other = await aTeam(world);
  const { id: to } = await aMemory(member);
  const records = await readExport(url, owner);
  const [memory = {}] = only(records, "memory");
  /** Who has made, changed and linked a memory that an actor restores, where its record names these. */
  const authorsAfter = async (actor: Actor, creator: Actor, changer: Actor, linker: Actor) => {
    const [id, by] = [newId(), { created_by: creator.caller.userId, updated_by: changer.caller.userId }];
    const link = { id: newId(), from: id, to, type: "SOLVES", created_at: memory["created_at"] };
    const linked = { record: "relationship", ...link, created_by: linker.caller.userId };
    await restore(actor, [{ ...memory, record: "memory", id, ...by }, linked]);
    const after = await readExport(url, owner);
    const [made, joined] = [id, link.id].map((sought) => after.find((record) => record["id"] === sought));
    const named = [made?.["created_by"], made?.["updated_by"], joined?.["created_by"]];
    return named.map((author) => [owner, admin, member].find(({ caller }) => caller.userId === author));
  };

  for (const runner of [owner, admin]) {
    expect(await authorsAfter(runner, member, owner, admin)).toEqual([member, owner, admin]);
    expect(await authorsAfter(runner, stranger, other.owner, other.member)).toEqual([runner, runner, runner]);
  }
  expect(await authorsAfter(member, owner, admin, owner)).toEqual([member, member, member]);
  // In their own graph nobody else has stored anything.
  const past = "2026-01-01T00:00:00.000Z";
  const note = { ...NOTE, id: newId(), createdAt: past, updatedAt: past, createdBy: member.caller.userId };
  await owner.did(restoreMemories, { memories: [note], graph: "personal" });
  expect(await owner.did(memories, { graph: "personal" })).toMatchObject({
    memories: [{ createdBy: owner.caller.userId }],
  });
});

let ids = 0;
const newId = () => `01900000-0000-7000-8abc-${String(ids++).padStart(12, "0")}`;

it("restores nothing dated in the future, and leaves existing records unchanged", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const soon = new Date(Date.now() + 3_600_000).toISOString();
  const past = "2026-01-01T00:00:00.000Z";
  const note = { id: newId(), type: "general", title: "A", content: "B", createdAt: past, updatedAt: past };

  for (const wrong of [
    { createdAt: soon },
    { updatedAt: soon },
    { id: "f0000000-0000-4000-8000-000000000000" },
    { id: "01FFFFFF-0000-4000-8000-000000000000" },
    { id: "x" },
    // No row may have it: malformed ids are looked up as this id, and exports start after it.
    { id: "00000000-0000-0000-0000-000000000000" },
  ]) {
    expect(await ann.does(restoreMemories, { memories: [{ ...note, ...wrong }] })).toBeRefused("bad_request");
  }
  expect(await ann.did(restoreMemories, { memories: [note] })).toMatchObject({ memories: 1, existingMemories: 0 });
  const other = { ...note, id: newId(), clientId: "one" };
  expect(await ann.did(restoreMemories, { memories: [{ ...note, title: "C" }, other] })).toMatchObject({
    memories: 1,
    existingMemories: 1,
  });
  const clash = { ...note, id: newId(), clientId: "one" };
  const clashing = await ann.does(restoreMemories, { memories: [note, clash] });
  expect(clashing).toBeRefused("conflict", "memory_exists");
  const message = expect.stringMatching(`^The memory ${clash.id} has the id or the \`clientId\``) as string;
  expect(clashing).toMatchObject({ failure: { message } });
  const link = { id: newId(), from: note.id, to: newId(), type: "SOLVES", createdAt: past };
  const known = { ...link, id: newId(), to: other.id };
  for (const [lost, what] of [
    [link, "leads to"],
    [{ ...link, from: link.to, to: note.id }, "starts from"],
    // Of malformed ids no two are the same memory.
    [{ ...link, from: "one", to: "two" }, "starts from"],
  ] as const) {
    const dangling = await ann.does(restoreMemories, { memories: [note], relationships: [known, lost] });
    expect(dangling).toBeRefused("not_found");
    const message = `No memory of this graph has the id that relationships.1 ${what}.`;
    expect(dangling).toMatchObject({
      failure: { message: expect.stringContaining(message) as string, details: { path: "relationships.1" } },
    });
  }
  for (const wrong of [
    { to: note.id },
    { createdAt: soon },
    { id: "00000000-0000-0000-0000-000000000000" },
    { id: "f0000000-0000-4000-8000-000000000000" },
    { id: "01FFFFFF-0000-4000-8000-000000000000" },
  ]) {
    const relationships = [{ ...link, to: other.id, ...wrong }];
    expect(await ann.does(restoreMemories, { relationships })).toBeRefused("bad_request");
  }
  expect(await miscounted(world)).toEqual([]);
});

it("refuses repeated ids and ids of other graphs, and leaves room for further versions", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const past = "2026-01-01T00:00:00.000Z";
  const note = { id: newId(), type: "general", title: "A", content: "B", createdAt: past, updatedAt: past };
  const [other, third] = [
    { ...note, id: newId() },
    { ...note, id: newId() },
  ];
  const link = { id: newId(), from: note.id, to: other.id, type: "SOLVES", createdAt: past };
  const restoring = (input: object) => ann.does(restoreMemories, input);

  expect(await restoring({ memories: [note, { ...note, id: note.id.toUpperCase() }] })).toBeRefused("bad_request");
  expect(await restoring({ memories: [{ ...note, version: 1_000_000_001 }] })).toBeRefused("bad_request");
  expect(await restoring({})).toBeRefused("bad_request");
  const inCapitals = ({ id, ...rest }: typeof note) => ({ ...rest, id: id.toUpperCase() });
  const memories = [{ ...note, version: 1_000_000_000 }, inCapitals(other), third];
  expect(await restoring({ memories, relationships: [link, { ...link, type: "CAUSES" }] })).toBeRefused("bad_request");
  const relationships = [{ ...link, id: link.id.toUpperCase() }];
  expect(await ann.did(restoreMemories, { memories, relationships })).toMatchObject({ memories: 3, relationships: 1 });
  expect(await restoring({ relationships: [{ ...link, to: third.id }] })).toBeRefused("bad_request");
  expect(await ann.did(restoreMemories, { relationships: [link] })).toMatchObject({ existingRelationships: 1 });
  expect(await ann.did(updateMemory, { id: note.id, title: "C" })).toMatchObject({ version: 1_000_000_001 });
  expect(await miscounted(world)).toEqual([]);
});

it("lets a full graph restore its own records again", async () => {
  const storage = { ...LIMITS.storage, free: { memories: 3, bytes: 100_000 } };
  await using world = await createWorld({ storage });
  const ann = await world.user({ plan: "free" });
  const past = "2026-01-01T00:00:00.000Z";
  const note = { ...NOTE, content: "x".repeat(20_000), createdAt: past, updatedAt: past };
  const [one, two, three, four] = Array.from({ length: 4 }, () => ({ ...note, id: newId() }));
  // An interrupted import sends its first records again.
  await ann.did(restoreMemories, { memories: [one, two] });

  const restored = await ann.did(restoreMemories, { memories: [one, two, three] });
  const again = await ann.did(restoreMemories, { memories: [one, two, three] });

  expect([restored, again]).toMatchObject([
    { memories: 1, existingMemories: 2 },
    { memories: 0, existingMemories: 3 },
  ]);
  expect(await ann.does(restoreMemories, { memories: [one, four] })).toBeRefused("conflict", "graph_full");
  expect(await miscounted(world)).toEqual([]);
});

it("has the same records in pages", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await fill(ann);
  const pages: Fields[] = [];
  const expected = only(await readExport(url, ann), "relationship");
  for (let cursor: string | null = null, first = true; first || cursor !== null; first = false) {
    const page: { records: Fields[]; nextCursor: string | null } = await ann.did(exportGraph, { limit: 100, cursor });
    pages.push(...page.records);
    cursor = page.nextCursor;
    // Created during the export, so not part of it.
    if (first) {
      const link = { id: "01980000-0000-7000-8000-000000000000", type: "FOLLOWS", createdAt: new Date(0) };
      const [from, to] = [String(page.records[1]?.["id"]), (await aMemory(ann)).id];
      await ann.did(restoreMemories, { relationships: [{ ...link, from, to }] });
    }
  }

  const streamed = await readExport(url, ann);

  expect(only(pages, "memory")).toHaveLength(251);
  expect(only(streamed, "memory")).toHaveLength(252);
  expect(only(streamed, "relationship")).toHaveLength(251);
  expect(only(pages, "relationship")).toEqual(expected);
});

it("refuses to go on in another graph than the one where the export began", async () => {
  await using world = await createWorld();
  const { owner } = await aTeam(world);
  for (const graph of [GraphChoice.TEAM, GraphChoice.PERSONAL]) {
    for (const title of ["One", "Two"]) await aMemory(owner, { title, graph });
  }
  const { nextCursor: cursor } = await owner.did(exportGraph, { limit: 1, graph: GraphChoice.TEAM });

  const here = await owner.does(exportGraph, { limit: 1, cursor, graph: GraphChoice.TEAM });
  const elsewhere = await owner.does(exportGraph, { limit: 1, cursor, graph: GraphChoice.PERSONAL });

  expect(here).toMatchObject({ ok: true, output: { records: [{ title: "Two" }] } });
  expect(elsewhere).toBeRefused("bad_request");
});

it("goes on in one's own graph when one joins a team during the export", async () => {
  await using world = await createWorld();
  const { owner, teamId } = await aTeam(world);
  await aMemory(owner, { title: "Of the team" });
  const ann = await world.user();
  for (const title of ["One", "Two"]) await aMemory(ann, { title });
  const { nextCursor: cursor } = await ann.did(exportGraph, { limit: 1 });
  await world.seat(ann, teamId);

  expect(await ann.did(exportGraph, { limit: 1, cursor })).toMatchObject({ records: [{ title: "Two" }] });
  expect(await ann.does(exportGraph, { limit: 1, cursor, graph: GraphChoice.TEAM })).toBeRefused("bad_request");
});

it("exports MemoryGraph's format too, also for an empty graph", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const [ann, bob] = [await world.user(), await world.user()];
  await fill(ann);
  const schema = resolved(document.paths["/v1/export"]?.["get"]?.responses["200"] ?? {}).content?.["application/json"];
  const get = async ({ key }: Actor) => {
    const { body } = await ask(`${url}/v1/export?format=memorygraph`, { key });
    expect(problemsOf(closedValidator(schema?.schema ?? {}), body)).toEqual([]);
    return body as Fields;
  };

  const { memories, relationships } = (await get(ann)) as { memories: Fields[]; relationships: Fields[] };

  expect([memories.length, relationships.length]).toEqual([251, 250]);
  expect(memories.find(({ client_id }) => client_id === "m/1")).toMatchObject({
    title: "Frobnication",
    importance: 0.1,
  });
  expect(relationships.find(({ properties }) => (properties as Fields)["context"] === "Why")).toMatchObject({
    type: "RELATED_TO",
    properties: { strength: 0.1, confidence: 0.9 },
  });
  expect(await get(bob)).toMatchObject({
    memories: [],
    relationships: [],
    exported: { memories: 0, relationships: 0 },
  });
});

it("counts relationships before it exports them up to a limit, as statistics do", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await fill(ann);
  using _limits = withLimits("views", { counted: 100 });

  const { records } = await ann.did(exportGraph, {});

  expect(records[0]).toMatchObject({ record: "graph", memories: 251, relationships: 100 });
});

it("refuses unknown parameters and strangers, and counts as several requests", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user({ plan: "free" });
  const told = async (path: string, key?: string, method = "GET") =>
    (await ask(url + path, { ...(key !== undefined && { key }), method })).status;

  expect(await told("/v1/export")).toBe(401);
  expect(await told("/v1/export?format=xml", ann.key)).toBe(400);
  expect(await told("/v1/export?other=1", ann.key)).toBe(400);
  expect(await told("/v1/export?graph=team", ann.key)).toBe(404);
  expect(await told("/v1/export?graph=team", (await world.user()).key, "HEAD")).toBe(404);
  expect(await told("/v1/export", ann.key, "POST")).toBe(405);
  const bob = await world.user({ plan: "free" });
  expect(await told("/v1/export", bob.key, "HEAD")).toBe(200);
  const { headers } = await ask(`${url}/v1/export`, { key: bob.key });
  expect(headers.get("content-type")).toContain("jsonl");
  expect(await told("/v1/export", bob.key)).toBe(200);
  expect(await told("/v1/export", bob.key)).toBe(429);
});

it("reads a page again if the service was busy: nothing is missing, and nothing comes twice", async () => {
  await using world = await createWorld();
  const { url, services } = await world.serve({}, undefined, {}, { ...PATIENT, lockWaitMs: 100 });
  const ann = await world.user();
  await fill(ann);
  const run = services.database.run.bind(services.database);
  let reads = 0;
  let lock: TableLock | undefined;
  vi.spyOn(services.database, "run").mockImplementation(async (statement, ...values) => {
    if (statement.name === "memory_between") {
      reads++;
      // A page takes two reads: the second page fails at its first one.
      if (reads === 3) lock = await lockMemories(world);
      if (reads === 4) await lock?.release();
    }
    return run(statement, ...values);
  });

  const records = await readExport(url, ann);
  await lock?.[Symbol.asyncDispose]();

  const ids = only(records, "memory").map(({ id }) => id);
  expect([ids.length, new Set(ids).size, only(records, "relationship").length]).toEqual([251, 251, 250]);
  expect(reads).toBe(3 * 2 + 1);
});

it.each([
  ["for a client that has left", true, 0],
  ["for longer than the service may keep its client waiting", false, 1],
] as const)("does not read a page again %s", async (_when, leaves, repeated) => {
  await using world = await createWorld();
  const doors = { stalledAnswerMs: 1_000 };
  const { url, services } = await world.serve({}, undefined, doors, { ...PATIENT, lockWaitMs: 100 });
  const ann = await world.user();
  await fill(ann);
  const asked = request(`${url}/v1/export`, { headers: { authorization: `Bearer ${ann.key}` } }).on("error", () => {});
  asked.on("response", (answer) => answer.on("error", () => {}).resume());
  const run = services.database.run.bind(services.database);
  let reads = 0;
  let lock: TableLock | undefined;
  vi.spyOn(services.database, "run").mockImplementation(async (statement, ...values) => {
    const isThird = statement.name === "memory_between" && ++reads === 3;
    if (isThird) lock = await lockMemories(world);
    const rows = run(statement, ...values);
    // It leaves while the server waits to try again.
    if (isThird && leaves) rows.catch(() => setTimeout(() => asked.destroy(), 100));
    return rows;
  });

  asked.end();

  await expect.poll(() => world.log.join("").includes('"why":'), { timeout: 60_000 }).toBe(true);
  await lock?.[Symbol.asyncDispose]();
  expect(reads).toBe(3 + repeated);
});

it("closes the connection of a client that does not read, and reads at most one page ahead", async () => {
  await using world = await createWorld();
  const { url, services } = await world.serve({}, undefined, { stalledAnswerMs: 1_000 });
  const statements = vi.spyOn(services.database, "run");
  const ann = await world.user();
  const large = Array.from({ length: 60 }, () => ({ ...NOTE, context: { text: "x".repeat(16_000) } }));
  for (let call = 0; call < 25; call++) await ann.did(createMemories, { memories: large });
  const asked = request(`${url}/v1/export`, { headers: { authorization: `Bearer ${ann.key}` } });

  const answered = once(asked, "response") as Promise<[IncomingMessage]>;
  asked.end();
  const [answer] = await answered;
  answer.pause();
  await expect.poll(() => world.log.filter((line) => line.includes('"status":"aborted"')).length).toBe(1);
  let bytes = 0;
  answer.on("data", (chunk: Buffer) => void (bytes += chunk.length)).on("error", () => {});
  await new Promise((closed) => answer.on("close", closed).resume());

  expect(bytes).toBeLessThan(20_000_000);
  // Of fifteen pages: what the system buffers for the client, and one more.
  const pages = statements.mock.calls.filter(([{ name }]) => name === "memory_between").length;
  expect(pages).toBeGreaterThan(0);
  expect(pages).toBeLessThan(12);
});

it("counts the first page as requests by what the graph holds, and a stream as always", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await aLink(ann, await aMemory(ann), await aMemory(ann));
  const { bytes } = await world.database.models.graphUsage.findUniqueOrThrow({
    where: { graphId: ann.caller.personalGraphId },
  });
  using _small = withLimits("views", { countedPerRequest: Number(bytes) / ROW_BYTES / 2.5 });
  const get = (path: string) => ask(`${url}${path}`, { key: ann.key });

  const before = requestsLeft(await get("/v1/memories"));
  const first = await get("/v1/export/records?limit=1");
  const next = await get(`/v1/export/records?limit=1&cursor=${String((first.body as Fields)["next_cursor"])}`);
  const stream = await get("/v1/export");

  expect([first, next, stream].map(requestsLeft)).toEqual([
    before - 3,
    before - 4,
    before - 4 - LIMITS.bulk.exportRequests,
  ]);
  expect(requestsLeft(await get("/v1/memories"))).toBe(before - 5 - LIMITS.bulk.exportRequests);
});
