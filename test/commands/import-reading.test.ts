import { describe, expect, it } from "vitest";
import { CreateMemoryInput } from "../../src/features/memories/create-memory.js";
import { CreateRelationshipInput } from "../../src/features/relationships/create-relationship.js";
import { lostInType, memoryType, relationshipType } from "../../src/import/type-names.js";
import { LIMITS } from "../../src/limits.js";
import { withinBounds } from "../../src/operation/within-bounds.js";
import { EXPORT, RETRY, entity, jsonLines, leftOut, linksOf, readText, relation } from "../support/imports.js";

const AB = [entity("A", "x"), entity("B", "x")];

describe("reading", () => {
  it("merges the lines of one name: each observation once and in order, the first type, other types as lines", () => {
    const graph = readText(
      jsonLines(
        entity("Client", "TaskGroup", "one", "two"),
        relation("Client", "uses", "Server"),
        entity("Client", "Other", "two", "three"),
        entity("Server", "", " "),
      ),
    );

    expect([...graph.notes.values()]).toMatchObject([
      { type: "task_group", title: "Client", content: "one\ntwo\nthree\ntype: Other", tags: ["mcp-memory"] },
      { type: "general", title: "Server", content: "Server", tags: ["mcp-memory"] },
    ]);
    expect(linksOf(graph)).toEqual([["Client", "USES", "Server", undefined]]);
    expect(graph.memories).toEqual({ read: 3, merged: 1 });
    expect(graph.notTaken).toEqual([]);
  });

  it("keeps the first summary and importance of one name, and the others as lines", () => {
    const lines = [
      { ...entity("A", "x", "one"), summary: "First", importance: 0.2 },
      { ...entity("A", "x", "two"), summary: "Second", importance: 0.8 },
      { ...entity("A", "x", "two"), summary: "First", importance: 0.2 },
    ];

    expect([...readText(jsonLines(...lines)).notes.values()]).toMatchObject([
      { summary: "First", importance: 0.2, content: "one\ntwo\nsummary: Second\nimportance: 0.8" },
    ]);
  });

  it("skips comments in JSON, also one that does not end", () => {
    const text = '/* a "comment" */ [{"title": "T", /* x */ "content": "a /* b */", "tags": ["c",],},] /* open';

    const graph = readText(text);

    expect([...graph.notes.values()]).toMatchObject([{ title: "T", content: "a /* b */", tags: ["c"] }]);
    expect(leftOut(graph)).toEqual([]);
  });

  it("keeps apart a memory of any name and one that has its name to itself", () => {
    const own = { title: "A", content: "Of its own." };

    const graph = readText(JSON.stringify([entity("A\n1", "x", "one"), own]));

    expect([...graph.notes.values()].map(({ content }) => content)).toEqual(["one", "Of its own."]);
  });

  it("reads the same graph from one JSON object and from lines", () => {
    const lines = readText(`\r\n${jsonLines(...RETRY)}\r\n`);
    const whole = readText(JSON.stringify({ entities: RETRY.slice(0, 2), relations: RETRY.slice(2) }, undefined, 2));

    expect([...whole.notes]).toEqual([...lines.notes]);
    expect(linksOf(whole)).toEqual(linksOf(lines));
    expect(lines.links.size).toBe(1);
  });

  it("imports the rest when some items cannot be imported, and says why", () => {
    const graph = readText(
      [
        jsonLines(entity("A", "x"), entity("B", "x", "fine", { text: "an object" }, "half \ud83d"), entity("N\0", "x")),
        "",
        '{"type":"entity"',
        jsonLines({ type: "note" }, { type: "entity", entityType: "x" }, { type: "relation", from: "A" }),
        jsonLines(relation("A", "uses", "Gone"), relation("A", "uses", "A"), relation("A", "uses", "B")),
        jsonLines(relation("A", "Uses", "B"), relation("B", "uses", "N\0")),
      ].join("\n"),
    );

    expect([...graph.notes.keys()]).toEqual(["A", "B"]);
    expect(graph.notes.get("B")?.content).toBe("fine\nan object");
    expect(linksOf(graph)).toEqual([["A", "USES", "B", undefined]]);
    expect(graph.memories).toEqual({ read: 3, merged: 0 });
    expect(graph.relationships).toEqual({ read: 6, merged: 1 });
    expect(graph.others.read).toBe(3);
    expect(leftOut(graph)).toEqual([
      'memory "N\\u0000" (line 3): it has the character NUL, which cannot be stored',
      'line 5: "{\\"type\\":\\"entity\\"": its brackets are never closed: is the file whole?',
      'line 6: "{\\"type\\":\\"note\\"}": it has no name, no title and no text',
      'line 7: "{\\"type\\":\\"entity\\",\\"entityType\\":\\"x\\"}": it has no name, no title and no text',
      'line 8: "{\\"type\\":\\"relation\\",\\"from\\":\\"A\\"}": it has no field to',
      'an observation of "B": "half \\ud83d": it has half of a character (a lone surrogate), which cannot be stored',
      'relationship "A" "uses" "Gone" (line 9): the file has no memory called "Gone": --create-missing creates one',
      'relationship "A" "uses" "A" (line 10): it links a memory to itself',
      'relationship "B" "uses" "N\\u0000" (line 13): the memory "N\\u0000" was not imported',
    ]);
  });

  it("creates memories for names that occur only in relationships, if requested", () => {
    const text = jsonLines(entity("A", "x"), relation("A", "uses", "Gone"), relation("Gone", "uses", "Lost"));
    const graph = readText(text, { createMissing: true });

    expect([...graph.notes.keys()]).toEqual(["A", "Gone", "Lost"]);
    expect(graph.links.size).toBe(2);
    expect(graph.notTaken).toEqual([]);
  });

  it("keeps the part of a long content that fits, and reports the rest", () => {
    const graph = readText(
      jsonLines(entity("A", "x"), entity("Long", "x", "first", "🎈".repeat(50_000)), relation("A", "uses", "Long")),
    );

    expect(graph.notes.get("Long")?.content).toBe(`first\n${"🎈".repeat(49_994)}`);
    expect(graph.notes.get("Long")?.lines).toEqual(["first", "🎈".repeat(49_994)]);
    expect(linksOf(graph)).toEqual([["A", "USES", "Long", undefined]]);
    expect(leftOut(graph)[0]).toMatch(/^the last 12 characters of the content of memory "Long": "🎈🎈🎈🎈🎈🎈": /u);
  });

  it("cuts a long name between characters for the title, and keeps it whole in the content", () => {
    const name = "🎈".repeat(501);
    const [note] = readText(jsonLines(entity(name, "x", "seen"))).notes.values();

    expect(note?.title).toBe("🎈".repeat(500));
    expect(note?.content).toBe(`${name}\nseen`);
  });

  it("treats Unicode forms of one text as the same text", () => {
    const [composed, decomposed] = ["Caf\u00e9", "Cafe\u0301"];
    const graph = readText(
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

  it.each([
    ["fixes", "SOLVES"],
    ["Resolves", "SOLVES"],
    ["solution for", "SOLVES"],
    ["caused", "CAUSES"],
    ["depends-on", "DEPENDS_ON"],
    ["depend on", "DEPENDS_ON"],
    ["led to", "LEADS_TO"],
    ["is similar to", "SIMILAR_TO"],
    ["relates_to", "RELATED_TO"],
  ])("reads %j as %s", (said, type) => {
    expect(linksOf(readText(jsonLines(...AB, relation("A", said, "B"))))).toEqual([["A", type, "B", undefined]]);
  });

  it.each([
    ["solved by", "SOLVES"],
    ["isFixedBy", "SOLVES"],
    ["was caused by", "CAUSES"],
    ["superseded_by", "REPLACES"],
    ["Superceded by", "REPLACES"],
    ["blocked by", "BLOCKS"],
    ["broken by", "BREAKS"],
  ])("reads %j as %s in the other direction", (said, type) => {
    expect(linksOf(readText(jsonLines(...AB, relation("A", said, "B"))))).toEqual([["B", type, "A", undefined]]);
  });

  it.each(["USED_BY", "IS_BLOCKED", "VALIDATED_BY", "DEPRECATED_BY", "OWNED_BY", "PART_OF", "FIX", "CAUSE", "ADDRESS"])(
    "keeps %s, which is a well-known type or may mean several",
    (type) => {
      expect(linksOf(readText(jsonLines(...AB, relation("A", type, "B"))))).toEqual([["A", type, "B", undefined]]);
    },
  );

  it("merges what both ends say of one relationship", () => {
    const links = [relation("A", "solves", "B"), relation("B", "solved by", "A"), relation("A", "fixes", "B")];
    const graph = readText(jsonLines(...AB, ...links));

    expect(linksOf(graph)).toEqual([["A", "SOLVES", "B", undefined]]);
    expect(graph.relationships).toEqual({ read: 3, merged: 2 });
  });

  it("keeps the original type if it cannot be expressed: for a memory as a tag, for relationships in the context", () => {
    const graph = readText(
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
    expect(graph.relationships.merged).toBe(2);
  });

  it("keeps the tags of a list that also has empty items", () => {
    const memory = (title: string, tags: unknown) => ({ title, content: "Some text.", tags });

    const { notes } = readText(jsonLines(memory("A", ["one", "", null, "two"]), memory("B", [""])));
    const [many, none] = [...notes.values()];

    expect(many).toMatchObject({ content: "Some text.", tags: ["one", "two"] });
    expect(none).toMatchObject({ content: "Some text.", tags: [] });
  });

  it("leaves out nothing of the service's own JSON of MemoryGraph that was formatted", () => {
    const [first, second] = EXPORT.memories;
    const exported = { memories: 2, relationships: 1 };
    const file = { ...EXPORT, memories: [first, second], relationships: EXPORT.relationships.slice(0, 1), exported };

    expect(leftOut(readText(JSON.stringify(file, null, 2)))).toEqual([]);
  });

  it("reads the service's own export that another program rewrote, and adds no line to a memory", () => {
    const [one, other] = ["f47ac10b-58cc-4372-a567-0e02b2c3d479", "f47ac10b-58cc-4372-a567-0e02b2c3d480"];
    const by = { created_by: one, created_at: "2025-11-30T10:00:00Z" };
    const more = { ...by, confidence: 0.8, importance: 0.5, updated_by: one, version: 1 };
    const lines = jsonLines(
      { record: "end", memories: 2, relationships: 1 },
      { record: "graph", format: "memory-graph", format_version: 1, memories: 2, relationships: 1 },
      { record: "memory", id: one, type: "entity", title: "T", content: "C", client_id: "import:abc", ...more },
      { record: "memory", id: other, type: "fix", title: "U", content: "D", client_id: null, ...more },
      { record: "relationship", id: one, type: "SOLVES", from: one, to: other, context: null, ...by },
    );

    const graph = readText(lines);

    expect([...graph.notes.values()]).toMatchObject([
      { type: "entity", content: "C", kept: { clientId: "import:abc", createdAt: new Date(by.created_at) } },
      { type: "fix", content: "D", kept: { clientId: other } },
    ]);
    expect(linksOf(graph)).toEqual([["T", "SOLVES", "U", undefined]]);
    expect(graph.notTaken).toEqual([]);
    expect(graph.others.read).toBe(2);
  });

  it("reads an export of MemoryGraph, with all fields of memories and relationships", () => {
    const graph = readText(JSON.stringify(EXPORT));

    expect([...graph.notes.values()]).toMatchObject([
      {
        type: "code_pattern",
        title: "Retry",
        content: "Wait longer.",
        summary: "Backoff",
        tags: ["net"],
        importance: 0.9,
        kept: {
          confidence: 0.8,
          context: { project_path: "/src/app", languages: ["go", "rust"] },
          createdAt: new Date("2025-11-30T10:00:00Z"),
          updatedAt: new Date("2025-11-30T10:00:00Z"),
        },
      },
      { type: "error", title: "Timeout", content: "Too slow.", summary: undefined, tags: [], importance: 0.5 },
    ]);
    expect([...graph.links.values()]).toMatchObject([
      { type: "SOLVES", strength: 0.9, confidence: 0.7, context: "In staging; evidence_count: 2" },
    ]);
    expect(graph.memories).toEqual({ read: 4, merged: 1 });
    expect(graph.relationships).toEqual({ read: 3, merged: 1 });
    expect([...graph.notCarried.keys()]).toEqual([
      "format_version",
      "export_version",
      "backend_type",
      "id",
      "evidence_count",
    ]);
    expect(leftOut(graph)).toEqual([
      'memories[3]: another memory already has the id "m2"',
      'memories[4]: "{\\"type\\":\\"error\\"}": it has no name, no title and no text',
      'relationship "Timeout" "CAUSES" "m9" (relationships[2]): the file has no memory called "m9": --create-missing creates one',
    ]);
  });

  it("leaves the context of a relationship of MemoryGraph as it is, such as JSON", () => {
    const context = JSON.stringify({ text: "In staging", scope: "partial" });
    const properties = { strength: 0.5, confidence: 0.8, context, evidence_count: 1 };
    const [relationship] = EXPORT.relationships;
    const graph = readText(JSON.stringify({ ...EXPORT, relationships: [{ ...relationship, properties }] }));

    expect([...graph.links.values()]).toMatchObject([{ type: "SOLVES", context }]);
  });

  it("merges two memories and two relationships that say the same, and reports what only the second says otherwise", () => {
    const [one, other] = ["f47ac10b-58cc-4372-a567-0e02b2c3d479", "f47ac10b-58cc-4372-a567-0e02b2c3d480"];
    const note = { title: "Retry", content: "Wait." };
    const link = { from: "Retry", to: "Timeout", type: "SOLVES" };
    const graph = readText(
      JSON.stringify({
        memories: [
          { ...note, id: one, summary: "First", importance: 0.9, tags: ["a"], context: { project_path: "/a" } },
          {
            ...note,
            id: other,
            summary: "Second",
            importance: 0.1,
            tags: ["b"],
            context: { project_path: "/b", of: "b" },
          },
          { title: "Timeout", content: "Too slow." },
        ],
        relationships: [
          { ...link, strength: 0.9, confidence: 0.7 },
          { ...link, strength: 0.2, confidence: 0.1 },
        ],
      }),
    );

    expect([...graph.notes.values()][0]).toMatchObject({
      summary: "First",
      importance: 0.9,
      tags: ["a", "b"],
      kept: { clientId: one, context: { project_path: "/a", of: "b" } },
    });
    expect([...graph.links.values()]).toMatchObject([
      { strength: 0.9, confidence: 0.7, context: "strength: 0.2; confidence: 0.1" },
    ]);
    expect([graph.memories.merged, graph.relationships.merged]).toEqual([1, 1]);
    expect([...graph.notCarried]).toEqual([["id", 1]]);
    expect(leftOut(graph)).toEqual([
      'the summary of a repeat of memory "Retry": Second: the first one is kept',
      'the importance of a repeat of memory "Retry": 0.1: the first one is kept',
      'the context of a repeat of memory "Retry": "{\\"project_path\\":\\"/b\\"}": the first one is kept',
    ]);
  });

  it("cuts a context that is too long, and says so", () => {
    const relationships = [{ ...EXPORT.relationships[0], properties: { context: "🎈".repeat(10_001) } }];
    const graph = readText(JSON.stringify({ ...EXPORT, relationships }));

    expect([...graph.links.values()][0]?.context).toBe("🎈".repeat(10_000));
    expect(leftOut(graph).at(-1)).toBe(
      'the end of the context of relationship "Retry" "SOLVES" "Timeout" (relationships[0]): "🎈": ' +
        "a context has at most 10,000 characters",
    );
  });

  it.each(["", "{}", "[]", "42", "title,content\na,b", '{"memories":[]}', '{"type":"note"}'])(
    "finds no memory in %j",
    (text) => expect(readText(text).notes.size).toBe(0),
  );

  it("has the same limits as the service", () => {
    const { title, content, summary, tags, tag, relationshipContext } = LIMITS.memory;
    const full = {
      type: "general",
      title: "🎈".repeat(title),
      content: "🎈".repeat(content),
      summary: "🎈".repeat(summary),
      tags: Array.from({ length: tags }, () => "🎈".repeat(tag)),
      importance: 1,
    };
    const oneMore = [
      { title: `${full.title}x` },
      { content: `${full.content}x` },
      { summary: `${full.summary}x` },
      { tags: [...full.tags, "x"] },
      { tags: ["x".repeat(tag + 1)] },
    ];
    const context = "🎈".repeat(relationshipContext);

    expect(() => withinBounds(Object.assign(new CreateMemoryInput(), full))).not.toThrow();
    for (const more of oneMore) {
      expect(() => withinBounds(Object.assign(new CreateMemoryInput(), full, more))).toThrow(/must have/);
    }
    expect(() => withinBounds(Object.assign(new CreateRelationshipInput(), { context }))).not.toThrow();
    expect(() => withinBounds(Object.assign(new CreateRelationshipInput(), { context: `${context}x` }))).toThrow();
  });
});
