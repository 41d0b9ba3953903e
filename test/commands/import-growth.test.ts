import { expect, it } from "vitest";
import type { GraphStore, StoredMemory } from "../../src/import/graph-store.js";
import { journalTitles } from "../../src/import/formats/logseq.js";
import { readMarkdownNote } from "../../src/import/formats/markdown-note.js";
import { newReport, runImport } from "../../src/import/run-import.js";
import { withinEffort } from "../support/effort.js";
import { findGrowth } from "../support/growth.js";
import { entity, jsonLines, leftOut, readText, relation } from "../support/imports.js";

const frontMatter = (fields: string) => `---\n${fields}\n---\nText`;
const times = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index));
const EXCALIDRAW = "---\nexcalidraw-plugin: parsed\n---\n";
const fieldsNamed = (count: number) => Object.fromEntries(times(count, (index) => [`field${index}`, `value ${index}`]));

it.each<[string, number, (size: number) => string]>([
  ["spaces within tags", 5_000, (size) => `tags:: a${" ".repeat(size)}b`],
  ["spaces within a field", 4_900, (size) => frontMatter(`a: "b${" ".repeat(size)}c"`)],
  ["number signs in a list of TOML", 5_000, (size) => `+++\na = ["b"${" #".repeat(size)}"\n+++\nText`],
  ["combining marks", 4_000, (size) => `a${"\u0301\u0315".repeat(size)}`],
  ["drawings without end", 2_000, (size) => `${EXCALIDRAW}${"# Drawing\n```json\n".repeat(size)}`],
])("reads a note with many %s in linear time", async (_what, size, make) => {
  expect(await findGrowth(size, make, readMarkdownNote)).toBeUndefined();
});

it.each([
  ["- see ", " and more"],
  ["(see:: ", " and more)"],
])("reads links with spaces between them after %j, whatever follows", (before, after) => {
  for (const space of [" ", "  ", "          ", ",", " , "]) {
    const text = `${before}${times(30, (index) => `[[Note ${index}]]`).join(space)}${after}`;
    expect(withinEffort(500, () => readMarkdownNote(text)).links).toHaveLength(30);
  }
});

it("reads the settings of Logseq with many blank lines in linear time", async () => {
  expect(await findGrowth(5_000, (size) => `${"\n".repeat(size)}x`, journalTitles)).toBeUndefined();
});

it("reads a note with very many links in a line, or blank lines at its beginning", () => {
  expect(readMarkdownNote("[[A note]] ".repeat(200_000)).links).toHaveLength(200_000);
  expect(readMarkdownNote(`${" \n".repeat(2_000_000)}  Text`).body).toBe("  Text");
});

it.each([
  ["lists in a line", "- ".repeat(5_000)],
  ["lists in brackets", `a: ${"[".repeat(9_000)}`],
  ["lists in brackets, with brackets in texts", `a: ${'["]",'.repeat(3_000)}`],
  ["objects in brackets", `a: ${"{a: ".repeat(4_000)}`],
  ["keys of several lines", "? ".repeat(5_000)],
  [
    "lists in more and more columns",
    Array.from({ length: 16 }, (_, n) => " ".repeat(128 * n) + "- ".repeat(64)).join("\n"),
  ],
])("keeps front matter of very deep %s as text, and the note", (_what, fields) => {
  const note = readMarkdownNote(frontMatter(`${fields}\ntitle: A`));
  expect(note).toMatchObject({ title: "A", body: "Text" });
  expect(note.details.join("\n")).toBe(fields);
});

it("reads a relationship with many fields in linear time", async () => {
  const make = (size: number) =>
    jsonLines(entity("A", ""), entity("B", ""), { ...relation("A", "uses", "B"), ...fieldsNamed(size) });
  // 2,500 fit into the processor's caches: four times as many took 6 to 8 times as long.
  expect(await findGrowth(5_000, make, (text) => readText(text))).toBeUndefined();
});

it("merges repeated memories up to the limits of one memory, and reports the rest", () => {
  const context = (name: string) => ({ [name]: "x".repeat(9_000) });
  const graph = readText(
    jsonLines(
      { title: "A", content: "b", tags: times(40, (n) => `one ${n}`), context: context("first") },
      { title: "A", content: "b", tags: times(40, (n) => `two ${n}`), context: context("second") },
    ),
  );

  const [note] = graph.notes.values();
  expect(note?.tags).toEqual([...times(40, (n) => `one ${n}`), ...times(10, (n) => `two ${n}`)]);
  expect(Object.keys(note?.kept?.context ?? {})).toEqual(["first"]);
  expect(leftOut(graph)).toHaveLength(31);
  expect(leftOut(graph)[0]).toContain('"two 10": a memory has at most 50 tags');
  expect(leftOut(graph).at(-1)).toContain("the context would be too large");
});

it("says that a text with too many combining marks in a row cannot be stored", () => {
  const graph = readText(jsonLines({ title: "A", content: `b${"\u0301".repeat(40)}` }));
  expect(leftOut(graph)).toEqual([expect.stringContaining("too many combining marks in a row")]);
});

/** A store that has these memories, and pretends to store others. */
const storeOf = (stored: readonly StoredMemory[]): GraphStore => ({
  async *memories() {
    yield* stored;
  },
  async *relationships() {},
  relationshipsWithin: async () => undefined,
  memory: () => Promise.reject(new Error("Nothing is changed.")),
  createMemories: async (notes) => notes.map(({ key }) => key),
  createDated: async (notes) => notes.map(({ key }) => key),
  update: async () => {},
  createRelationships: async () => 0,
  createDatedRelationships: async () => 0,
});

const LONG = "A name ".padEnd(510, "x");

it.each<[string, number, (size: number) => object[]]>([
  ["types of one text", 1_000, (size) => times(size, (n) => ({ title: "a", content: "b", type: `type_${n}` }))],
  ["long names that begin alike", 700, (size) => times(size, (n) => entity(`${LONG}${n}`, "", `line ${n}`))],
  ["lines of one name", 1_500, (size) => [entity("A", "", ...times(size, (n) => `l ${n}`))]],
])("finds stored memories again for many %s in linear time", async (_what, size, make) => {
  const makeRun = (count: number) => {
    const graph = readText(jsonLines(...make(count)));
    const stored = [...graph.notes.values()].map((note, index) => ({ ...note, id: String(index), version: 1 }));
    return { graph, store: storeOf(stored) };
  };
  const work = async ({ graph, store }: ReturnType<typeof makeRun>) => {
    const report = newReport(graph);
    await runImport(graph, { store, report, onStep: () => {} });
    expect([report.memories.existing, report.memories.created]).toEqual([graph.notes.size, 0]);
  };
  expect(await findGrowth(size, makeRun, work)).toBeUndefined();
});
