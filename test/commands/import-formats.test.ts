import { expect, it } from "vitest";
import { entity, leftOut, linksOf, readText } from "../support/imports.js";

/** What answers of other services have beside a page of their memories, and whether another page follows it. */
const PAGES = [
  ["mem0", { count: 240, next: "https://api.example/v1/memories/?page=2", previous: null }, true],
  ["mem0", { count: 240, next: null, previous: "https://api.example/v1/memories/?page=2" }, false],
  ["mcp-memory-service", { total: 240, page: 1, page_size: 10, has_more: true }, true],
  ["mcp-memory-service", { total: 240, page: 24, page_size: 10, has_more: false }, false],
  ["OpenMemory", { total: 240, page: 3, size: 10, pages: 24 }, true],
  ["OpenMemory", { total: 240, page: 24, size: 10, pages: 24 }, false],
  ["Qdrant", { next_page_offset: "0198a3f2-6f4e-7c3b-9d2a-5b8e1c7f4a60" }, true],
  ["Qdrant", { next_page_offset: 20 }, true],
  ["Qdrant", { next_page_offset: null }, false],
  ["this service", { next_cursor: "bmV4dA" }, true],
  ["this service", { next_cursor: null }, false],
] as const;

it.each(PAGES)("says whether a file has only a page of what there is: %s, %o", (_tool, beside, isPart) => {
  for (const [list, wrap] of [
    ["results", (page: object) => page],
    ["points", (page: object) => ({ result: page })],
  ] as const) {
    const graph = readText(JSON.stringify(wrap({ [list]: [{ id: "1", content: "Plays tennis" }], ...beside })));

    expect(graph.notes.size).toBe(1);
    const page = expect.stringMatching(/^what follows this page of a longer list .*: get the other pages too/);
    expect(leftOut(graph)).toEqual(isPart ? [page] : []);
  }
});

it("reads JSON inside of texts: of files that were encoded twice, and of answers of MCP tools", () => {
  const entities = ["Ann", "Bob"].map((name) => ({ name, entityType: "person", observations: ["Here"] }));
  const file = JSON.stringify({ entities, relations: [{ from: "Ann", to: "Bob", relationType: "knows" }] });
  const parts = [{ type: "text", text: file }];
  const forms = [file, parts, { content: parts, isError: false }];

  for (const form of forms) {
    const graph = readText(JSON.stringify(form, undefined, 2));
    expect([...graph.notes.keys()]).toEqual(["Ann", "Bob"]);
    expect(linksOf(graph)).toEqual([["Ann", "KNOWS", "Bob", undefined]]);
  }
  expect(readText(JSON.stringify(forms[2])).notCarried.get("isError")).toBe(1);
});

it("keeps texts with brackets that are not JSON, or are nested too deeply", () => {
  const deep = `${'{"text":'.repeat(100)}"Tea"${"}".repeat(100)}`;
  const texts = ["[x] Done", "{{title}}", "[1, 2]", deep];

  const graph = readText(JSON.stringify(texts));

  expect([...graph.notes.values()].map(({ content }) => content)).toEqual(texts);
  expect(readText(JSON.stringify([{ type: "text", text: "Tea" }])).notes.size).toBe(1);
});

it("takes tags of very deep brackets for a text, which stays in the content", () => {
  const deep = "[".repeat(20_000) + "]".repeat(20_000);

  const [note] = readText(JSON.stringify({ ...entity("A", "person", "one"), tags: deep })).notes.values();

  expect(note?.content).toBe(`one\ntag: ${deep}`);
});

it("takes no name or id from the metadata of a text, because several texts may have the same", () => {
  const metadata = { topic: "food", name: "ops", id: "7", text: "more" };
  const texts = ["Likes tea", "Hates beets"];
  const listed = texts.map((memory) => ({ memory, hash: "x", user_id: "ann", metadata }));
  const noted = texts.map((content) => ({ type: "note", content, context: metadata }));

  for (const records of [listed, noted, texts.map((text) => ({ text, topic: "food" }))]) {
    const graph = readText(JSON.stringify(records));

    expect(Array.from(graph.notes.values(), ({ content }) => content.split("\n")[0])).toEqual(texts);
    expect(graph.memories.merged).toBe(0);
    expect(leftOut(graph)).toEqual([]);
  }
});

it.each([
  [{ deleted_at: "2025-08-20T09:15:30Z" }, true],
  [{ deleted_at: null }, false],
  [{ is_deleted: 1 }, true],
  [{ isDeleted: false }, false],
  [{ state: "deleted" }, true],
  [{ state: "archived" }, false],
  // What it tells of may have been deleted, and not the memory.
  [{ status: "deleted" }, false],
  [{ event: "DELETE" }, true],
  [{ event: "ADD" }, false],
  [{ event: "delete the old keys" }, false],
])("leaves out what its tool has deleted, and says so: %o, %s", (mark, isLeftOut) => {
  const graph = readText(JSON.stringify({ results: [{ id: "1", memory: "Lives in Bonn", ...mark }] }));

  expect(graph.notes.size).toBe(isLeftOut ? 0 : 1);
  expect(leftOut(graph)).toEqual(
    isLeftOut ? [expect.stringMatching(/^memory "Lives in Bonn".*: it is marked as deleted$/)] : [],
  );
});

it("says of a relationship that its memory was deleted, instead of creating it again", () => {
  const [kept, deleted] = [
    { id: "1", content: "Kept" },
    { id: "2", content: "Gone", deletedAt: 1755684930 },
  ];
  const graph = readText(JSON.stringify({ memories: [kept, deleted], relations: [{ from: "1", to: "2" }] }));

  expect(leftOut(graph)).toEqual([
    'memory "Gone" (memories[1]): it is marked as deleted',
    expect.stringContaining('the memory "2" was not imported'),
  ]);
});

it.each([
  ["2025-08-20 10:15:30.123456+00", "2025-08-20T10:15:30.123Z"],
  ["2025-08-20 10:15:30-0730", "2025-08-20T17:45:30Z"],
  ["Wed, 20 Aug 2025 10:15:30 GMT", "2025-08-20T10:15:30Z"],
  ["1755684930.5", "2025-08-20T10:15:30.500Z"],
  [1_755_684_930_500, "2025-08-20T10:15:30.500Z"],
])("takes the time %j", (written, time) => {
  const graph = readText(JSON.stringify([{ content: "x", tags: "[]", created_at: written }]));

  expect([...graph.notes.values()]).toMatchObject([{ content: "x", kept: { createdAt: new Date(time) } }]);
});

it("takes times in their other fields, where the first one is empty or missing", () => {
  const iso = { created_at: null, created_at_iso: "2023-01-12T17:50:45Z", updated_at_iso: "2023-01-13T17:50:45Z" };
  const records = [
    { content: "One", content_hash: "x", ...iso },
    { content: "Two", timestamp: "2025-11-26T12:54:11.786349" },
    { type: "task", content: "Three", ts: "2025-01-08T00:00:00Z" },
    { name: "Grows", observations: ["Four"], timestamp: "2025-01-08T00:00:00Z" },
  ];
  const graph = readText(JSON.stringify(records));

  const notes = new Map([...graph.notes.values()].map((note) => [note.content.split("\n")[0], note]));
  expect(notes.get("One")?.kept).toMatchObject({
    createdAt: new Date("2023-01-12T17:50:45Z"),
    updatedAt: new Date("2023-01-13T17:50:45Z"),
  });
  expect(notes.get("Two")).toMatchObject({ content: "Two", kept: { createdAt: new Date("2025-11-26T12:54:11.786Z") } });
  expect(notes.get("Three")?.kept?.createdAt).toEqual(new Date("2025-01-08T00:00:00Z"));
  expect(notes.get("Four")?.content).toBe("Four\ntimestamp: 2025-01-08T00:00:00Z");
});

it("keeps what is no time, or none in a known form, with the text", () => {
  const when = { created_at: "spring 2024", updated_at: "1/2/2024" };
  const records = [
    { title: "One", content: "Text", ...when },
    { title: "Two", content: "Text", created_at: "", updated_at: null },
    { from: "One", to: "Two", ...when },
  ];
  const graph = readText(JSON.stringify(records));

  expect(Array.from(graph.notes.values(), ({ content }) => content)).toEqual([
    "Text\n\ncreated_at: spring 2024\nupdated_at: 1/2/2024",
    "Text",
  ]);
  expect(linksOf(graph)).toEqual([["One", "RELATED_TO", "Two", "created_at: spring 2024; updated_at: 1/2/2024"]]);
  expect(graph.notCarried.size).toBe(0);
});

it("makes titles that people can read: without the mark of a heading, and of a text instead of an id", () => {
  const [node, other] = ["e918870d-87be-4ee2-a23a-f5a9630af7d4", "cea58a56-4996-4be3-b7e7-828d159ff836"];
  const properties = { issue: "Password prompts on launch", cause: "A script", severity: 2 };
  const graph = readText(
    [
      { content: "# Release checklist\n\n- tag" },
      { id: node, labels: ["Issue"], properties },
      { id: other, severity: 3 },
      { from: node, to: other, rel: "blocks" },
    ]
      .map((record) => JSON.stringify(record))
      .join("\n"),
  );

  expect(Array.from(graph.notes.values(), ({ title, content }) => [title, content])).toEqual([
    [other, "severity: 3"],
    ["Release checklist", "# Release checklist\n\n- tag"],
    ["Password prompts on launch", "issue: Password prompts on launch\ncause: A script\nseverity: 2"],
  ]);
  expect(linksOf(graph)).toEqual([["Password prompts on launch", "BLOCKS", other, undefined]]);
});

it("reads a summary as the text where there is no other, also beside a list of words", () => {
  const summary = "Ann plans the weekend";
  const graph = readText(
    [
      { agent_name: "moss", entities: ["zoo", "water"], key_points: ["Zoo at 9"], summary, timestamp: "2026-06-17" },
      { agent_name: "moss", entities: [], key_points: ["Sunny"], summary: "Asked for the weather" },
      { name: "Ann", summary: "Keeps it" },
    ]
      .map((record) => JSON.stringify(record))
      .join("\n"),
  );

  expect(Array.from(graph.notes.values(), ({ title, content, summary: own }) => [title, content, own])).toEqual([
    ["Ann", "Ann", "Keeps it"],
    [summary, `${summary}\n\nagent_name: moss\nentities: zoo, water\nkey_points: Zoo at 9`, undefined],
    ["Asked for the weather", "Asked for the weather\n\nagent_name: moss\nkey_points: Sunny", undefined],
  ]);
  expect([leftOut(graph), [...graph.notCarried]]).toEqual([[], []]);
});

it("says what to do with the pages of Roam", () => {
  const graph = readText(
    JSON.stringify([{ title: "March 26th, 2020", children: [{ string: "met [[Ann]]" }] }, { title: "Ann" }]),
  );

  expect(leftOut(graph)).toEqual([expect.stringContaining("export all pages as Markdown instead")]);
});

it("reads lists of memories by names of a file's own, as claude-flow keeps them by namespace", () => {
  const at = Date.UTC(2025, 6, 28);
  const flow = (namespace: string, key: string, value: string) => ({ key, value, namespace, timestamp: at });
  const store = {
    default: [flow("default", "goal", "Move the app"), flow("default", "swarm/config", '{"maxAgents": 5}')],
    arch: [flow("arch", "goal", "Keep the layout")],
    empty: [],
    version: 1,
  };
  const graph = readText(JSON.stringify(store, undefined, 2));

  expect(Array.from(graph.notes.values(), ({ title, content }) => [title, content])).toEqual([
    ["goal", "Move the app\n\nnamespace: default"],
    ["swarm/config", '{"maxAgents": 5}\n\nnamespace: default'],
    ["goal", "Keep the layout\n\nnamespace: arch"],
  ]);
  expect([...graph.notes.values()].map(({ kept }) => kept?.createdAt?.getTime())).toEqual([at, at, at]);
  expect([...graph.notCarried]).toEqual([["version", 1]]);
  expect(leftOut(graph)).toEqual([]);
});

it("reads memories by name, each with its value and time, and none of a file of settings", () => {
  const updated_at = "2026-07-22T07:19:27.384Z";
  const facts = {
    city: { value: "Berlin", confidence: 0.9, updated_at, history: [] },
    name: { value: "Ann", updated_at },
  };
  const [city, name, ...others] = readText(JSON.stringify(facts)).notes.values();

  expect(city).toMatchObject({ title: "city", content: "Berlin", kept: { confidence: 0.9 } });
  expect(name).toMatchObject({ title: "name", content: "Ann", kept: { updatedAt: new Date(updated_at) } });
  expect(others).toEqual([]);
  // LightRAG names documents by their ids, which say nothing.
  const documents = {
    "doc-f8bb": {
      content: "Guide\nOf interviews",
      file_path: "a.txt",
      create_time: 1779894766,
      update_time: 1779894766,
      _id: "doc-f8bb",
    },
  };
  const [document] = readText(JSON.stringify(documents)).notes.values();
  expect(document).toMatchObject({ title: "Guide", content: "Guide\nOf interviews\n\nfile_path: a.txt" });
  const settings = { lang: "en", roots: [{ id: "main", path: "." }], search: { log: false, n: 5 } };
  expect(leftOut(readText(JSON.stringify(settings)))).toEqual([
    expect.stringMatching(/no name, no title and no text$/),
  ]);
});

it.each([
  [{ Ann: { id: "e1", entityType: "person", description: "Dev", observations: ["Tea"] } }, "Ann", "Tea"],
  [{ city: { id: 7, value: "Berlin" } }, "city", "Berlin"],
  [{ summary: "Use SQL", details: { value: "For its joins" } }, "For its joins", "For its joins"],
  [{ summary: "Set up CI", facts: [{ content: "Runs Vitest" }] }, "Runs Vitest", "Runs Vitest"],
  [{ note: { text: "Likes tea" } }, "Likes tea", "Likes tea"],
  [{ "019cb0c9-6e3a-7c53-ad64-7e8f9a0b1c2d": { content: "Likes tea" } }, "Likes tea", "Likes tea"],
  [{ memories: [{ role: "user", content: "Likes tea" }] }, "Likes tea", "Likes tea"],
  [[{ type: "agent", id: 1, data: { content: "Likes tea" } }], "Likes tea", "Likes tea"],
])("keeps what one memory is called and its summary: %j", (value, title, content) => {
  const graph = readText(JSON.stringify(value));
  const [note, ...others] = graph.notes.values();

  expect(note).toMatchObject({ title, content: expect.stringContaining(content) });
  expect(others).toEqual([]);
  expect(note?.summary).toBe("summary" in value ? value.summary : undefined);
  expect(graph.notCarried.has("summary")).toBe(false);
});

it("reads facts that are a list of objects as a memory each, and names the lists that it leaves out", () => {
  const facts = ["A", "B"].map((content) => ({ id: `fact_${content}`, content, timestamp: "2025-07-23T14:19:17Z" }));
  const graph = readText(
    JSON.stringify({ facts, patterns: { routing: [{ pattern: "C" }] }, preferences: [{ rule: "D" }] }),
  );

  expect([...graph.notes.values()].map(({ content }) => content)).toEqual(["A", "B"]);
  expect(leftOut(graph)).toEqual([expect.stringMatching(/"patterns"/), expect.stringMatching(/"preferences"/)]);
});

it("leaves out the notes that Simplenote has in its trash", () => {
  const [kept, old] = ["Kept", "Old"].map((content) => ({
    id: content,
    content,
    creationDate: "2018-03-09T04:15:53Z",
  }));
  const graph = readText(JSON.stringify({ activeNotes: [kept], trashedNotes: [old] }));

  expect([...graph.notes.values()].map(({ content }) => content)).toEqual(["Kept"]);
  expect(leftOut(graph)).toEqual([expect.stringMatching(/"trashedNotes".*deleted$/)]);
});

it("takes the lists beside relationships for what these connect", () => {
  const relationships = [{ source: "ann", target: "visit", type: "ATTENDED" }];
  const ends = { persons: [{ id: "ann", name: "Ann" }], events: [{ id: "visit", description: "A visit" }] };
  const graph = readText(JSON.stringify({ ...ends, relationships }));

  expect(linksOf(graph)).toEqual([["Ann", "ATTENDED", "A visit", undefined]]);
  const listed = readText(JSON.stringify({ entities: [entity("Ann", "person", "Here")], ...ends, relationships: [] }));
  expect([...listed.notes.keys()]).toEqual(["Ann"]);
});

it("reads the lists named entries", () => {
  const entries = ["A", "B"].map((title) => ({ title, preview: `Of ${title}` }));
  expect([...readText(JSON.stringify({ total: 2, entries })).notes.values()].map(({ title }) => title)).toEqual([
    "A",
    "B",
  ]);
});

it("reads notes of Google Keep with their lists, labels and times, also one after the other", () => {
  const times = { createdTimestampUsec: 1704060000000000, userEditedTimestampUsec: 1704067200000000 };
  const flags = { color: "DEFAULT", isTrashed: false, isPinned: false, isArchived: false, ...times };
  const notes = [
    {
      ...flags,
      title: "Food",
      textContent: "Bread\nand tea",
      textContentHtml: "<p>Bread</p>",
      labels: [{ name: "Home" }],
    },
    {
      ...flags,
      title: "",
      listContent: [
        { text: "Milk", isChecked: false },
        { text: "Eggs", isChecked: true },
      ],
    },
    { ...flags, title: "Old", textContent: "Gone", isTrashed: true },
  ];
  const graph = readText(notes.map((note) => JSON.stringify(note)).join(""));

  expect([...graph.notes.values()].map(({ title, content, tags, kept }) => ({ title, content, tags, kept }))).toEqual([
    expect.objectContaining({ title: "Food", content: "Bread\nand tea", tags: ["Home"] }),
    expect.objectContaining({ title: "Milk", content: "- [ ] Milk\n- [x] Eggs", tags: [] }),
  ]);
  const kept = { createdAt: new Date(1704060000000), updatedAt: new Date(1704067200000) };
  expect([...graph.notes.values()].map((note) => note.kept)).toEqual([
    expect.objectContaining(kept),
    expect.objectContaining(kept),
  ]);
  expect(leftOut(graph)).toEqual([expect.stringMatching(/"Old".*: it is marked as deleted$/)]);
  expect(graph.notCarried.get("color")).toBe(2);
});

it("reads relationships between a first and a second entity, by numbers", () => {
  const entities = ["Ann", "Bob"].map((name, at) => ({ id: at + 8, entity_type: "person", name, value: "friend" }));
  const relationships = [{ id: 1, entity1_id: 8, entity2_id: 9, relationship_type: "family", description: "spouse" }];
  const graph = readText(JSON.stringify({ version: "1.0", entities, relationships }));

  expect(linksOf(graph)).toEqual([["Ann", "FAMILY", "Bob", expect.stringMatching(/spouse/)]]);
  expect(leftOut(graph)).toEqual([]);
});

it("reads metadata that is JSON in a text, as plugins of OpenClaw export it, and no text of it twice", () => {
  const text = "## Reminder\n\nWrite down what was learned.";
  const about = { l1_overview: text, l2_content: "All of it", tier: "working", confidence: 0.7, state: "confirmed" };
  const memory = {
    id: "f2d4",
    text,
    category: "preference",
    timestamp: 1775555632762,
    metadata: JSON.stringify(about),
  };
  const others = [
    { text: "Tea", metadata: "{broken" },
    { text: "Ann", metadata: { author: "Ann" } },
  ];
  const graph = readText(JSON.stringify({ version: "1.0", memories: [memory, ...others] }));

  expect([...graph.notes.values()]).toMatchObject([
    {
      title: "Reminder",
      content: `${text}\n\nl2_content: All of it\ntier: working\nstate: confirmed`,
      kept: { confidence: 0.7 },
    },
    { content: "Tea\n\nmetadata: {broken" },
    { content: "Ann\n\nauthor: Ann" },
  ]);
});
