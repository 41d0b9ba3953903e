import { once } from "node:events";
import { chmod, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { program } from "../../src/commands/import.js";
import { readFrontMatter } from "../../src/import/formats/front-matter.js";
import { readMarkdownNote } from "../../src/import/formats/markdown-note.js";
import { readNotesFolder } from "../../src/import/read-folder.js";
import { runHere } from "../support/commands.js";
import { withinEffort } from "../support/effort.js";
import { folderWith, leftOut, linksOf } from "../support/imports.js";
import { createWorld } from "../support/world.js";

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

/** An Obsidian vault. */
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
  LICENSE: "Free.",
  "wide.md": Buffer.from("\uFEFFWide", "utf16le"),
  "old.md": Buffer.from([0x63, 0x61, 0x66, 0xe9]),
  "unmarked.md": Buffer.from("Wide", "utf16le"),
};

it("reads an Obsidian vault: properties, tags, links by path, alias and heading; reports the rest", async () => {
  const folder = await folderWith(VAULT);
  await symlink(dirname(folder), join(folder, "Outside"));

  const graph = await readNotesFolder(folder, { createMissing: true });

  const notes = new Map([...graph.notes.values()].map((note) => [note.title, note]));
  expect([...notes.keys()].sort()).toEqual(["2025-03-01", "Atlas", "Mai Tran", "unwritten", "wide"]);
  expect(notes.get("2025-03-01")).toMatchObject({ tags: ["daily", "work/plan", "atlas"], importance: 0.7 });
  expect(notes.get("2025-03-01")?.content).toMatch(
    /^Met [^]*\n\naliases: First of March, March\nstatus: open\npeople: Bob\nnested: inner: 1\ntext: several lines$/,
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
  expect(leftOut(graph)).toEqual([
    '"old.md": it is not text in UTF-8: save it as UTF-8 and try again',
    '"unmarked.md": it is not text in UTF-8: save it as UTF-8 and try again',
  ]);
  expect(graph.ignored.map(({ what, reason }) => `${what}: ${reason}`)).toEqual([
    '".obsidian": it is hidden: import its notes by a run of its own',
    '"Outside": a symbolic link, which is not followed',
    "1 × without an ending: files that are no notes",
    "1 × .png: files that are no notes",
    '"Daily/2025-03-01.md": "diagram.png": a link to a file that is no note',
  ]);
  expect([graph.others.read, graph.relationships.merged]).toEqual([7, 2]);
});

/** The titles of the notes that a link written in the note `from` leads to. */
async function findLinkedTitles(files: Readonly<Record<string, string>>, from: string, link: string) {
  const graph = await readNotesFolder(await folderWith({ ...files, [from]: link }));
  return { links: linksOf(graph).map(([, type, to]) => `${type} ${to}`), left: leftOut(graph).length };
}

const NOTES = {
  "Index.md": "---\ntitle: Top\n---",
  "A/Index.md": "---\ntitle: In A\n---",
  "Sharp.md": "---\ntitle: 'C#'\n---",
  "Sharper.md": "---\ntitle: 'C# in depth'\n---",
  "A/Ideas & more (2).md": "---\ntitle: Ideas\n---",
  "B/Index.md": "---\ntitle: In B\npermalink: main/b\n---",
  "B/Deep.md": "---\ntitle: Deep in B\n---",
  "C/Deep.md": "---\ntitle: Deep in C\n---",
  "202401011200 First idea.md": "---\ntitle: First\n---",
  "Use_it_f47ac10b.md": "---\ntitle: Used\nid: f47ac10b-58cc-4372-a567-0e02b2c3d479\n---",
};

it.each([
  ["in Python", "Wait: longer", "→"],
  ["in Python, with a title that is no YAML", "[Draft] `npm ci` for #12 # 3", "→"],
  ["in Python, with a title that YAML reads otherwise", "Fix #12", "→"],
  ["in TypeScript", "Wait: longer", "->"],
])("reads the parts of a note that MemoryGraph exported %s", (_where, title, arrow) => {
  const quote = (text: string) => (arrow === "->" ? JSON.stringify(text) : text);
  const front = [
    "---",
    `title: ${quote(title)}`,
    `id: ${quote("f47ac10b-58cc-4372-a567-0e02b2c3d479")}`,
    "type: solution",
    "importance: 0.9",
    "confidence: 0.8",
    "tags: [net, two words]",
    "created_at: 2025-11-30T10:00:00+00:00",
    "updated_at: 2025-12-01T10:00:00+00:00",
    "project: /src/app",
    "languages: [go, rust]",
    "---",
    "",
  ];
  const content = "One.\n\n## Content\n\n## Relationships\n\nTwo.";
  const list = `## Relationships\n\n- **SOLVES** ${arrow} [[Draft] Slow](0e02b2c3-58cc-4372-a567-f47ac10bd479)\n`;
  const read = (...parts: string[]) => readMarkdownNote([...front, ...parts].join("\n"));

  const known = { title, type: "solution", importance: 0.9, tags: ["net", "two words"], details: [] };
  const kept = { confidence: 0.8, context: { project_path: "/src/app", languages: ["go", "rust"] } };
  const solves = { to: "0e02b2c3-58cc-4372-a567-f47ac10bd479", type: "SOLVES" };
  expect([
    read("## Summary\n", "In short.", "", "## Content\n", content, "", list),
    read("## Content\n", content, ""),
    read(`## Summary\n\n${"s".repeat(1_001)}`, "", "## Content\n", content, ""),
    read("Other text.", "", "## Content\n", content, ""),
  ]).toMatchObject([
    { ...known, kept, summary: "In short.", body: content, links: [solves] },
    { ...known, kept, summary: undefined, body: content, links: [] },
    { summary: undefined, body: `## Summary\n\n${"s".repeat(1_001)}\n\n## Content\n\n${content}` },
    { summary: undefined, body: `Other text.\n\n## Content\n\n${content}` },
  ]);
});

it.each([
  ["A/Note.md", "[[Index]]", ["LINKS_TO Top"]],
  ["A/Note.md", "[[./Index]]", ["LINKS_TO In A"]],
  ["A/Note.md", "[[../B/Index#Head|shown]] ", ["LINKS_TO In B"]],
  ["C/Note.md", "![[Deep]]", ["EMBEDS Deep in C"]],
  ["D/Note.md", "[[Deep]]", ["LINKS_TO Deep in B"]],
  ["A/Note.md", "[[memory://main/b]] and [[202401011200]]", ["LINKS_TO In B", "LINKS_TO First"]],
  ["A/Note.md", "[i](Index.md), [s](Sharp.md) and [b](/Index.md)", ["LINKS_TO In A", "LINKS_TO C#", "LINKS_TO Top"]],
  ["A/Note.md", "[b](../B/Index.md#Head), [i](Ideas%20%26%20more%20%282%29.md)", ["LINKS_TO In B", "LINKS_TO Ideas"]],
  ["A/Note.md", '[a](<Ideas & more (2).md> "said") ![b](/B/Index.md)', ["LINKS_TO Ideas", "EMBEDS In B"]],
  ["Note.md", "- **SOLVES** → [Used](f47ac10b-58cc-4372-a567-0e02b2c3d479)", ["SOLVES Used"]],
  ["Note.md", "- **SOLVES** -> [Used](f47ac10b-58cc-4372-a567-0e02b2c3d479)", ["SOLVES Used"]],
  ["Note.md", "- **SOLVES** → [[Draft] a list[int]](f47ac10b-58cc-4372-a567-0e02b2c3d479)", ["SOLVES Used"]],
  ["Note.md", "[see [u](Use_it_f47ac10b.md), too](B/Index.md), [[Top]](a comment)", ["LINKS_TO Used", "LINKS_TO Top"]],
  ["Note.md", "[[Top]](B/Index.md says more)", ["LINKS_TO Top"]],
  ["Note.md", "**See also**: [u](Use_it_f47ac10b.md), [b](B/Index.md).", ["SEE_ALSO Used", "SEE_ALSO In B"]],
  ["Note.md", "Note: read [u](Use_it_f47ac10b.md) or [[Top]]", ["LINKS_TO Used", "LINKS_TO Top"]],
  ["Note.md", "Supersedes [1. Use it](Use_it_f47ac10b.md)", ["REPLACES Used"]],
  ["Note.md", "Supercedes [1. Use it](Use_it_f47ac10b.md)", ["REPLACES Used"]],
  ["Note.md", "* Supersedes: [1](Use_it_f47ac10b.md), [2](B/Index.md)", ["REPLACES Used", "REPLACES In B"]],
  ["Note.md", "* **Status:** superseded by [1](Use_it_f47ac10b.md)", ["DEPRECATED_BY Used"]],
  ["Note.md", "Now superseded by **[[Top]]**, which replaces [[Used]].", ["DEPRECATED_BY Top", "LINKS_TO Used"]],
  ["Note.md", "- 'is part of' [[Top]] (partly)", ["IS_PART_OF Top"]],
  ["Note.md", "[[Top|the list[top]]], [[Top|[1]]] and {{embed [[Used]]}}", ["LINKS_TO Top", "EMBEDS Used"]],
  ["Note.md", "[[Note#Head]], [h](Note.md#head) and ![[note#^block]]", []],
  ["Note.md", '---\ncreated: "[[2024-01-01]]"\n---', []],
  ["Note.md", '---\ncreated: "[[Deep]]"\nsee: "[[Top]], [[Used]]"\n---', ["CREATED Deep in B", "SEE Top", "SEE Used"]],
  [
    "Note.md",
    "[[C#]] and [[C# in depth#Types|types]], not [[Top#C]]",
    ["LINKS_TO C#", "LINKS_TO C# in depth", "LINKS_TO Top"],
  ],
  [
    "Note.md",
    "[w](https://example.com/Index.md) [m](mailto:a@b.c) ![p](p.png) [h](#Head) [j](:/0123) [x](%E0%A4%A)",
    [],
  ],
])("follows from %s the link %s", async (from, link, links) => {
  expect(await findLinkedTitles(NOTES, from, link)).toEqual({ links, left: 0 });
});

it.each([
  ["a longer fence around a shorter one", "````md\n```js\n[[x]] #x\n```\n[[x]]\n````"],
  ["a fence of another kind", "```\n~~~\n[[x]]\n```"],
  ["a word after what looks like the end", "```\n``` js\n[[x]]\n```"],
  ["a fence in a list", "- one\n\n    ```\n    [[x]] #x\n    ```\n"],
  ["a fence in an item", "- ```js\n  [[x]] #x\n  ```\n1. ~~~\n   [[x]]\n   ~~~"],
  ["a fence in a quote", "> ```\n> [[x]] #x\n> ```"],
  ["a line between fences", "```a``` is no fence"],
  ["more than one backtick", "``[[x]]`` and `` ` [[x]] ``, ```` ``[[x]]`` ````"],
  ["a backtick alone", "one ` and ``` here"],
])("reads links and tags behind code, and none in it: %s", (_what, code) => {
  const { links, tags } = readMarkdownNote(`${code}\nSee [[Top]] #top`);

  expect(links.map(({ to }) => to)).toEqual(["Top"]);
  expect(tags).toEqual(["top"]);
});

it("reads names in any script, however their accents are encoded", async () => {
  const accented =
    "- lie\u0301 a\u0300 [[Cafe\u0301]] (de\u0301ja\u0300)\n#the\u0301 #हिन्दी #می\u200cخواهم #தமிழ்/கவிதை";
  const { links, tags } = readMarkdownNote(`---\nCafe\u0301: "[[Bar]]"\n---\n${accented}`);

  expect(links).toEqual([
    { to: "Bar", isPath: false, type: "Caf\u00e9", context: [] },
    { to: "Caf\u00e9", isPath: false, type: "li\u00e9 \u00e0", context: ["d\u00e9j\u00e0"] },
  ]);
  expect(tags).toEqual(["th\u00e9", "हिन्दी", "می\u200cخواهم", "தமிழ்/கவிதை"]);
  expect(readMarkdownNote("- संबंधित है [[Top]]").links).toMatchObject([{ to: "Top", type: "संबंधित है" }]);
});

it("says which notes are missing that Markdown links name", async () => {
  const note = "[gone](Gone/Away%20now.md) `[code](Gone.md)` [[away now]]";

  expect(await findLinkedTitles(NOTES, "Note.md", note)).toEqual({ links: [], left: 2 });
  const made = await readNotesFolder(await folderWith({ "Note.md": note }), { createMissing: true });
  expect(linksOf(made)).toEqual([["Note", "LINKS_TO", "Away now", undefined]]);
});

it("leads a path to no other note that has the same name", async () => {
  const files = { "Index.md": "# Index", "A/Note.md": "[gone](../B/Index.md)" };
  const [graph, made] = await Promise.all(
    [false, true].map(async (createMissing) => readNotesFolder(await folderWith(files), { createMissing })),
  );

  expect(graph && leftOut(graph)).toEqual([expect.stringContaining('"B/Index": --create-missing')]);
  expect(made && linksOf(made)).toEqual([["Note", "LINKS_TO", "B/Index", undefined]]);
});

it("reads a Logseq graph: names with slashes, properties, tags of words; leaves out earlier versions", async () => {
  const graph = await readNotesFolder(
    await folderWith({
      "logseq/config.edn": "{}",
      "logseq/bak/pages/Project/2024.md": "- as it was",
      "pages/Project.md":
        "title:: My Project\ntags:: alpha, [[beta]], #gamma\nalias:: Proj\n\n- see [[Team/Ann]] for #[[two words]]\nlate:: no property",
      "pages/Team___Ann.md":
        '- knows [[Proj]], wrote [[Old/Page]], asked [[What: C# "1:1"?]], [[100% of é]], [[50%]], [[.NET]] and [[Acme Inc.]]',
      "pages/Old%2FPage.md": "- old",
      "pages/What%3A C%23 %221%3A1%22%3F.md": "- in names of files",
      "pages/100%25 of %C3%A9.md": "- all",
      "pages/50%.md": "- half",
      "pages/%2ENET.md": "- not hidden",
      "pages/Acme Inc.___.md": "- a dot at the end",
    }),
  );

  const notes = new Map([...graph.notes.values()].map((note) => [note.title, note]));
  const escaped = ['What: C# "1:1"?', "100% of é", "50%", ".NET", "Acme Inc."];
  expect([...notes.keys()].sort()).toEqual([...escaped, "My Project", "Old/Page", "Team/Ann"].sort());
  expect(notes.get("My Project")?.tags).toEqual(["alpha", "beta", "gamma", "two words"]);
  expect(linksOf(graph).map((link) => link.slice(0, 3))).toEqual([
    ["My Project", "LINKS_TO", "Team/Ann"],
    ["Team/Ann", "LINKS_TO", "My Project"],
    ["Team/Ann", "LINKS_TO", "Old/Page"],
    ...escaped.map((title) => ["Team/Ann", "LINKS_TO", title]),
  ]);
  expect(leftOut(graph)).toEqual([expect.stringContaining('"beta"')]);
});

it("leads the tags of Logseq to the pages that they name, and those of other vaults to none", async () => {
  const pages = {
    "pages/Garden.md": "tags:: plants, green\n\n- #[[Rose bush]] #PLANTS #new",
    "pages/Plants.md": "- all",
    "pages/Rose bush.md": "- red",
  };
  const [logseq, other] = [{ "logseq/config.edn": "{}", ...pages }, pages].map(async (files) =>
    linksOf(await readNotesFolder(await folderWith(files))).map((link) => link.slice(0, 3)),
  );

  expect(await logseq).toEqual([
    ["Garden", "LINKS_TO", "Plants"],
    ["Garden", "LINKS_TO", "Rose bush"],
  ]);
  expect(await other).toEqual([]);
});

it.each([
  ["{}", "Feb 20th, 2021", "Mar 1st, 2021"],
  [
    ';; :journal/page-title-format "yyyy"\n:journal/page-title-format "EEEE, dd.MM.yyyy"',
    "Saturday, 20.02.2021",
    "Monday, 01.03.2021",
  ],
  [':journal/page-title-format "E, d MMMM yyyy"', "Sat, 20 February 2021", "Mon, 1 March 2021"],
])("reads the journals and blocks of Logseq, with %j in its settings", async (config, first, second) => {
  const [block, absent] = ["6409b245-cab3-4cfa-b9e5-96c9c1b8e769", "6409b245-cab3-4cfa-b9e5-96c9c1b8e760"];
  const graph = await readNotesFolder(
    await folderWith({
      "logseq/config.edn": config,
      "journals/2021_02_20.md": `- idea\n  id:: ${block}\n- again ((${block}))`,
      "journals/2021_03_01.md": `- after [[${first.toLowerCase()}]]`,
      "journals/Notes.md": "- no day",
      "pages/Plan.md": `- {{embed ((${block}))}}, [then](((${block}))), ((${absent})), \`((${block}))\`\n- see [[${second}]]`,
    }),
  );

  expect([...graph.notes.values()].map(({ title }) => title)).toEqual([first, second, "Notes", "Plan"]);
  expect(linksOf(graph).map((link) => link.slice(0, 3))).toEqual([
    [second, "AFTER", first],
    ["Plan", "EMBEDS", first],
    ["Plan", "LINKS_TO", first],
    ["Plan", "SEE", second],
  ]);
  expect(leftOut(graph)).toEqual([]);
});

it("reads a vault of Dendron: links with the shown text first, and to other vaults", async () => {
  const note = (title: string, body = "Text") => `---\nid: ${title}1\ntitle: ${title}\ndesc: ''\n---\n\n${body}`;
  const graph = await readNotesFolder(
    await folderWith({
      "dendron.yml": "version: 5",
      "vault/root.md": note("Root"),
      "vault/lang.ruby.md": note(
        "Ruby",
        "[[A hash|lang.ruby.hash#top]], ![[dendron://vault/root#intro,1:#*]], [[Gone|dendron://vault/lang.gone]]",
      ),
      "vault/lang.ruby.hash.md": note("Hash", "[[lang.ruby]]"),
    }),
  );

  expect(linksOf(graph).map((link) => link.slice(0, 3))).toEqual([
    ["Hash", "LINKS_TO", "Ruby"],
    ["Ruby", "LINKS_TO", "Hash"],
    ["Ruby", "EMBEDS", "Root"],
  ]);
  expect(leftOut(graph)).toEqual([expect.stringContaining('"lang.gone"')]);
});

it("names notes of a usual name after their folder, or as they say", async () => {
  const graph = await readNotesFolder(
    await folderWith({
      "README.md": "# Read",
      "docs/README.md": "# Docs",
      "docs/api/index.md": "[docs](../README.md), [[skills/pdf/SKILL]]",
      "skills/pdf/SKILL.md": "---\nname: pdf-reader\ndescription: Reads PDF\n---\nRead it.",
      "skills/xls/SKILL.md": "Read it.",
      "web/AGENTS.md": "---\ntitle: Web rules\n---\nUse types.",
      "people/Ann.md": "---\nname: Ann Lee\n---\nKnows it.",
    }),
  );

  expect([...graph.notes.values()].map(({ title }) => title)).toEqual([
    "README",
    "docs/README",
    "Ann",
    "Web rules",
    "api/index",
    "pdf-reader",
    "xls/SKILL",
  ]);
  expect(linksOf(graph).map((link) => link.slice(0, 3))).toEqual([
    ["api/index", "LINKS_TO", "docs/README"],
    ["api/index", "LINKS_TO", "pdf-reader"],
  ]);
});

it("reads the memories of Claude Code: their types, times and links by name", async () => {
  const graph = await readNotesFolder(
    await folderWith({
      "MEMORY.md": "- [Freeze](project_freeze.md) — no merges",
      "project_freeze.md":
        "---\nname: merge-freeze\ndescription: No merges\nmetadata: \n  node_type: memory\n  type: project\n" +
        "  originSessionId: 7\n  modified: 2026-01-02T03:04:05.678Z\n---\n\nUntil May.",
      "tests.md": "---\nname: Tests\ntype: feedback\nmetadata:\n  type: x\n---\nSee [[merge-freeze]].",
    }),
  );

  expect(Array.from(graph.notes.values(), ({ type, title, content }) => [type, title, content])).toEqual([
    ["note", "MEMORY", "- [Freeze](project_freeze.md) — no merges"],
    [
      "project",
      "project_freeze",
      "Until May.\n\nname: merge-freeze\ndescription: No merges\nnode_type: memory\noriginSessionId: 7",
    ],
    ["feedback", "tests", "See [[merge-freeze]].\n\nname: Tests\nmetadata.type: x"],
  ]);
  expect([...graph.notes.values()][1]?.kept).toMatchObject({ updatedAt: new Date("2026-01-02T03:04:05.678Z") });
  expect(linksOf(graph).map((link) => link.slice(0, 3))).toEqual([
    ["MEMORY", "LINKS_TO", "project_freeze"],
    ["tests", "LINKS_TO", "project_freeze"],
  ]);
  expect(leftOut(graph)).toEqual([]);
});

it("reads rules of Cursor, and other kinds of Markdown files", async () => {
  const graph = await readNotesFolder(
    await folderWith({
      "types.mdc":
        "---\ndescription: Types\nglobs: *.ts,*.tsx\nalwaysApply: false\n---\nUse them, as [here](guide.mdx).",
      "guide.mdx": "# Guide",
    }),
  );

  expect([...graph.notes.values()].map(({ title, content }) => [title, content])).toEqual([
    ["guide", "# Guide"],
    ["types", "Use them, as [here](guide.mdx).\n\ndescription: Types\nalwaysApply: false\nglobs: *.ts,*.tsx"],
  ]);
  expect(linksOf(graph)).toEqual([["types", "LINKS_TO", "guide", undefined]]);
});

it("says what to do with files that Joplin keeps for itself", async () => {
  const raw =
    "Plan\n\nText\n\nid: 0123456789abcdef0123456789abcdef\nparent_id: \ncreated_time: 2026-01-01T00:00:00.000Z\ntype_: 1";
  const folder = await folderWith({ "0123456789abcdef0123456789abcdef.md": raw });

  await expect(readNotesFolder(folder)).rejects.toThrow("export it again from Joplin as MD - Markdown + Front Matter");
});

it("reads exports of Joplin and Notion: times, names without ids, Markdown links", async () => {
  const id = "0123456789abcdef0123456789abcdef";
  const graph = await readNotesFolder(
    await folderWith({
      "Work/Plan.md": "---\ntitle: Plan\nupdated: 2024-05-01 10:11:12Z\ncreated: 2024-04-01 09:00:00Z\n---\n\nText",
      [`Project ${id}.md`]: `# Project\n\n[Sub](Project%20${id}/Sub%20page%20${id}.md)`,
      [`Project ${id}/Sub page ${id}.md`]: "# Sub page",
    }),
  );

  const notes = new Map([...graph.notes.values()].map((note) => [note.title, note]));
  expect(notes.get("Plan")).toMatchObject({
    content: "Text",
    kept: { createdAt: new Date("2024-04-01T09:00:00Z"), updatedAt: new Date("2024-05-01T10:11:12Z") },
  });
  expect(linksOf(graph)).toEqual([["Project", "LINKS_TO", "Sub page", undefined]]);
});

it("reads the properties of a page of Notion: title, tags, times and other pages, and keeps them in its text", async () => {
  const [id, other] = ["0123456789abcdef0123456789abcdef", "f".repeat(32)];
  const text = [
    "# A title that is too long for a file",
    "",
    "Tags: alpha, two words",
    "Created time: March 5, 2024 10:15 AM",
    "Last edited time: April 6, 2024 2:30 PM",
    `Blocked by: Plan, part 2 (../Work/Plan%20${other}.md), Nobody (https://example.com/nobody.md)`,
    "",
    "Tags: none",
  ].join("\n");
  const folder = await folderWith({
    [`Tasks/A title that is ${id}.md`]: text,
    [`Work/Plan ${other}.md`]: "# \n\nStatus: open\n",
    "Work/Own.md": text,
  });

  const graph = await readNotesFolder(folder);

  const notes = new Map([...graph.notes.values()].map((note) => [note.title, note]));
  expect([...notes.keys()]).toEqual(["A title that is too long for a file", "Own", "Plan"]);
  expect(notes.get("A title that is too long for a file")).toMatchObject({
    content: text,
    tags: ["alpha", "two words"],
    kept: { createdAt: new Date("2024-03-05T10:15:00Z"), updatedAt: new Date("2024-04-06T14:30:00Z") },
  });
  expect(notes.get("Own")).toMatchObject({ tags: [], kept: { createdAt: undefined } });
  expect(linksOf(graph)).toEqual([["Plan", "BLOCKS", "A title that is too long for a file", undefined]]);
  expect(leftOut(graph)).toEqual([]);
});

it("limits what it reads: files, bytes, and nested folders", async () => {
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
  const logseq = await folderWith({ "logseq/config.edn": "a long one", "pages/A___B.md": "a" });
  const graph = await readNotesFolder(logseq, { bounds: { fileBytes: 3 } });
  expect([...graph.notes.values()].map(({ title }) => title)).toEqual(["A/B"]);
  expect(leftOut(graph)).toEqual(['"logseq/config.edn": it has more than 3 bytes: divide it']);
  const hidden = await folderWith({ ".agents/rules.md": "A", "a.txt": "" });
  await expect(readNotesFolder(hidden)).rejects.toThrow(
    `There are no notes in ${hidden}.\n  ".agents": it is hidden: import its notes by a run of its own\n  1 × .txt`,
  );
  const many = await folderWith({ ".a/a.md": "A", ".b/b.md": "B", ".c/c.md": "C", ".d/d.md": "D", ".e/e.md": "E" });
  await expect(readNotesFolder(many)).rejects.toThrow(/\n {2}"\.c": .*\n {2}… and 2 more\nGive a folder/);
});

it("says which folders and notes it has no permission to read", async () => {
  const folder = await folderWith({ "a.md": "A", "b/c.md": "C", "d.md": "D" });
  // Otherwise only root could remove it. Runs before the removal, since it is added after it.
  onTestFinished(async () => {
    for (const path of [folder, join(folder, "b")]) await chmod(path, 0o755);
  });
  for (const path of ["b", "d.md"]) await chmod(join(folder, path), 0o000);
  await chmod(folder, 0o755);

  const part = await asOrdinaryUser(() => readNotesFolder(folder));
  await chmod(folder, 0o000);
  const nothing = asOrdinaryUser(() => readNotesFolder(folder));

  const reason = "you have no permission to read it";
  expect(leftOut(part)).toEqual([`"d.md": ${reason}`, `"b": ${reason}`]);
  await expect(nothing).rejects.toThrow(`There are no notes in ${folder}.\n  ".": ${reason}\nGive a folder`);
});

it("leaves out packages, and what only has the name of a note", async () => {
  const folder = await folderWith({ "a.md": "A", "app/node_modules/some/README.md": "B", "app/b.md": "C" });
  const socket = createServer().listen(join(folder, "socket.md"));
  await once(socket, "listening");
  onTestFinished(() => void socket.close());

  const { notes, ignored } = await readNotesFolder(folder);

  expect([...notes.values()].map(({ title }) => title)).toEqual(["a", "b"]);
  expect(ignored.map(({ what, reason }) => `${what}: ${reason}`)).toEqual([
    '"socket.md": neither a file nor a folder',
    '"app/node_modules": packages of others: import their notes by a run of its own',
  ]);
  const [packages] = (await readNotesFolder(join(folder, "app/node_modules"))).notes.values();
  expect(packages?.content).toBe("B");
});

// Other systems refuse such names.
it.runIf(process.platform === "linux")("says that the name of a note is not in UTF-8", async () => {
  const folder = await folderWith({ "a.md": "A" });
  await writeFile(Buffer.from(`${folder}/caf\xe9.md`, "latin1"), "B");

  expect(leftOut(await readNotesFolder(folder))).toEqual(['"caf\uFFFD.md": its name is not in UTF-8: rename it']);
});

it.runIf(process.platform === "linux")("prints nothing of a file that could control the terminal", async () => {
  const evil = "a\u001B]0;x\u0007\nb\u009B2J\u202E\u007F";
  const texts = [
    `[[${evil.replaceAll("\n", "")}]]`,
    `---\nid: "${JSON.stringify(evil).slice(1, -1)}"\n---\nB`,
    evil,
    "\0",
  ];
  const files = Object.fromEntries(texts.map((text, at) => [`${evil} ${at}.md`, text]));

  const some = await runHere(program, [await folderWith(files), "--dry-run"], {});
  const none = await runHere(program, [await folderWith({ [`${evil}.md`]: "\0" }), "--dry-run"], {});

  expect([some.code, none.code]).toEqual([3, 1]);
  const printed = [some.output, some.errors, none.output, none.errors];
  expect(printed.filter((text) => /[^\P{Cc}\n]|\p{Bidi_Control}/u.test(text))).toEqual([]);
});

/** Root may read everything. */
async function asOrdinaryUser<Result>(work: () => Promise<Result>): Promise<Result> {
  if (process.geteuid?.() !== 0) return work();
  process.seteuid?.(NOBODY);
  return work().finally(() => process.seteuid?.(0));
}

const NOBODY = 65_532;

it.each([
  ["a: b # said", { a: "b" }, []],
  ['"a": b', { a: "b" }, []],
  ["a: 'it''s'\nb: \"x \\\"y\\\" \\x41\"", { a: "it's", b: 'x "y" A' }, []],
  ['a: [one, "two, three", [[Four]]]', { a: ["one", "two, three", "[[Four]]"] }, []],
  ["a: [[Link]]\nb: http://example.com/#x", { a: "[[Link]]", b: "http://example.com/#x" }, []],
  ["a:\n- one\n# said\n- 'two'\n- [[Three]]\nb:", { a: ["one", "two", "[[Three]]"], b: "" }, []],
  [
    "a: some words\n  go on\nb: |-\n  one\n  two\nc: >\n  one\n  two",
    { a: "some words go on", b: "one\ntwo", c: "one two" },
    [],
  ],
  ["a: 2025-01-02\nb: no\nc: 0.70\nd: null", { a: "2025-01-02", b: "no", c: "0.70", d: "null" }, []],
  ["a: {b: 1, c: [x, y]}\nd:\n  e: f", { a: "b: 1; c: x, y", d: "e: f" }, []],
  ["a: One: two # said\nb: @you\na: again", { a: "One: two" }, ["b: @you", "a: again"]],
  ['a: 1\n&x b: *y\nc: [one\nd: "open\n  e', { a: "1" }, ["&x b: *y", "c: [one", 'd: "open', "  e"]],
  ["a: &x [1, 1]\nb: [*x, *x]", { a: ["1", "1"] }, ["b: [*x, *x]"]],
])("reads the front matter %j", (lines, fields, rest) => {
  const read = readFrontMatter(`---\n${lines}\n---\nBody`);

  expect({ ...read, fields: Object.fromEntries(read.fields) }).toEqual({ fields, rest, body: "Body" });
});

it.each(["Between two lines,\nsome text.", `a: ${"b".repeat(20_000)}`])(
  "keeps text that only looks like front matter",
  (text) => {
    const note = `---\n${text}\n---\nBody`;

    expect(readFrontMatter(note)).toEqual({ fields: new Map(), rest: [], body: note });
  },
);

it("reads any note in time proportional to its length", () => {
  const parts = [
    "[[",
    "[[a,",
    "[",
    "[a](",
    "a: b\n",
    "a:: b\n",
    "a:\n  ",
    "- ",
    "`",
    "`a``b",
    "~~~\n",
    "> ",
    "[[#",
    "#",
    "- a ",
    '"',
    "---\n",
    'a: ["',
    '- "',
    "- [[a]]  (",
    "**",
    "a ",
    "[[a]], ",
    "a:: [[a]]",
    "(a:: [[a]]",
    "- **a b**:: [[a]] ",
    "[a]: ",
    "tags: #",
    'a: "[[b]], ',
    "- #a\n",
    " ",
  ];

  withinEffort(5_000, () => {
    for (const part of parts.map((one) => one.repeat(30_000))) {
      readMarkdownNote(`---\na: [${part}]\nb: ${part}\n---\n${part}`);
      readMarkdownNote(`- ${part}`.slice(0, 1_990).concat("\n").repeat(200));
    }
  });
});

it("imports a folder with the command, and adds nothing when it runs again", async () => {
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
