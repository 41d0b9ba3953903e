import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WriteStream } from "node:tty";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { CreateMemoryInput } from "../../src/features/memories/create-memory.js";
import { memoryOperations } from "../../src/features/memories/index.js";
import { CreateRelationshipInput } from "../../src/features/relationships/create-relationship.js";
import type { ImportedGraph } from "../../src/import/graph.js";
import { showProgress } from "../../src/import/progress.js";
import { readGraph } from "../../src/import/read-graph.js";
import { type ImportReport, newReport, runImport } from "../../src/import/run-import.js";
import { type ClientOptions, ServiceClient } from "../../src/import/service-client.js";
import { CONTENT_MAX, CONTEXT_MAX, SUMMARY_MAX, TAGS_MAX, TAG_MAX, TITLE_MAX } from "../../src/import/text.js";
import { lostInType, memoryType, relationshipType } from "../../src/import/type-names.js";
import { LIMITS } from "../../src/limits.js";
import { withinBounds } from "../../src/operation/bounds.js";
import { ask } from "../support/http.js";
import { type Actor, createWorld } from "../support/world.js";

const [, memory, memories, updateMemory] = memoryOperations;

const entity = (name: string, entityType: string, ...observations: unknown[]) => ({
  type: "entity",
  name,
  entityType,
  observations,
});
const relation = (from: string, relationType: string, to: string) => ({ type: "relation", from, to, relationType });
const jsonLines = (...lines: object[]) => lines.map((line) => JSON.stringify(line)).join("\n");

const RETRY = [
  entity("Retry", "CodePattern", "Waits longer each time", "Gives up after five"),
  entity("Client", "Component", "Talks to the service"),
  relation("Client", "relies on", "Retry"),
];

describe("reading", () => {
  it("unites the lines of one name: observations in order and once, the first type", () => {
    const graph = read(
      jsonLines(
        entity("Client", "TaskGroup", "one", "two"),
        relation("Client", "uses", "Server"),
        entity("Client", "Other", "two", "three"),
        entity("Server", "", " "),
      ),
    );

    expect([...graph.notes.values()]).toMatchObject([
      { type: "task_group", title: "Client", content: "one\ntwo\nthree", tags: ["mcp-memory"] },
      { type: "general", title: "Server", content: "Server", tags: ["mcp-memory"] },
    ]);
    expect(linksOf(graph)).toEqual([["Client", "USES", "Server", undefined]]);
    expect(graph.merged).toEqual({ memories: 1, relationships: 0 });
    expect(graph.notTaken).toEqual([]);
  });

  it("reads the same graph from one JSON object as from lines", () => {
    const lines = read(`\r\n${jsonLines(...RETRY)}\r\n`);
    const whole = read(JSON.stringify({ entities: RETRY.slice(0, 2), relations: RETRY.slice(2) }, undefined, 2));

    expect([...whole.notes]).toEqual([...lines.notes]);
    expect([...whole.links]).toEqual([...lines.links]);
    expect(lines.links.size).toBe(1);
  });

  it("takes the rest when something cannot be taken, and says why", () => {
    const graph = read(
      [
        jsonLines(entity("A", "x"), entity("B", "x", "fine", { text: "an object" }, "half \ud83d"), entity("N\0", "x")),
        "",
        '{"type":"entity"',
        jsonLines({ type: "_note" }, { type: "entity", entityType: "x" }, { type: "relation", from: "A" }),
        jsonLines(relation("A", "uses", "Gone"), relation("A", "uses", "A"), relation("A", "uses", "B")),
        jsonLines(relation("A", "Uses", "B"), entity("Long", "x", "y".repeat(50_001)), relation("B", "uses", "Long")),
      ].join("\n"),
    );

    expect([...graph.notes.keys()]).toEqual(["A", "B"]);
    expect(graph.notes.get("B")?.content).toBe("fine");
    expect(linksOf(graph)).toEqual([["A", "USES", "B", undefined]]);
    expect(graph.merged.relationships).toBe(1);
    const surrogate = "it has half of a character (a lone surrogate), which cannot be stored";
    expect(graph.notTaken.map(({ what, reason }) => `${what}: ${reason}`)).toEqual([
      'an observation of "B": "{\\"text\\":\\"an object\\"}": it is not a text',
      `an observation of "B": "half \\ud83d": ${surrogate}`,
      'entity "N\\u0000": it has the character NUL, which cannot be stored',
      "line 7: an entity needs a name",
      'memory "Long": its content has more than 50000 characters',
      "line 8: a relation needs from, to and relationType",
      'relation "A" "uses" "Gone": the file has no memory with the name "Gone"',
      'relation "A" "uses" "A": it leads from a memory to itself',
      'relation "B" "uses" "Long": the memory "Long" was not taken',
      "line 5: it is not JSON",
      "line 6: it is neither an entity nor a relation",
    ]);
  });

  it("cuts a long name for the title, between characters, and keeps it whole in the content", () => {
    const name = "🎈".repeat(501);
    const [note] = read(jsonLines(entity(name, "x", "seen"))).notes.values();

    expect(note?.title).toBe("🎈".repeat(500));
    expect(note?.content).toBe(`${name}\nseen`);
  });

  it("takes the Unicode forms of one text for one text", () => {
    const [composed, decomposed] = ["Caf\u00e9", "Cafe\u0301"];
    const graph = read(
      jsonLines(entity(composed, "x", composed, decomposed), relation(decomposed, "near", "B"), entity("B", "x")),
    );

    expect(graph.notes.get(composed)?.content).toBe(composed);
    expect(linksOf(graph)).toEqual([[composed, "NEAR", "B", undefined]]);
  });

  it.each([
    ["verified by", "VERIFIED_BY", undefined],
    ["verifiedBy", "VERIFIED_BY", undefined],
    ["VERIFIED-BY", "VERIFIED_BY", undefined],
    ["plansFuture", "PLANS_FUTURE", undefined],
    ["defines_interface_for", "DEFINES_INTERFACE_FOR", undefined],
    ["uses HTTPServer v2", "USES_HTTP_SERVER_V2", undefined],
    ["déjà vu", "DEJA_VU", "déjà vu"],
    ["größer als", "GROSSER_ALS", "größer als"],
    ["isn't", "ISNT", "isn't"],
    ["uses (C++)", "USES_C", "uses (C++)"],
    ["属于", undefined, "属于"],
    ["depends on 属于", undefined, "depends on 属于"],
    ["2nd of", undefined, "2nd of"],
    ["x".repeat(51), undefined, "x".repeat(51)],
    [" -> ", undefined, "->"],
    ["", undefined, undefined],
  ])("makes of %j the type %s and keeps %j as its context", (text, type, context) => {
    expect(relationshipType(text)).toBe(type);
    expect(memoryType(text)).toBe(type?.toLowerCase());
    expect(lostInType(text, type ?? "RELATED_TO")).toBe(context);
  });

  it("keeps what a type cannot say: of an entity as a tag, of relations in one context", () => {
    const graph = read(
      jsonLines(
        entity("A", "人物"),
        entity("B", "x"),
        relation("A", "属于", "B"),
        relation("A", "认识", "B"),
        relation("A", "属于", "B"),
      ),
    );

    expect(graph.notes.get("A")).toMatchObject({ type: "general", tags: ["mcp-memory", "人物"] });
    expect(linksOf(graph)).toEqual([["A", "RELATED_TO", "B", "属于; 认识"]]);
    expect(graph.merged.relationships).toBe(2);
  });

  it("reads an export of MemoryGraph, with what it knows of memories and relationships", () => {
    const graph = read(JSON.stringify(EXPORT));

    expect([...graph.notes.values()]).toEqual([
      {
        key: "m1",
        type: "code_pattern",
        title: "Retry",
        content: "Wait longer.\n\nproject_path: /src/app\nlanguages: go, rust",
        summary: "Backoff",
        tags: ["net"],
        importance: 0.9,
      },
      {
        key: "m2",
        type: "error",
        title: "Timeout",
        content: "Too slow.",
        summary: undefined,
        tags: [],
        importance: 0.5,
      },
    ]);
    expect([...graph.links.values()]).toMatchObject([
      { from: "m1", to: "m2", type: "SOLVES", strength: 0.9, confidence: 0.7, context: "In staging" },
    ]);
    expect(graph.merged).toEqual({ memories: 1, relationships: 1 });
    expect(graph.notTaken.map(({ what, reason }) => `${what}: ${reason}`)).toEqual([
      'memory 4: the id "m2" is another memory\'s already',
      "memory 5: a memory needs the texts id, title and content",
      'relationship "Timeout" "CAUSES" "m9": the file has no memory with the id "m9"',
    ]);
  });

  it("cuts a context that is too long, and says so", () => {
    const relationships = [{ ...EXPORT.relationships[0], properties: { context: "🎈".repeat(1_001) } }];
    const graph = read(JSON.stringify({ ...EXPORT, relationships }));

    expect([...graph.links.values()][0]?.context).toBe("🎈".repeat(1_000));
    expect(graph.notTaken.at(-1)).toEqual({
      what: 'the end of the context of relationship "Retry" "SOLVES" "Timeout"',
      reason: "a context has at most 1000 characters",
    });
  });

  it.each(["", "{}", "[]", "42", "title,content\na,b", '{"memories":[]}', '{"type":"note"}'])(
    "finds no format in %j",
    (text) => expect(readGraph(text)).toBeUndefined(),
  );

  it("holds: its limits are those of the service", () => {
    const full = {
      type: "general",
      title: "🎈".repeat(TITLE_MAX),
      content: "🎈".repeat(CONTENT_MAX),
      summary: "🎈".repeat(SUMMARY_MAX),
      tags: Array.from({ length: TAGS_MAX }, () => "🎈".repeat(TAG_MAX)),
      importance: 1,
    };
    const oneMore = [
      { title: `${full.title}x` },
      { content: `${full.content}x` },
      { summary: `${full.summary}x` },
      { tags: [...full.tags, "x"] },
      { tags: ["x".repeat(TAG_MAX + 1)] },
    ];
    const context = "🎈".repeat(CONTEXT_MAX);

    expect(() => withinBounds(Object.assign(new CreateMemoryInput(), full))).not.toThrow();
    for (const more of oneMore) {
      expect(() => withinBounds(Object.assign(new CreateMemoryInput(), full, more))).toThrow(/must have/);
    }
    expect(() => withinBounds(Object.assign(new CreateRelationshipInput(), { context }))).not.toThrow();
    expect(() => withinBounds(Object.assign(new CreateRelationshipInput(), { context: `${context}x` }))).toThrow();
  });
});

describe("importing into the service", () => {
  it("stops where the graph is full, says so, and goes on from there when there is room", async () => {
    const storage = { ...LIMITS.storage, pro: { memories: 5, bytes: 1_000_000 } };
    await using world = await createWorld({ storage });
    const { url } = await world.serve();
    const ann = await world.user();
    const text = jsonLines(...Array.from({ length: 30 }, (_, index) => entity(`Entity ${index}`, "x")));

    await expect(importInto(url, ann, text)).rejects.toThrow(/This graph is full: .* at most 5 memories/);
    storage.pro.memories = 100;

    expect(await importInto(url, ann, text)).toEqual(report({ memories: { created: 25, existing: 5 } }));
  });

  it("stores memories and relationships, and adds nothing when it is run again", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    // More than a page of others, so that what it made lies on several.
    const many = Array.from({ length: 120 }, (_, index) => entity(`Entity ${index}`, "x"));
    const text = jsonLines(...many, ...RETRY);

    expect(await importInto(url, ann, text)).toEqual(
      report({ memories: { created: 122 }, relationships: { created: 1 } }),
    );
    expect(await importInto(url, ann, text)).toEqual(
      report({ memories: { existing: 122 }, relationships: { existing: 1 } }),
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

  it("adds the observations that an entity has gained, and keeps what was written in the service", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    await importInto(url, ann, jsonLines(entity("Retry", "x", "one"), entity("Bare", "x")));
    const before = await memoriesOf(ann);
    await ann.did(updateMemory, { id: before["Retry"]?.id, content: "one\nby hand" });

    const text = jsonLines(entity("Retry", "x", "zero", "one", "hand"), entity("Bare", "x", "dressed"));
    expect(await importInto(url, ann, text)).toEqual(report({ memories: { updated: 2 } }));
    expect(await importInto(url, ann, text)).toEqual(report({ memories: { existing: 2 } }));

    const after = await memoriesOf(ann);
    expect(after["Retry"]).toMatchObject({ content: "one\nby hand\nzero\nhand", version: 3 });
    expect(after["Bare"]).toMatchObject({ content: "dressed", version: 2 });
  });

  it("adds them to what somebody else wrote at the same moment", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    await importInto(url, ann, jsonLines(entity("Retry", "x", "one")));
    const client = clientOf(url, ann.key);
    const update = client.updateContent.bind(client);
    vi.spyOn(client, "updateContent").mockImplementationOnce(async (present, content) => {
      await ann.did(updateMemory, { id: present.id, content: "one\nmeanwhile" });
      return update(present, content);
    });

    const result = await run(client, jsonLines(entity("Retry", "x", "one", "two")));

    expect(result).toEqual(report({ memories: { updated: 1 } }));
    expect((await memoriesOf(ann))["Retry"]?.content).toBe("one\nmeanwhile\ntwo");
  });

  it("tells long names apart that are cut to the same title", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const text = jsonLines(...["a", "b"].map((end) => entity("x".repeat(500) + end, "x", `is ${end}`)));

    expect(await importInto(url, ann, text)).toEqual(report({ memories: { created: 2 } }));
    expect(await importInto(url, ann, text)).toEqual(report({ memories: { existing: 2 } }));
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

  it("reports what the service refuses, with what leads to it, and goes on", async () => {
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
      { what: 'memory "\u200b"', reason: "title: must not be blank" },
      { what: 'relation "\u200b" "is" "Retry"', reason: 'the memory "\u200b" was not taken' },
    ]);
  });
});

describe("patience", () => {
  it("waits as long as the service asks, and repeats each request under its own idempotency key", async () => {
    const refusals = new Set<string>();
    const pauses: unknown[] = [];
    const service = await fakeService((request) => {
      const key = String(request.headers["idempotency-key"]);
      if (request.method === "GET" || refusals.has(key)) return undefined;
      refusals.add(key);
      return { status: 429, headers: { "retry-after": "1" } };
    });
    const startedAt = Date.now();

    const client = clientOf(service.url, "key", { onPause: (...pause) => void pauses.push(pause) });
    const result = await run(client, jsonLines(...RETRY));

    expect(result).toEqual(report({ memories: { created: 2 }, relationships: { created: 1 } }));
    // Both memories were refused while they were under way together: one wait, one message.
    expect(pauses).toEqual([
      [1, "rate limit reached"],
      [1, "rate limit reached"],
    ]);
    expect(Date.now() - startedAt).toBeGreaterThan(1_900);
    const keys = service.requests
      .filter(({ method }) => method === "POST")
      .map(({ headers }) => headers["idempotency-key"]);
    expect(keys).toHaveLength(6);
    expect(new Set(keys).size).toBe(3);
  });

  it("repeats what was lost, and what the service was too busy for", async () => {
    const troubles = ["lost", "none", "lost", 503, 502];
    const service = await fakeService((request) => {
      const trouble = troubles.shift();
      if (trouble === "lost") request.socket.destroy();
      return typeof trouble === "number" ? { status: trouble, headers: { "retry-after": "0" } } : undefined;
    });

    const result = await run(clientOf(service.url, "key"), jsonLines(entity("A", "x")));

    expect(result).toEqual(report({ memories: { created: 1 } }));
    const keys = service.requests
      .filter(({ method }) => method === "POST")
      .map(({ headers }) => headers["idempotency-key"]);
    expect(keys).toHaveLength(4);
    expect(new Set(keys).size).toBe(1);
  });

  it("gives up after five repetitions", async () => {
    const service = await fakeService(() => ({ status: 503, headers: { "retry-after": "0" } }));

    const result = run(clientOf(service.url, "key"), jsonLines(entity("A", "x")));

    await expect(result).rejects.toThrow("is still busy after many attempts (status 503). Try again later.");
    expect(service.requests).toHaveLength(6);
  });
});

describe("progress", () => {
  /** What a stream shows of half a run, and of a wait of twelve seconds in its middle. */
  function shownOn(stream: Pick<WriteStream, "isTTY" | "columns">): string[] {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const shown: string[] = [];
    const write = (text: string) => shown.push(text) > 0;
    {
      using progress = showProgress(4, { ...stream, write } as WriteStream);
      progress.step();
      vi.advanceTimersByTime(5_000);
      progress.step();
      progress.pause(12, "rate limit reached");
      vi.advanceTimersByTime(5_000);
    }
    vi.advanceTimersByTime(60_000);
    return shown;
  }

  it("is one line of a terminal, without colour, and gone at the end", () => {
    const shown = shownOn({ isTTY: true, columns: 60 });

    expect(shown).toContain(`\r\u001b[K${"█".repeat(6)}${"░".repeat(18)} 1 of 4`);
    expect(shown.at(-2)).toBe(`\r\u001b[K${"█".repeat(12)}${"░".repeat(12)} 2 of 4, waiting 7 s: rate limit re`);
    expect(shown.at(-1)).toBe("\r\u001b[K");
    expect(shown.join("")).not.toMatch(/\n|\[\d+m/);
  });

  it("is a line every few seconds elsewhere, and one for each wait", () => {
    expect(shownOn({ isTTY: false, columns: 0 })).toEqual([
      "1 of 4 done\n",
      "2 of 4 done, waiting 12 s: rate limit reached\n",
    ]);
  });
});

describe("the command", () => {
  it("prints one JSON value and nothing else", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const file = await fileWith(jsonLines(...RETRY, relation("Client", "uses", "Gone")));

    const said = await command([file, "--url", url, "--json"], ann.key);

    expect(said.exitCode).toBeUndefined();
    expect(said.out).toHaveLength(1);
    expect(JSON.parse(said.out[0] ?? "")).toEqual({
      memories: { created: 2, updated: 0, merged: 0, existing: 0 },
      relationships: { created: 1, merged: 0, existing: 0 },
      not_taken: [{ what: 'relation "Client" "uses" "Gone"', reason: 'the file has no memory with the name "Gone"' }],
    });
  });

  it("changes nothing in a dry run, and says what would be done", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    await importInto(url, ann, jsonLines(...RETRY));
    const file = await fileWith(
      jsonLines(...RETRY, entity("Retry", "x", "more"), entity("New", "x"), relation("New", "uses", "Retry")),
    );

    const said = await command([file, "--url", url, "--dry-run", "--json"], ann.key);

    expect(JSON.parse(said.out.join(""))).toEqual({
      memories: { created: 1, updated: 1, merged: 1, existing: 1 },
      relationships: { created: 1, merged: 0, existing: 1 },
      not_taken: [],
    });
    expect(Object.keys(await memoriesOf(ann)).sort()).toEqual(["Client", "Retry"]);

    const alone = await command([file, "--dry-run"], "");
    expect(alone.out.join("")).toContain("Memories       3 made, 0 updated, 0 already there; 1 merged as repeats");
  });

  it("shows twenty of the things that were not taken and says where the others are", async () => {
    const broken = Array.from({ length: 25 }, () => "not JSON").join("\n");
    const file = await fileWith(`${jsonLines(...RETRY)}\n${broken}`);

    const said = await command([file, "--dry-run"], "");

    const text = said.out.join("");
    expect(text).toContain("Not taken: 25\n  line 4: it is not JSON\n");
    expect(text.match(/is not JSON/g)).toHaveLength(20);
    expect(text).toMatch(/--json lists all of them\.$/);
  });

  it.each([
    ["a file that is not there", { file: "/nowhere/memory.jsonl" }, "There is no such file: /nowhere/memory.jsonl"],
    ["a folder", { file: tmpdir() }, "This is a folder, not a file"],
    ["a file in another format", { text: "title,content" }, "is neither a memory.jsonl of the MCP memory server"],
    ["a file that is not text", { text: Buffer.from(`${jsonLines(...RETRY)}\xff`, "latin1") }, "is not text in UTF-8"],
    ["no key", { key: "" }, "An API key is needed: set MEMORY_GRAPH_KEY to it, or give --key."],
    ["a key that is none", { key: "schlüssel" }, "The service does not accept this API key."],
    ["an address that is none", { url: "localhost:4000" }, "--url must be an address such as http://127.0.0.1:4000"],
    ["an address where nobody listens", { url: "http://127.0.0.1:9" }, "http://127.0.0.1:9 does not answer"],
  ])("says what to do about %s", async (_case, { file, text, key, url }: Wrong, message) => {
    const path = file ?? (await fileWith(text ?? jsonLines(...RETRY)));

    const said = await command([path, "--url", url ?? "http://127.0.0.1:9"], key ?? "some-key");

    expect(said.err.join("\n")).toContain(message);
    expect(said).toMatchObject({ exitCode: 1, out: [] });
  });

  it("says what to do about a key that the service does not know, and about a team there is not", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const file = await fileWith(jsonLines(...RETRY));

    const stranger = await command([file, "--url", url], "mg_live_unknown");
    expect(stranger).toMatchObject({ exitCode: 1, out: [] });
    expect(stranger.err.join("\n")).toMatch(/does not accept this API key.*\nNothing was imported\.$/);
    const loner = await command([file, "--url", url, "--graph", "team"], ann.key);
    expect(loner).toMatchObject({ exitCode: 1, out: [] });
    expect(loner.err.join("\n")).toContain("Leave out --graph");
    const other = await command([file, "--url", `${url}/elsewhere`], ann.key);
    expect(other).toMatchObject({ exitCode: 1, out: [] });
  });

  it("says how far it came when it is interrupted", async () => {
    const before = process.listeners("SIGINT");
    const ctrlC = () => process.listeners("SIGINT").filter((listener) => !before.includes(listener));
    onTestFinished(() => ctrlC().forEach((listener) => process.off("SIGINT", listener)));
    let posts = 0;
    const service = await fakeService((request) => {
      if (request.method === "GET" || ++posts === 1) return undefined;
      // By then the client waits as it was told to.
      setTimeout(() => ctrlC().forEach((listener) => listener("SIGINT")), 200);
      return { status: 429, headers: { "retry-after": "600" } };
    });
    const many = Array.from({ length: 20 }, (_, index) => entity(`Entity ${index}`, "x"));
    const file = await fileWith(jsonLines(...many));

    const said = await command([file, "--url", service.url], "key");

    expect(said).toMatchObject({ exitCode: 130, out: [] });
    expect(said.err.join("\n")).toContain("Stopped. Memories in the graph so far: 1; relationships: 0. Run the same");
  });
});

interface Wrong {
  file?: string;
  text?: string | Buffer;
  key?: string;
  url?: string;
}

const EXPORT = {
  format_version: "2.0",
  export_version: "1.0",
  backend_type: "sqlite",
  memories: [
    {
      id: "m1",
      type: "code_pattern",
      title: "Retry",
      content: "Wait longer.",
      summary: "Backoff",
      tags: ["net"],
      importance: 0.9,
      confidence: 0.8,
      created_at: "2025-11-30T10:00:00+00:00",
      updated_at: "2025-11-30T10:00:00+00:00",
      context: { project_path: "/src/app", languages: ["go", "rust"], frameworks: [], additional_metadata: {} },
    },
    { id: "m2", type: "error", title: "Timeout", content: "Too slow.", summary: null, tags: [], importance: 0.5 },
    {
      id: "m3",
      type: "code_pattern",
      title: "Retry",
      content: "Wait longer.",
      context: { project_path: "/src/app", languages: ["go", "rust"] },
    },
    { id: "m2", type: "error", title: "Other", content: "Another." },
    { id: "m5", type: "error" },
  ],
  relationships: [
    {
      from_memory_id: "m1",
      to_memory_id: "m2",
      type: "SOLVES",
      properties: { strength: 0.9, confidence: 0.7, context: "In staging", evidence_count: 2 },
    },
    { from_memory_id: "m3", to_memory_id: "m2", type: "SOLVES", properties: { context: null } },
    { from_memory_id: "m2", to_memory_id: "m9", type: "CAUSES", properties: {} },
  ],
};

function read(text: string): ImportedGraph {
  const graph = readGraph(text);
  if (!graph) throw new Error("The text is in no known format.");
  return graph;
}

const linksOf = ({ links }: ImportedGraph) =>
  Array.from(links.values(), ({ from, type, to, context }) => [from, type, to, context]);

/** A report with these counts, where all others are 0 and everything was taken. */
const report = (counts: { memories?: object; relationships?: object }) => ({
  memories: { created: 0, updated: 0, merged: 0, existing: 0, ...counts.memories },
  relationships: { created: 0, merged: 0, existing: 0, ...counts.relationships },
  notTaken: [],
});

const clientOf = (url: string, key: string, more: Partial<ClientOptions> = {}) =>
  new ServiceClient({ url, key, signal: new AbortController().signal, onPause: () => {}, ...more });

const importInto = (url: string, { key }: Actor, text: string) => run(clientOf(url, key), text);

async function run(store: ServiceClient, text: string): Promise<ImportReport> {
  const graph = read(text);
  const result = newReport(graph);
  await runImport(graph, { store, report: result, onStep: () => {} });
  return result;
}

/** Somebody's first hundred memories by their titles. */
async function memoriesOf(actor: Actor) {
  const page = await actor.did(memories, { limit: 100 });
  return Object.fromEntries(page.memories.map((found) => [found.title, found]));
}

async function fileWith(text: string | Buffer): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "import-test-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "memory.jsonl");
  await writeFile(path, text);
  return path;
}

/** Runs the command in this process, as if the arguments had been typed and the variable set. */
async function command(args: string[], key: string) {
  const out: unknown[] = [];
  const err: unknown[] = [];
  const { argv } = process;
  vi.resetModules();
  vi.stubEnv("MEMORY_GRAPH_KEY", key);
  const spies = [
    vi.spyOn(console, "log").mockImplementation((line) => void out.push(line)),
    vi.spyOn(console, "error").mockImplementation((line) => void err.push(line)),
    vi.spyOn(process.stderr, "write").mockReturnValue(true),
  ];
  try {
    process.argv = ["node", "import", ...args];
    await import("../../src/commands/import.js");
    return { out: out.map(String), err: err.map(String), exitCode: process.exitCode };
  } finally {
    process.argv = argv;
    process.exitCode = undefined;
    vi.unstubAllEnvs();
    for (const spy of spies) spy.mockRestore();
  }
}

interface FakeAnswer {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

/** A service that is empty and takes everything, unless the test answers first. */
async function fakeService(answer: (request: IncomingMessage) => FakeAnswer | undefined) {
  const requests: IncomingMessage[] = [];
  const respond = (request: IncomingMessage, response: ServerResponse) => {
    requests.push(request);
    const plain = request.method === "GET" ? { memories: [], next_cursor: null } : { id: String(requests.length) };
    const { status, headers, body } = answer(request) ?? { status: request.method === "GET" ? 200 : 201, body: plain };
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body ?? { error: { code: "busy", message: "Not now." } }));
  };
  const server = createServer(respond);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { requests, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
