import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { program } from "../../src/commands/import.js";
import { readFrontMatter } from "../../src/import/formats/front-matter.js";
import { readMarkdownNote } from "../../src/import/formats/markdown-note.js";
import { readNotesFolder } from "../../src/import/read-folder.js";
import { runHere } from "../support/commands.js";
import { leftOut, linksOf } from "../support/imports.js";
import { createWorld } from "../support/world.js";

/** A folder with these files. */
async function folderWith(files: Readonly<Record<string, string | Buffer>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "notes-test-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

/** Notes as Basic Memory writes them. */
const BASIC_MEMORY = {
  "coffee/Coffee Brewing.md": [
    "---",
    "title: Coffee Brewing",
    "type: guide",
    "permalink: coffee/coffee-brewing",
    "tags:",
    "- coffee",
    "- brewing",
    "---",
    "",
    "# Coffee Brewing",
    "",
    "## Observations",
    "- [method] Pour over is clearer than French press #clarity (tasted twice)",
    "- [ ] buy filters",
    "",
    "## Relations",
    "- requires [[Proper Grinding]] (always)",
    "- contrasts_with [[coffee/tea-brewing]]",
    "- [[Water]]",
    "",
  ].join("\n"),
  "coffee/Tea Brewing.md": "---\r\ntitle: Tea Brewing\r\npermalink: coffee/tea-brewing\r\n---\r\nSteep it.\r\n",
  "Proper Grinding.md": "Coarse, as [[coffee/Coffee Brewing|brewing]] needs it.\n",
};

it("reads a folder of Basic Memory: types, tags, the whole text, and relations with their types and contexts", async () => {
  const graph = await readNotesFolder(await folderWith(BASIC_MEMORY));

  expect([...graph.notes.values()].map(({ type, title, content, tags }) => [type, title, content, tags])).toEqual([
    ["note", "Proper Grinding", "Coarse, as [[coffee/Coffee Brewing|brewing]] needs it.", []],
    [
      "guide",
      "Coffee Brewing",
      expect.stringMatching(/^# Coffee Brewing\n[^]*- \[\[Water\]\]\n\npermalink: coffee\/coffee-brewing$/),
      ["coffee", "brewing", "clarity"],
    ],
    ["note", "Tea Brewing", "Steep it.\n\npermalink: coffee/tea-brewing", []],
  ]);
  expect(linksOf(graph)).toEqual([
    ["Proper Grinding", "LINKS_TO", "Coffee Brewing", undefined],
    ["Coffee Brewing", "REQUIRES", "Proper Grinding", "always"],
    ["Coffee Brewing", "CONTRASTS_WITH", "Tea Brewing", undefined],
  ]);
  expect(leftOut(graph)).toEqual([
    'relationship "Coffee Brewing" "relates to" "Water" (coffee/Coffee Brewing.md): the file has no memory called "Water": --create-missing creates one',
  ]);
});

/** A vault of Obsidian. */
const VAULT = {
  ".obsidian/app.json": "{}",
  "Daily/2025-03-01.md": [
    "---",
    "tags: [daily, 'work/plan']",
    'aliases: ["First of March", March]',
    "importance: 0.7",
    "status: open",
    'project: "[[Atlas]]"',
    "people:",
    '  - "[[Mai Tran|Mai]]"',
    "  - Bob",
    "nested:",
    "  inner: 1",
    "text: |",
    "  several lines",
    "---",
    "Met [[Mai Tran#Role]] about #atlas, see ![[diagram.png]] and ![[atlas]]. Nr. #12 is no tag.",
    "",
    "```sh",
    "echo [[not a link]] #nor-a-tag",
    "```",
    "`[[nor this]]`, and a heading of its own: [[#Later]]; again [[mai tran]], [[unwritten]] and [[Unwritten]].",
  ].join("\n"),
  "Projects/Atlas.md": "Began on [[First of March]].",
  "People/Mai Tran.md": "---\n---\n",
  "Archive/Atlas.md": "Another one, of [[Projects/Atlas]].",
  "diagram.png": Buffer.from([0x89, 0x50]),
  "old.md": Buffer.from([0xff, 0xfe, 0x41, 0x00]),
};

it("reads a vault of Obsidian: properties, links by path, alias and heading, tags; and says what it leaves out", async () => {
  const folder = await folderWith(VAULT);
  await symlink(dirname(folder), join(folder, "Outside"));

  const graph = await readNotesFolder(folder, { createMissing: true });

  const notes = new Map([...graph.notes.values()].map((note) => [note.title, note]));
  expect([...notes.keys()].sort()).toEqual(["2025-03-01", "Atlas", "Mai Tran", "unwritten"]);
  expect(notes.get("2025-03-01")).toMatchObject({ tags: ["daily", "work/plan", "atlas"], importance: 0.7 });
  expect(notes.get("2025-03-01")?.content).toMatch(
    /^Met [^]*\n\naliases: First of March, March\nstatus: open\npeople: Bob$/,
  );
  expect(notes.get("Mai Tran")?.content).toBe("Mai Tran");
  expect(linksOf(graph)).toEqual([
    ["Atlas", "LINKS_TO", "Atlas", undefined],
    ["2025-03-01", "PROJECT", "Atlas", undefined],
    ["2025-03-01", "PEOPLE", "Mai Tran", undefined],
    ["2025-03-01", "LINKS_TO", "Mai Tran", undefined],
    ["2025-03-01", "EMBEDS", "Atlas", undefined],
    ["2025-03-01", "LINKS_TO", "unwritten", undefined],
    ["Atlas", "LINKS_TO", "2025-03-01", undefined],
  ]);
  expect(leftOut(graph).map((line) => line.replace(/: of front matter.*/, ""))).toEqual([
    '"old.md": it is not text in UTF-8: save it as UTF-8 and try again',
    '"Daily/2025-03-01.md", line 11: "  inner: 1"',
    '"Daily/2025-03-01.md", line 12: "text: |"',
    '"Daily/2025-03-01.md", line 13: "  several lines"',
  ]);
  expect(graph.ignored.map(({ what, reason }) => `${what}: ${reason}`)).toEqual([
    '".obsidian": it is hidden',
    '"Outside": a symbolic link, which is not followed',
    "1 × .png: files that are no notes",
    '"Daily/2025-03-01.md": "diagram.png": a link to a file that is no note',
  ]);
  expect([graph.others.read, graph.relationships.merged]).toEqual([5, 2]);
});

it("keeps what it reads within bounds: files, bytes, and folders within folders", async () => {
  const folder = await folderWith({ "a.md": "1234", "b/c.md": "123", "b/d/e.md": "12" });
  const titlesWithin = async (bounds: object) => {
    const graph = await readNotesFolder(folder, { bounds });
    return [[...graph.notes.values()].map(({ title }) => title), leftOut(graph)];
  };

  expect(await titlesWithin({ files: 5, bytes: 9, fileBytes: 4, depth: 2 })).toEqual([["a", "c", "e"], []]);
  await expect(titlesWithin({ files: 4 })).rejects.toThrow("more than 4 files. Import its folders one by one.");
  await expect(titlesWithin({ bytes: 8 })).rejects.toThrow("more than 8 bytes. Import its folders one by one.");
  expect(await titlesWithin({ fileBytes: 3 })).toEqual([["c", "e"], ['"a.md": it has more than 3 bytes: divide it']]);
  expect(await titlesWithin({ depth: 1 })).toEqual([["a", "c"], ['"b/d": it is more than 1 folders deep']]);
  await expect(readNotesFolder(await folderWith({ "a.txt": "" }))).rejects.toThrow("There are no notes in");
});

it.each([
  ["a: b # said", { a: "b" }, []],
  ['"a": b', {}, ['"a": b']],
  ["a: 'it''s'\nb: \"x \\\"y\\\"\"", { a: "it's", b: 'x "y"' }, []],
  ['a: [one, "two, three", [[Four]]]', { a: ["one", "two, three", "[[Four]]"] }, []],
  ["a: [[Link]]\nb: http://example.com/#x", { a: "[[Link]]", b: "http://example.com/#x" }, []],
  ["a:\n- one\n# said\n- 'two'\nb:", { a: ["one", "two"], b: "" }, []],
  ["a: {b: 1}\na: 1\na: 2\n- c\n&x: *y", { a: "1" }, ["a: {b: 1}", "a: 2", "- c", "&x: *y"]],
  ['a: [one\nb: "open', {}, ["a: [one", 'b: "open']],
])("reads the front matter %j", (lines, fields, unread) => {
  const read = readFrontMatter(`---\n${lines}\n---\nBody`);

  expect({ ...read, fields: Object.fromEntries(read.fields), unread: read.unread.map(({ text }) => text) }).toEqual({
    ...{ fields, unread, body: "Body" },
  });
});

it("takes no longer than its length needs for a note, whatever it has", () => {
  const parts = ["[[", "[[a,", "- ", "`", "#", "- a ", '"', "---\n", 'a: ["', '- "', "- [[a]]  (", " "];
  const began = performance.now();
  for (const part of parts.map((one) => one.repeat(100_000))) {
    readMarkdownNote(`---\na: [${part}]\nb: ${part}\n---\n${part}`);
    readMarkdownNote(`- ${part}`.slice(0, 1_990).concat("\n").repeat(200));
  }

  expect(performance.now() - began).toBeLessThan(5_000);
});

it("imports a folder by the command, and adds nothing when it is run again", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const folder = await folderWith(BASIC_MEMORY);
  const run = (...options: string[]) =>
    runHere(program, [folder, "--url", url, "--json", ...options], { MEMORY_GRAPH_KEY: ann.key });

  const first = await run("--create-missing");
  const again = await run("--create-missing");

  expect(first.code).toBe(0);
  expect(JSON.parse(first.output)).toMatchObject({ memories: { created: 4 }, relationships: { created: 4 } });
  expect(JSON.parse(again.output)).toMatchObject({
    memories: { created: 0, existing: 4 },
    relationships: { created: 0, existing: 4 },
  });
});
