import { describe, expect, it } from "vitest";
import { readGraphFile } from "../../src/import/read-file.js";
import { RecordReader } from "../../src/import/record-reader.js";
import { fileWith, jsonLines, leftOut, linksOf, readText } from "../support/imports.js";

const contentsOf = (graph: ReturnType<typeof readText>) =>
  Object.fromEntries(Array.from(graph.notes.values(), ({ title, content }) => [title, content]));

/** Modelled on real files: each form was found in the memory file of a public project. */
describe("files of memory servers and their forks", () => {
  it("reads entities without a type and with _type, and observations with their times", () => {
    const graph = readText(
      jsonLines(
        {
          name: "Tank",
          entityType: "x",
          observations: [{ text: "A server", timestamp: "2025", version: "1.0" }],
          _type: "entity",
          _savedAt: "2025",
        },
        { name: "Alice", entityType: "Person", observations: ["Engineer"], createdBy: "Mai", createdAt: 1768061136 },
        { from: "Alice", to: "Tank", relationType: "made", _type: "relation" },
      ),
    );

    expect(contentsOf(graph)).toEqual({
      Tank: "A server (timestamp: 2025; version: 1.0)",
      Alice: "Engineer\ncreatedBy: Mai",
    });
    expect(linksOf(graph)).toEqual([["Alice", "MADE", "Tank", undefined]]);
    expect([...graph.notCarried]).toEqual([["_savedAt", 1]]);
    expect(graph.notes.get("Alice")?.kept?.createdAt).toEqual(new Date("2026-01-10T16:05:36Z"));
    expect(graph.notTaken).toEqual([]);
  });

  it("reads relationships between source and target, from_entity and to_entity, and within entities", () => {
    const graph = readText(
      jsonLines(
        { name: "A", entityType: "x", observations: [], relations: [{ relationType: "implements", to: "B" }] },
        { name: "B", entityType: "x", observations: [], weight: 60, attributes: { color: "red" } },
        { type: "relation", source: "A", target: "B", relationType: "calls", weight: 0.3 },
        { from_entity: "B", to_entity: { id: "9", name: "A", type: "Event" }, relation_type: "depends on", weight: 3 },
      ),
    );

    expect(contentsOf(graph)["B"]).toBe("weight: 60\ncolor: red");
    expect(linksOf(graph)).toEqual([
      ["A", "IMPLEMENTS", "B", undefined],
      ["A", "CALLS", "B", undefined],
      ["B", "DEPENDS_ON", "A", "to.id: 9; to.type: Event; weight: 3"],
    ]);
    expect([...graph.links.values()][1]?.strength).toBe(0.3);
    expect(graph.notTaken).toEqual([]);
  });

  it("reads the ends of a statement as its subject and object, and its source as where it is from", () => {
    const said = { subject: "A", predicate: "inspired by", object: "B", source: "a talk", end: "2020" };
    const edge = { source_id: "2", target_id: "1", subject: "Mr. B", object: "Ms. A" };
    const nodes = ["A", "B"].map((name, index) => ({ id: index + 1, name }));
    const graph = readText(jsonLines(...nodes, said, { source: "B", target: "A", subject: "C" }, edge));

    expect(linksOf(graph)).toEqual([
      ["A", "INSPIRED_BY", "B", "source: a talk; end: 2020"],
      ["B", "RELATED_TO", "A", "subject: C; subject: Mr. B; object: Ms. A"],
    ]);
  });

  it("keeps apart the nodes of a graph that have the same name and ids of their own", () => {
    const node = (id: string, more = {}) => ({ id, label: "package.json", kind: "file", ...more });
    const [one, other, third] = [node("a/package.json", { size: 1 }), node("b/package.json"), node("package.json")];
    const nodes = [one, third, other, other, { id: "main", label: "main.ts" }];
    const links = [
      { source: "main", target: "b/package.json", relation: "reads" },
      { source: "package.json", target: "main", relation: "names" },
    ];
    const graph = readText(JSON.stringify({ directed: true, graph: {}, nodes, links }));

    expect([...graph.notes.values()].map(({ title, content, lines }) => [title, content, lines !== undefined])).toEqual(
      [
        ["package.json (a/package.json)", "size: 1", true],
        ["package.json (package.json)", "package.json (package.json)", true],
        ["package.json (b/package.json)", "package.json (b/package.json)", true],
        ["main.ts", "main.ts", true],
      ],
    );
    expect(linksOf(graph).map((link) => link.slice(0, 3))).toEqual([
      ["main.ts", "READS", "package.json (b/package.json)"],
      ["package.json (package.json)", "NAMES", "main.ts"],
    ]);
    expect(graph.memories).toEqual({ read: 5, merged: 1 });
    expect(graph.tag).toBe("mcp-memory");
  });

  it("gives each of several nodes with one name its own relationships, and those by name to the first", () => {
    const nodes = [
      { id: "a", name: "index.ts", links: [{ target: "main", type: "reads" }] },
      { id: "b", name: "index.ts", links: [{ target: "main", type: "writes" }], uses: "x" },
      { name: "index.ts", role: "entry" },
      { id: "c", name: "index.ts (b)" },
      { id: "main", name: "main.ts", links: { reads: ["index.ts"] } },
    ];
    const graph = readText(JSON.stringify({ nodes, edges: [{ source: "b", target: "index.ts", type: "knows" }] }));

    expect(contentsOf(graph)).toEqual({
      "index.ts (a)": "role: entry",
      "index.ts (b) (b)": "uses: x",
      "index.ts (b)": "index.ts (b)",
      "main.ts": "main.ts",
    });
    expect(linksOf(graph).map((link) => link.slice(0, 3))).toEqual([
      ["index.ts (a)", "READS", "main.ts"],
      ["index.ts (b) (b)", "WRITES", "main.ts"],
      ["main.ts", "READS", "index.ts (a)"],
      ["index.ts (b) (b)", "KNOWS", "index.ts (a)"],
    ]);
  });

  it.each(["observation", "fact", "observations"])("adds each %s about a thing to it, whatever its id", (field) => {
    const said = [1, 2].map((id) => ({ id, name: "Ann", [field]: `says ${id}` }));

    expect(contentsOf(readText(jsonLines(...said)))).toEqual({ Ann: "says 1\nsays 2" });
  });

  it("reads separate observations, and lists of details and facts", () => {
    const graph = readText(
      jsonLines(
        { type: "entity", name: "A", entityType: "x" },
        { type: "observation", id: 1, entityName: "A", contents: ["one"] },
        { type: "observation", id: 2, entityName: "A", contents: ["two"] },
        { title: "Goal", category: "goal", details: ["three", "four"], tags: ["x"], importance: 5, date: "2025-12-25" },
        { subject: "Repository", fact: "never observable", reason: "layers", category: "Domain Layer" },
        { id: "7", labels: ["Task", "Fix"], properties: { description: "Replace it.", status: "Completed" } },
      ),
    );

    expect(contentsOf(graph)).toEqual({
      A: "one\ntwo",
      Goal: "three\nfour\nimportance: 5\ndate: 2025-12-25",
      Repository: "never observable (reason: layers)",
      "Replace it.": "Replace it.\n\nstatus: Completed",
    });
    expect([...graph.notes.values()].map(({ type, tags }) => [type, tags.join()])).toEqual([
      ["x", "mcp-memory"],
      ["goal", "mcp-memory,x"],
      ["domain_layer", "mcp-memory"],
      ["task", "Task,Fix"],
    ]);
  });

  it("keeps what belongs to each of several facts beside it", () => {
    const facts = [
      { subject: "Repository", fact: "returns no streams", citations: "design.md:12", reason: "layers" },
      { subject: "Repository", fact: "one for each aggregate", citations: "design.md:20", reason: "layers" },
      { subject: "Repository", fact: "has an interface" },
      { entity: "Repository", observation: "is old", source: "git" },
      { fact: "It rains.", source: "radio" },
    ];

    expect(contentsOf(readText(JSON.stringify(facts)))).toEqual({
      Repository:
        "returns no streams (citations: design.md:12; reason: layers)\n" +
        "one for each aggregate (citations: design.md:20; reason: layers)\n" +
        "has an interface\n" +
        "is old (source: git)",
      "It rains.": "It rains.\n\nsource: radio",
    });
  });

  it("reads maps of entities, nodes with edges, results and the service's own export", () => {
    const map = { version: "1", entities: { Alice: { entityType: "person", observations: ["x"] }, Bob: ["y"] } };
    const nodes = {
      graph: {
        nodes: [
          { id: 1, label: "A" },
          { id: 2, label: "B" },
        ],
        edges: [{ source: 1, target: 2 }],
      },
    };
    const results = { results: [{ id: "u1", memory: "Likes tea", user_id: "ann" }], relations: [] };
    const own = {
      profile: { id: "1" },
      events: [{ id: 1 }, { id: 2 }],
      memories: [{ id: "m1", type: "fix", title: "T", content: "C", version: 2, created_at: "2999-01-01", tags: [] }],
      relationships: [],
      next_cursor: null,
    };

    expect(contentsOf(readText(JSON.stringify(map)))).toEqual({ Alice: "x", Bob: "y" });
    expect(linksOf(readText(JSON.stringify(nodes)))).toEqual([["A", "RELATED_TO", "B", undefined]]);
    expect(contentsOf(readText(JSON.stringify(results)))).toEqual({ "Likes tea": "Likes tea\n\nuser_id: ann" });
    const graph = readText(JSON.stringify(own));
    expect(contentsOf(graph)).toEqual({ T: "C" });
    expect(graph.notTaken).toEqual([]);
    expect([...graph.notCarried.keys()]).toEqual(["profile", "events", "version", "created_at", "id"]);
  });

  it("reports each field of a file that holds no list of memories", () => {
    const graph = readText(JSON.stringify({ entities: [{ name: "A" }], hot_cache: { top: ["A"] }, gotchas: [] }));

    expect(leftOut(graph)).toEqual([
      'the field "hot_cache" of the file: it is not a list of memories or relationships',
    ]);
  });

  it("says in which line of a file the field is", () => {
    const lines = [{ name: "A" }, { document: [{ content: "B" }], hot: { top: ["A"] } }];
    const graph = readText(lines.map((line) => JSON.stringify(line)).join("\n"));

    expect(leftOut(graph)).toEqual([
      'the field "line 2 hot" of the file: it is not a list of memories or relationships',
    ]);
  });

  it("keeps all digits of long numbers, and Python's NaN and Infinity", () => {
    const text = '{"name":"A","channel":12345678901234567890,"score":NaN,"text":"NaN, 12345678901234567890"}';

    expect(contentsOf(readText(text))["A"]).toBe(
      "NaN, 12345678901234567890\nchannel: 12345678901234567890\nscore: NaN",
    );
  });
});

describe("the limits of a file", () => {
  function readWithin(bounds: { valueLength: number; depth: number }, ...chunks: string[]) {
    const said: string[] = [];
    const reader = new RecordReader({
      bounds,
      onRecord: ({ place }) => void said.push(place),
      onUnread: ({ place, reason }) => void said.push(`${place}: ${reason}`),
      onComment: ({ place }) => void said.push(`${place} #`),
    });
    for (const chunk of chunks) reader.push(chunk);
    reader.end();
    return said;
  }

  it("refuses a line, or a value over several lines, with too many characters", () => {
    const bounds = { valueLength: 10, depth: 64 };

    expect(readWithin(bounds, '{"a":1234}\n{"a":', "12345}\n{}")).toEqual([
      "line 1",
      "line 2: the line has more than 10 characters: split it",
      "line 3",
    ]);
    expect(readWithin(bounds, '{\n"a":12\n}\n{}')).toEqual(["lines 1 to 3", "line 4"]);
    expect(readWithin(bounds, '{\n"a":12345\n}\n{}')).toEqual([
      "lines 1 to 2: it goes on for more than 10 characters",
      "line 3: it is not JSON",
      "line 4",
    ]);
  });

  it("refuses values that are nested too deeply", () => {
    const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

    expect(readWithin({ valueLength: 1_000, depth: 64 }, `${nested(64)}\n${nested(65)}`)).toEqual([
      "line 1",
      "line 2: it is nested deeper than 64 levels: flatten it",
    ]);
    expect(readWithin({ valueLength: 1_000_000, depth: 64 }, nested(400_000))).toHaveLength(1);
  });

  it("reads the lines around a value that is never closed", () => {
    const text = '{"name":"A"}\n{"entities": [\n{"name":"B"},\n  {"name":\n{"name":"C"}\n';

    expect(readWithin({ valueLength: 1_000, depth: 64 }, text)).toEqual([
      "line 1",
      "line 2: its brackets are never closed: is the file whole?",
      "line 3",
      "line 4: its brackets are never closed: is the file whole?",
      "line 5",
    ]);
  });

  it("reads values that stand one after another in a line, and reports only the part that is broken", () => {
    const [one, other] = ['{"name":"A","text":"}{"}', '[{"name":"B"}]'];

    for (const text of [one + other, `${one}, ${other},`, `${one}\n${other}{"name":\n"C"}`]) {
      expect(readText(text).notTaken).toEqual([]);
      expect([...readText(text).notes.values()].map(({ title }) => title)).toEqual(
        expect.arrayContaining(["A", "B"]) as string[],
      );
    }
    expect(leftOut(readText(`${one}_at"}`))).toEqual(['line 1: "_at\\"}": it is not JSON']);
    expect(leftOut(readText("Use {one} and {two}."))).toEqual(['line 1: "Use {one} and {two}.": it is not JSON']);
  });

  it("reads millions of characters of one text, or of brackets that are never closed, in one pass", () => {
    const text = `{"name":"A","text":"${"a\\n".repeat(1_000_000)}",}`;

    expect(readText(text).notes.size).toBe(1);
    expect(readText(`${"{\n".repeat(200_000)}${JSON.stringify({ name: "A" })}`).notes.size).toBe(1);
  });

  it("refuses a file with too many bytes", async () => {
    const file = await fileWith('{"name":"A"}');

    expect((await readGraphFile(file, { bytesMax: 12 })).notes.size).toBe(1);
    await expect(readGraphFile(file, { bytesMax: 11 })).rejects.toThrow(/has more than 11 bytes\. Split it/);
  });

  it.each([
    ["UTF-16", Buffer.from('\uFEFF{"name":"Größe"}', "utf16le")],
    ["UTF-8 with a mark", Buffer.from('\uFEFF{"name":"Größe"}')],
  ])("reads %s", async (_name, bytes) => {
    expect([...(await readGraphFile(await fileWith(bytes))).notes.keys()]).toEqual(["Größe"]);
  });

  it("reads characters that are split over two chunks", async () => {
    const text = `{"name":"A","text":"${"ö".repeat(1_048_576)}"}\n{"name":"B"}`;
    const graph = await readGraphFile(await fileWith(text));

    expect([...graph.notes.keys()]).toEqual(["A", "B"]);
    expect(graph.notes.get("A")?.content).toMatch(/^ö+$/);
  });
});
