import { v7 as uuidv7 } from "uuid";
import { expect, describe, it, vi } from "vitest";
import { deleteMemory } from "../../src/features/memories/delete-memory.js";
import { memory } from "../../src/features/memories/get-memory.js";
import { updateMemory } from "../../src/features/memories/update-memory.js";
import { createRelationship } from "../../src/features/relationships/create-relationship.js";
import { dryRun } from "../../src/import/dry-run.js";
import { type ImportWork, requestsFor } from "../../src/import/estimate.js";
import { newReport, runImport } from "../../src/import/run-import.js";
import type { ServiceClient } from "../../src/import/service-client.js";
import { LIMITS } from "../../src/limits.js";
import { ask } from "../support/http.js";
import {
  EXPORT,
  RETRY,
  clientOf,
  entity,
  importInto,
  jsonLines,
  leftOut,
  memoriesOf,
  readText,
  relation,
  reportOf,
  runText,
} from "../support/imports.js";
import { withLimits } from "../support/limits.js";
import { aMemory } from "../support/memories.js";
import { createWorld } from "../support/world.js";

describe("importing into the service", () => {
  it("stops when the graph is full, says so, and continues from there when there is room", async () => {
    const storage = { ...LIMITS.storage, pro: { memories: 5, bytes: 1_000_000 } };
    await using world = await createWorld({ storage });
    const { url } = await world.serve();
    const ann = await world.user();
    const text = jsonLines(...Array.from({ length: 30 }, (_, index) => entity(`Entity ${index}`, "x")));

    await expect(importInto(url, ann, text)).rejects.toThrow(/This graph is full: .* at most 5 memories/);
    storage.pro.memories = 100;

    expect(await importInto(url, ann, text)).toEqual(reportOf({ memories: { created: 30 } }));
  });

  it.each([
    {
      of: "values",
      count: 500,
      note: { content: "x", tags: Array.from({ length: 45 }, (_, place) => `tag-${place}`) },
    },
    { of: "bytes", count: 40, note: { content: "a word ".repeat(5_000) } },
  ])("sends memories with more $of than one call may have in several calls, of which none is refused", async (file) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const client = clientOf(url, (await world.user()).key);
    const calls = vi.spyOn(client, "createMemories");
    const notes = Array.from({ length: file.count }, (_, n) => ({ type: "fix", title: `Fix ${n}`, ...file.note }));

    expect(await runText(client, jsonLines(...notes))).toEqual(reportOf({ memories: { created: file.count } }));

    expect(calls.mock.settledResults.map(({ type }) => type)).toEqual(["fulfilled", "fulfilled"]);
  });

  it.each([
    { texts: "short", count: 200, content: "x" },
    { texts: "long", count: 40, content: "a word ".repeat(5_000) },
  ])("takes about as many requests of the budget as it says before: $texts texts", async ({ count, content }) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const client = clientOf(url, ann.key);
    const text = jsonLines(...Array.from({ length: count }, (_, index) => entity(`Entity ${index}`, "x", content)));
    const graph = readText(text);
    await client.greet();
    const before = client.budget?.left ?? 0;

    let said = 0;
    const onPlan = (plan: ImportWork) => void (said = requestsFor(plan));
    await runImport(graph, { store: client, report: newReport(graph), onStep: () => {}, onPlan });
    await client.greet();

    const taken = before - (client.budget?.left ?? 0);
    // Besides, it reads what is there, and each call is rounded up.
    expect(said).toBeGreaterThan(7);
    expect(taken).toBeGreaterThanOrEqual(said);
    expect(taken).toBeLessThanOrEqual(said + 6);
  });

  it("stores memories and relationships, and adds nothing when it is run again", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    // More than one page of other memories, so that the imported ones are on several pages.
    const many = Array.from({ length: 120 }, (_, index) => entity(`Entity ${index}`, "x"));
    const text = jsonLines(...many, ...RETRY);

    expect(await importInto(url, ann, text)).toEqual(
      reportOf({ memories: { created: 122 }, relationships: { created: 1 } }),
    );
    expect(await importInto(url, ann, text)).toEqual(
      reportOf({ memories: { existing: 122 }, relationships: { existing: 1 } }),
    );

    const { Client, Retry } = await memoriesOf(ann);
    expect(Retry).toMatchObject({
      type: "code_pattern",
      content: "Waits longer each time\nGives up after five",
      tags: ["mcp-memory"],
    });
    const found = await ask(`${url}/v1/memories/${Client?.id}/related`, { key: ann.key });
    expect(found.body).toMatchObject({ memories: [{ title: "Retry", relationship: "RELIES_ON", direction: "out" }] });
  });

  it("counts each item as a step: new, there already, refused or without its memory", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    await importInto(url, ann, jsonLines(...RETRY));
    const refused = [entity("\u200b", "x"), relation("\u200b", "is", "Retry")];
    const graph = readText(jsonLines(...RETRY, entity("New", "x"), relation("New", "uses", "Retry"), ...refused));
    const [store, report] = [clientOf(url, ann.key), newReport(graph)];
    let steps = 0;

    await runImport(graph, { store, report, onStep: (items = 1) => void (steps += items) });

    expect(report.notTaken).toHaveLength(2);
    expect(steps).toBe(graph.notes.size + graph.links.size);
  });

  it("keeps the end of a memory that has expired, and finds it again", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const times = { created_at: "2019-06-01T00:00:00Z", expiration_date: "2020-01-01" };
    const text = JSON.stringify({ results: [{ memory: "Moves in January.", ...times }] });

    const first = await importInto(url, ann, text);
    const again = await importInto(url, ann, text);

    expect([first.memories.created, again.memories.existing]).toEqual([1, 1]);
    expect(await memoriesOf(ann)).toEqual({});
    const { body } = await ask(`${url}/v1/memories?include_expired=true`, { key: ann.key });
    expect(body).toMatchObject({
      memories: [{ content: "Moves in January.", expires_at: "2020-01-01T23:59:59.000Z" }],
    });
  });

  it("keeps the times, ids, contexts and ends of validity of a file", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const [id, other] = ["f47ac10b-58cc-4372-a567-0e02b2c3d479", "F47AC10B-58CC-4372-A567-0E02B2C3D480"];
    const text = JSON.stringify([
      {
        id,
        title: "Retry",
        content: "Wait.",
        created_at: "2025-11-30T10:00:00.123456+01:00",
        confidence: 0.7,

        updated_at: 1_764_500_000.5,
        context: { project_path: "/app", deep: [{ a: null }] },
        expires_at: "2999-01-01",
      },
      {
        id: other,
        title: "Later",
        content: "Now.",
        created_at: "2999-01-01",
        updated_at: "soon",
        expires_at: "2020-01-01",
      },
      { id: "3", title: "Third", content: "Of no time.", context: {} },
    ]);

    const first = await importInto(url, ann, text);
    const again = await importInto(url, ann, text);

    expect(first.memories).toMatchObject({ created: 3 });
    expect([...first.notCarried]).toEqual([
      ["created_at", 1],
      ["id", 1],
    ]);
    expect(again.memories).toMatchObject({ created: 0, existing: 3 });
    const { Retry, Later, Third } = await memoriesOf(ann);
    expect(Retry).toMatchObject({
      clientId: id,
      confidence: 0.7,
      context: { project_path: "/app", deep: [{ a: null }] },
      createdAt: new Date("2025-11-30T09:00:00.123Z"),
      updatedAt: new Date("2025-11-30T10:53:20.500Z"),
      expiresAt: new Date("2999-01-01T23:59:59Z"),
      createdBy: ann.caller.userId,
      content: "Wait.",
    });
    expect(Later).toMatchObject({ clientId: other, content: "Now.\n\nupdated_at: soon\nexpires_at: 2020-01-01" });
    expect(Later?.expiresAt).toBe(null);
    expect(Third).toMatchObject({ clientId: expect.stringMatching(/^import:/), context: null, content: "Of no time." });
    const page = await ask(`${url}/v1/memories`, { key: ann.key });
    expect(page.body).toMatchObject({ memories: [{ title: "Third" }, { title: "Later" }, { title: "Retry" }] });
  });

  it("keeps the times of a file's relationships, in any order and with any number of runs", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const [earlier, later] = ["2025-11-30T10:00:00.123Z", "2026-01-02T03:04:05.678Z"];
    const text = JSON.stringify({
      memories: ["A", "B", "C"].map((title) => ({ title, content: "x" })),
      relationships: [
        { from: "A", to: "B", type: "SOLVES", created_at: later, context: "why", strength: 0.7, confidence: 0.9 },
        { from: "B", to: "C", type: "CAUSES", context: "how", strength: 0.2, confidence: 0.1 },
        { from: "A", to: "C", type: "USES", created_at: earlier },
        { from: "A", to: "C", type: "USES", created_at: later },
        { from: "C", to: "A", type: "USES", created_at: "soon" },
        { from: "C", to: "A", type: "SOLVES", created_at: "2999-01-01" },
      ],
    });

    const begun = new Date();
    const [first, again] = [await importInto(url, ann, text), await importInto(url, ann, text)];

    expect(first.relationships).toEqual({ read: 6, merged: 1, created: 5, existing: 0 });
    expect(again.relationships).toEqual({ read: 6, merged: 1, created: 0, existing: 5 });
    const stored = await world.database.models.relationship.findMany({ orderBy: { createdAt: "asc" } });
    expect(stored.slice(0, 2)).toMatchObject([
      { type: "USES", createdAt: new Date(earlier) },
      { type: "SOLVES", createdAt: new Date(later), context: "why", strength: 0.7, confidence: 0.9 },
    ]);
    const undated = { context: "how", strength: 0.2, confidence: 0.1 };
    expect(stored.find(({ type }) => type === "CAUSES")).toMatchObject(undated);
    expect(stored.slice(2).map(({ createdAt }) => createdAt >= begun)).toEqual([true, true, true]);
  });

  it("stores no relationship again that an earlier import stored by the type's name in the file", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const notes = ["A", "B", "C"].map((name) => entity(name, "x", "text"));
    await importInto(url, ann, jsonLines(...notes));
    const { A, B, C } = await memoriesOf(ann);
    const link = (from = A, to = B, relationshipType = "FIXES") =>
      ann.did(createRelationship, { fromMemoryId: from?.id, toMemoryId: to?.id, relationshipType });
    await link();
    await link(B, A, "CAUSED_BY");
    await link(C, A, "CAUSED_BY");
    const text = jsonLines(
      ...notes,
      relation("A", "fixes", "B"),
      relation("B", "caused by", "A"),
      relation("A", "fixes", "C"),
      { ...relation("C", "caused by", "A"), createdAt: "2025-01-01T00:00:00Z" },
    );

    const report = await importInto(url, ann, text);

    expect(report.relationships).toEqual({ read: 4, merged: 0, created: 1, existing: 3 });
    const dry = newReport(readText(text));
    await runImport(readText(text), { store: dryRun(clientOf(url, ann.key)), report: dry, onStep: () => {} });
    expect(dry.relationships).toEqual({ read: 4, merged: 0, created: 0, existing: 4 });
    const stored = await world.database.models.relationship.findMany({ orderBy: { id: "asc" } });
    expect(stored.map(({ type }) => type)).toEqual(["FIXES", "CAUSED_BY", "CAUSED_BY", "SOLVES"]);
  });

  it("keeps the first of several memories with one id, and the first of several ids of a memory", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const [id, other] = ["f47ac10b-58cc-4372-a567-0e02b2c3d479", "f47ac10b-58cc-4372-a567-0e02b2c3d480"];
    const text = jsonLines(
      { ...entity("A", "x", "one"), id },
      { ...entity("B", "x", "two"), id },
      { ...entity("A", "x", "three"), id: other },
      { ...entity("A", "x", "four"), id },
    );

    const report = await importInto(url, ann, text);

    expect(report).toMatchObject({ memories: { created: 2, merged: 2 }, notTaken: [] });
    expect([...report.notCarried]).toEqual([["id", 2]]);
    const { A, B } = await memoriesOf(ann);
    expect([A?.clientId, B?.clientId]).toEqual([id, expect.stringMatching(/^import:/)]);
  });

  it("leaves a memory unchanged that was edited on either side, says so, and links it", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const [from, to] = ["f47ac10b-58cc-4372-a567-0e02b2c3d479", "f47ac10b-58cc-4372-a567-0e02b2c3d480"];
    const file = (content: string) => {
      const memories = [
        { id: from, title: "Retry", content },
        { id: to, title: "Timeout", content: "Slow." },
      ];
      return JSON.stringify({ memories, relationships: [{ from, to, type: "SOLVES" }] });
    };
    await importInto(url, ann, JSON.stringify({ memories: [{ id: from, title: "Retry", content: "Wait." }] }));

    const report = await importInto(url, ann, file("Wait longer."));

    expect(report).toMatchObject({ memories: { created: 1, existing: 0 }, relationships: { created: 1 } });
    const { Retry } = await memoriesOf(ann);
    expect(leftOut(report)).toEqual([
      `memory "Retry": the graph has this memory by its id, with another title, type or content: the memory ${Retry?.id} is left as it is`,
    ]);
    expect(Retry?.content).toBe("Wait.");
  });

  it("stores everything once when several imports of one file run at once", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const id = "f47ac10b-58cc-4372-a567-0e02b2c3d479";
    const entities = Array.from({ length: 700 }, (_, index) => entity(`Entity ${index}`, "x", "one"));
    const others = [
      { title: "Dated", content: "x", created_at: "2025-11-30" },
      { id, title: "Named", content: "x" },
    ];
    const links = entities.slice(1).map(({ name }) => relation(name, "uses", "Entity 0"));
    const text = jsonLines(...entities, ...others, ...links);
    const grown = jsonLines(...entities.map((line) => ({ ...line, observations: ["one", "two"] })).slice(0, 3));

    const reports = await Promise.all([text, text, grown].map((one) => importInto(url, ann, one)));

    const { memories, relationships } = reports.reduce(
      (sum, report) => ({
        memories: sum.memories + report.memories.created,
        relationships: sum.relationships + report.relationships.created,
      }),
      { memories: 0, relationships: 0 },
    );
    expect([memories, relationships]).toEqual([702, 699]);
    expect(reports.flatMap(leftOut)).toEqual([]);
    expect(await world.database.models.memory.count()).toBe(702);
    expect(await world.database.models.memory.count({ where: { content: "one\ntwo" } })).toBe(3);
  });

  it("looks up a few times what another program stores meanwhile and deletes again, and then leaves it out", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const client = clientOf(url, ann.key);
    const create = client.createMemories.bind(client);
    const calls = vi.spyOn(client, "createMemories").mockImplementation(async (notes) => {
      expect(calls.mock.calls.length).toBeLessThan(9);
      const other = await aMemory(ann, { clientId: notes[0]?.kept?.clientId });
      return create(notes).finally(() => ann.did(deleteMemory, { id: other.id }));
    });

    const report = await runText(client, jsonLines(entity("Retry", "x")));

    expect(leftOut(report)).toEqual([expect.stringContaining('memory "Retry": ')]);
    expect(calls).toHaveBeenCalledTimes(4);
  });

  it("leaves a memory without an id as it was changed in the service, and says so", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const text = JSON.stringify({ memories: [{ title: "Retry", content: "Wait." }] });
    await importInto(url, ann, text);
    const { Retry } = await memoriesOf(ann);
    await ann.did(updateMemory, { id: Retry?.id, title: "Backoff", content: "Wait longer." });

    const report = await importInto(url, ann, text);

    expect(leftOut(report)).toEqual([
      `memory "Retry": the graph has this memory by its id, with another title, type or content: the memory ${Retry?.id} is left as it is`,
    ]);
    expect(await world.database.models.memory.count()).toBe(1);
  });

  it("adds new observations of an entity, and keeps changes made in the service", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    await importInto(url, ann, jsonLines(entity("Retry", "x", "one"), entity("Bare", "x")));
    const before = await memoriesOf(ann);
    await ann.did(updateMemory, { id: before["Retry"]?.id, content: "one\nby hand" });

    const text = jsonLines(entity("Retry", "x", "zero", "one", "hand"), entity("Bare", "x", "dressed"));
    expect(await importInto(url, ann, text)).toEqual(reportOf({ memories: { updated: 2 } }));
    expect(await importInto(url, ann, text)).toEqual(reportOf({ memories: { existing: 2 } }));

    const after = await memoriesOf(ann);
    expect(after["Retry"]).toMatchObject({ content: "one\nby hand\nzero\nhand", version: 3 });
    expect(after["Bare"]).toMatchObject({ content: "dressed", version: 2 });
  });

  it("keeps a concurrent change, and adds its observations", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    await importInto(url, ann, jsonLines(entity("Retry", "x", "one")));
    const client = clientOf(url, ann.key);
    const update = client.update.bind(client);
    vi.spyOn(client, "update").mockImplementationOnce(async (present, change) => {
      await ann.did(updateMemory, { id: present.id, content: "one\nmeanwhile" });
      return update(present, change);
    });

    const result = await runText(client, jsonLines(entity("Retry", "x", "one", "two")));

    expect(result).toEqual(reportOf({ memories: { updated: 1 } }));
    expect((await memoriesOf(ann))["Retry"]?.content).toBe("one\nmeanwhile\ntwo");
  });

  it("adds nothing when files of many formats are imported again, and only new items when they grew", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const lines = [
      {
        name: "Tank",
        entityType: "C++ tool",
        observations: [{ text: "A server", timestamp: "1" }],
        lastUsed: "May",
        tags: ["A"],
      },
      {
        name: "Plan",
        entityType: "x",
        observations: ["one\ntwo"],
        relations: [{ to: "Tank", relationType: "uses", why: "x" }],
      },
      { title: "Note", content: "Text.", status: "open", id: "n1", tags: ["B", "b"] },
      { id: "m0", memory: "Likes tea", metadata: { source: "chat" } },
      { from_entity: "Plan", to_entity: "n1", relation_type: "about", weight: 0.25 },
      entity("Long", "x", "y".repeat(60_000), "more"),
    ];
    const first = await importInto(url, ann, jsonLines(...lines));
    const again = await importInto(url, ann, jsonLines(...lines));
    const [tank, ...others] = lines;
    const grown = jsonLines({ ...tank, tags: ["A", "C"], lastUsed: "June" }, ...others);

    expect(first).toMatchObject({ memories: { created: 5 }, relationships: { created: 2 } });
    expect(again).toMatchObject({ memories: { created: 0, updated: 0, existing: 5 }, relationships: { existing: 2 } });
    expect(await importInto(url, ann, grown)).toMatchObject({ memories: { updated: 1, existing: 4 } });
    const { Tank, Note } = await memoriesOf(ann);
    expect(Tank).toMatchObject({
      content: "A server (timestamp: 1)\nlastUsed: June",
      tags: ["mcp-memory", "c++ tool", "a", "c"],
    });
    expect(Note).toMatchObject({ content: "Text.\n\nstatus: open", tags: ["b"] });
  });

  it("keeps apart nodes of one name with ids of their own, and updates each when they are imported again", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const nodes = ["a", "b", "c"].map((id) => ({ id, name: "index.ts", folder: `src/${id}` }));
    const edges = [{ source: "a", target: "b", type: "imports" }];
    const changed = nodes.map((node) => (node.id === "b" ? { ...node, owner: "Ann" } : node)).reverse();

    for (const [some, memories] of [
      [nodes, { created: 3 }],
      [nodes, { existing: 3 }],
      [changed, { updated: 1, existing: 2 }],
    ] as const) {
      expect(await importInto(url, ann, JSON.stringify({ nodes: some, edges }))).toMatchObject({ memories });
    }
    expect(await memoriesOf(ann)).toMatchObject({
      "index.ts (a)": { content: "folder: src/a" },
      "index.ts (b)": { content: "folder: src/b\nowner: Ann" },
      "index.ts (c)": { content: "folder: src/c" },
    });
  });

  it("keeps different long names apart that are cut to the same title", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const text = jsonLines(...["a", "b"].map((end) => entity("x".repeat(500) + end, "x", `is ${end}`)));

    expect(await importInto(url, ann, text)).toEqual(reportOf({ memories: { created: 2 } }));
    expect(await importInto(url, ann, text)).toEqual(reportOf({ memories: { existing: 2 } }));
  });

  it("imports an export of MemoryGraph once, with its own tags", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const text = JSON.stringify({ ...EXPORT, memories: EXPORT.memories.slice(0, 2) });

    expect(await importInto(url, ann, text)).toMatchObject({ memories: { created: 2 }, relationships: { created: 1 } });
    expect(await importInto(url, ann, text)).toMatchObject({
      memories: { created: 0, existing: 2 },
      relationships: { created: 0, existing: 1 },
    });
    const { Retry } = await memoriesOf(ann);
    expect(Retry).toMatchObject({ summary: "Backoff", tags: ["net"], importance: 0.9 });
    const { relationships } = await ann.did(memory, { id: Retry?.id });
    expect(relationships).toMatchObject([{ type: "SOLVES", strength: 0.9, confidence: 0.7 }]);
  });

  it("reports items that the service refuses, with their relationships, and continues", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();

    const result = await importInto(
      url,
      ann,
      jsonLines(entity("\u200b", "x"), ...RETRY, relation("\u200b", "is", "Retry")),
    );

    expect(result.memories.created).toBe(2);
    expect(result.notTaken).toEqual([
      { kind: "memory", what: 'memory "\u200b"', reason: "title: must not be blank" },
      {
        kind: "relationship",
        what: 'relationship "\u200b" "is" "Retry" (line 5)',
        reason: 'the memory "\u200b" was not imported',
      },
    ]);
  });
});

describe("existing relationships", () => {
  const PAGE = 100;
  const names = Array.from({ length: PAGE + 2 }, (_, index) => `Note ${index}`);
  const links = names.slice(1).map((name) => relation(name, "uses", "Note 0"));
  const notes = names.map((name) => entity(name, "x"));

  /** Imports these relationships, most of which exist; says what was planned, and which requests were sent. */
  async function runAgain(client: ServiceClient, some: readonly object[], { isDry = false } = {}) {
    const [asked, listed] = [vi.spyOn(client, "leadsTo"), vi.spyOn(client, "relationships")];
    const stored = vi.spyOn(client, "createRelationships");
    const graph = readText(jsonLines(...notes, ...some, relation("Note 0", "uses", "Note 1")));
    const [report, plans] = [newReport(graph), [] as ImportWork[]];
    const onPlan = (plan: ImportWork) => void plans.push(plan);
    await runImport(graph, { store: isDry ? dryRun(client) : client, report, onStep: () => {}, onPlan });
    return {
      ...report.relationships,
      planned: plans[0]?.items,
      asked: asked.mock.calls.length,
      listed: listed.mock.calls.length,
      stored: stored.mock.calls.flatMap(([sent]) => sent).length,
    };
  }

  it("are read at once, or else stored again, if that takes fewer requests", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    await importInto(url, ann, jsonLines(...notes, ...links));

    const few = await runAgain(clientOf(url, ann.key), links.slice(0, 1));
    const all = await runAgain(clientOf(url, ann.key), links);

    expect(few).toMatchObject({ created: 1, existing: 1, planned: 2, listed: 0, stored: 2 });
    expect(all).toMatchObject({ created: 0, existing: 102, planned: 0, listed: 1, stored: 0 });
  });

  it("are read at once in a dry run, or else looked up one by one, if that takes fewer requests", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    await importInto(url, ann, jsonLines(...notes, ...links));

    const all = await runAgain(clientOf(url, ann.key), links, { isDry: true });
    using _alone = withLimits("bulk", { itemsPerRequest: 1 });
    const few = await runAgain(clientOf(url, ann.key), [], { isDry: true });

    expect(all).toMatchObject({ created: 1, existing: 101, planned: 1, asked: 0, listed: 1, stored: 0 });
    expect(few).toMatchObject({ created: 1, existing: 0, planned: 1, asked: 1, listed: 0, stored: 0 });
  });
});

it("names the memory that would have too many relationships, and says what to do", async () => {
  await using world = await createWorld();
  using _limits = withLimits("memory", { relationships: 1 });
  const { url } = await world.serve();
  const ann = await world.user();
  const [hub, one, two] = [await aMemory(ann), await aMemory(ann), await aMemory(ann)];
  const createdAt = "2026-01-01T00:00:00.000Z";
  const link = (to: string) => ({ id: uuidv7(), from: hub.id, to, type: "CAUSES", created_at: createdAt });

  const restored = clientOf(url, ann.key).restore("relationships", [link(one.id), link(two.id)]);

  await expect(restored).rejects.toThrow(
    new RegExp(
      `^The memory ${hub.id} would have more than [\\d,]+ relationships, .* Delete some .* then import again\\.$`,
    ),
  );
});
