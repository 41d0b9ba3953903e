import { expect, it } from "vitest";
import { readFrontMatter } from "../../src/import/formats/front-matter.js";
import { journalTitles } from "../../src/import/formats/logseq.js";
import { readMarkdownNote } from "../../src/import/formats/markdown-note.js";
import { readNotesFolder } from "../../src/import/read-folder.js";
import { findGrowth } from "../support/growth.js";
import { folderWith, leftOut } from "../support/imports.js";

/** A note as the Linter and Dataview of Obsidian leave it, with tags that YAML reads as comments. */
const LINTED = [
  "---",
  "Aliases: [QQ, Quantile plot]",
  "tags: #on/statistics #note🌱",
  "date created: Tuesday, May 13th 2025, 2:16:40 pm",
  "date modified: Wednesday, May 14th 2025, 9:05:02 am",
  "related: [[Normal distribution]], [[R]]",
  "---",
  "up:: [[Data Visualization]]",
  "",
  "Compares quantiles (source:: [[Wilk 1968|paper]]), see #maths.",
].join("\n");

it("reads a note that Obsidian's Linter and Dataview wrote", () => {
  const note = readMarkdownNote(LINTED);

  expect(note).toMatchObject({
    otherNames: ["QQ", "Quantile plot"],
    tags: ["on/statistics", "note🌱", "maths"],
    details: ["Aliases: QQ, Quantile plot"],
    kept: { createdAt: new Date("2025-05-13T14:16:40Z"), updatedAt: new Date("2025-05-14T09:05:02Z") },
  });
  expect(note.links.map(({ type, to }) => `${type} ${to}`)).toEqual([
    "related Normal distribution",
    "related R",
    "up Data Visualization",
    "source Wilk 1968|paper",
  ]);
});

it("reads what follows a relation after a dash as its context, with the links in it", () => {
  const relations = [
    ["- part_of [[Engine]] — drives the wheels", "part_of Engine (drives the wheels)"],
    ["- uses [[Oil]] -- as [[Grease]] would stick", "uses Oil (as [[Grease]] would stick)", "links to Grease"],
    ["- uses [[Oil]] (not [[Grease]])", "uses Oil (not [[Grease]])", "links to Grease"],
    ["- [[Oil]] – [[Grease]] is another", "links to Oil ()", "links to Grease"],
    ["- TODO [[Oil]]", "links to Oil ()"],
    ["- TODO buy [[Oil]]", "links to Oil ()"],
    ["- TODO:: [[Oil]]", "TODO Oil ()"],
  ] as const;

  for (const [line, first, second] of relations) {
    const [link, ...others] = readMarkdownNote(line).links;
    expect(`${link?.type} ${link?.to} (${link?.context.join()})`).toBe(first);
    expect(others.map(({ type, to }) => `${type} ${to}`)).toEqual(second === undefined ? [] : [second]);
  }
});

it.each([
  ["↑ Parent: [[One]] · Related: [[Two|2 | b]] · [[Three]]", ["Parent One", "Related Two|2 | b", "links to Three"]],
  ["- 🔗 See also:: [[One]]", ["See also One"]],
  ["- ✅ [[One]]: done", ["links to One"]],
  ["Parent: [[One]] | Topic: Engines, see [[Two]]", ["Parent One", "links to Two"]],
  ["- Previous: [[One]].", ["Previous One"]],
  ["- Previous: [[One]], as it was", ["links to One"]],
  ["| [[One]] | cell | [[Two]] |", ["links to One", "links to Two"]],
])("reads each link of the line %j with its own label", (line, links) => {
  expect(readMarkdownNote(line).links.map(({ type, to }) => `${type} ${to}`)).toEqual(links);
});

it("keeps the texts and links of a drawing of Excalidraw, and reports that its data is left out", async () => {
  const texts = "# Excalidraw Data\n## Text Elements\nPlan ^a1B2c3\n\n[[Other]] ^d4E5f6";
  const data = "%%\n## Drawing\n```compressed-json\nN4KAkARALgng\n\nDgUwgLgAQQ\n```\n%%";
  const drawing = `---\nexcalidraw-plugin: parsed\n---\n${texts}\n\n${data}`;
  const folder = await folderWith({ "Plan.excalidraw.md": drawing, "Other.md": data });

  const graph = await readNotesFolder(folder);

  const contents = [...graph.notes.values()].map(({ content }) => content);
  expect(contents).toEqual([data, `${texts}\n\nexcalidraw-plugin: parsed`]);
  expect([...graph.links.values()].map(({ to }) => graph.notes.get(to)?.title)).toEqual(["Other"]);
  expect(graph.ignored.map(({ what }) => what)).toEqual(['"Plan.excalidraw.md"']);
});

it("takes no note from what a template fills in later", async () => {
  const fields = '---\nparent: "[[<% tp.file.folder(true) %>]]"\n---\n';
  const links = "[[{{title}}]], ![[<% tp.file.cursor(1) %>|400]], [[ {{date}}#Log]]";

  const graph = await readNotesFolder(await folderWith({ "Daily.md": fields + links }), { createMissing: true });

  expect([...graph.notes.values()].map(({ title }) => title)).toEqual(["Daily"]);
  expect(leftOut(graph)).toEqual([]);
});

it("takes no link and no tag from a comment, which its program does not show", () => {
  const text = [
    "[[One]] %%[[Hidden]] #hidden%% [[Two]] <!-- [[Hidden]] -->#shown",
    "%%",
    "[[Hidden]]",
    "- part of [[Hidden]]",
    "%% [[Three]]",
    "<!--",
    "[[Hidden]] `%%`",
    "--> `%%` [[Four]]",
    "100 %% of [[Five]], <!-- [[Six]]",
  ].join("\n");

  const { links, tags, body } = readMarkdownNote(text);

  expect(links.map(({ to }) => to)).toEqual(["One", "Two", "Three", "Four", "Five", "Six"]);
  expect(tags).toEqual(["shown"]);
  expect(body).toBe(text);
});

it("reads very many beginnings of comments in linear time", async () => {
  const read = (body: string) => readMarkdownNote(body);
  expect(await findGrowth(20_000, (size) => "<!-- [[a".repeat(size), read)).toBeUndefined();
});

it("finds the note of a link to one of its blocks", async () => {
  const folder = await folderWith({
    "Note.md": "See [[Other#^a1b2c3]], [[other^37066d|it]], [[2^10]] and [[3^10]].",
    "Other.md": "Text ^37066d",
    "2^10.md": "1024",
    "2.md": "Two",
  });

  const graph = await readNotesFolder(folder, { createMissing: true });

  expect([...graph.links.values()].map(({ to }) => graph.notes.get(to)?.title)).toEqual(["Other", "2^10", "3^10"]);
});

/** What is no day, has not come, or may be the day of an event, a number or a version. */
const NO_TIMES = [
  "2024-02-30",
  "2999-01-01",
  "1989-11-09 The wall falls",
  "2024-03_05",
  "202403",
  "2024-03-05.1",
  "2024030510111213",
  "202403051011a",
];

it.each<readonly [name: string, time: string | undefined]>([
  ["2024-03-05", "2024-03-05T00:00:00Z"],
  ["journals/2024_03_05", "2024-03-05T00:00:00Z"],
  ["Daily/2024/20240305", "2024-03-05T00:00:00Z"],
  ["202403051011 Retries", "2024-03-05T10:11:00Z"],
  ["20240305101112-retries", "2024-03-05T10:11:12Z"],
  ...NO_TIMES.map((name) => [name, undefined] as const),
])("takes from the name %s when a note was made, unless the note says it", async (name, time) => {
  const write = async (text: string) => {
    const [note] = (await readNotesFolder(await folderWith({ [`${name}.md`]: text }))).notes.values();
    return note?.kept?.createdAt;
  };

  expect(await write("Text")).toEqual(time === undefined ? undefined : new Date(time));
  expect(await write("---\ncreated: 2023-01-02\n---\nText")).toEqual(new Date("2023-01-02"));
});

it("says that a note has the character NUL, and where", async () => {
  const folder = await folderWith({ "Note.md": "One\nTwo\0 and more text\n", "Good.md": "Text" });

  const graph = await readNotesFolder(folder);

  expect(leftOut(graph)).toEqual(['"Note.md": line 2 has the character NUL: remove it and try again']);
});

it("leaves out notes that the service does not store, and says why", async () => {
  const nul = '---\nsummary: "a\\0b"\n---\nText';
  const folder = await folderWith({
    " .md": "Text",
    "Nul.md": nul,
    "Good.md": Buffer.from("\uFEFFTéxt", "utf16le").swap16(),
  });

  const graph = await readNotesFolder(folder);

  expect(Array.from(graph.notes.values(), ({ title, content }) => [title, content])).toEqual([["Good", "Téxt"]]);
  expect(leftOut(graph)).toEqual([
    'memory " ": its title is blank',
    'memory "Nul": it has the character NUL, which cannot be stored',
  ]);
});

it("names a day of a journal as Logseq does in links", () => {
  const titleOf = journalTitles("");
  const days = ["01", "02", "03", "04", "11", "12", "13", "20", "21", "22", "23", "30"];

  expect(days.map((day) => titleOf(`journals/2025_03_${day}.md`)?.slice(4, -6))).toEqual([
    "1st",
    "2nd",
    "3rd",
    "4th",
    "11th",
    "12th",
    "13th",
    "20th",
    "21st",
    "22nd",
    "23rd",
    "30th",
  ]);
  expect(titleOf("journals/2025_03_11.md")).toBe("Mar 11th, 2025");
});

it("keeps a text that begins like TOML, but has no end of it", () => {
  const text = '+++\ntitle = "T"\n\nText';

  expect(readFrontMatter(text)).toEqual({ fields: new Map(), rest: [], body: text });
});

it("reads front matter in TOML, as Hugo writes it", () => {
  const text = `+++
# Settings
title = "One: \\"two\\"" # shown
date = 2024-05-06T07:08:09Z
tags = [
  "alpha", # first
  'beta/gamma',
]
draft = false
aliases = ["uno"]
[extra]
"its owner" = 'Ann'
+++

Text.
`;

  expect(readMarkdownNote(text)).toMatchObject({
    title: 'One: "two"',
    tags: ["alpha", "beta/gamma"],
    otherNames: ["uno"],
    body: "Text.",
    details: ["date: 2024-05-06T07:08:09Z", "draft: false", "aliases: uno", "extra.its owner: Ann"],
    kept: { createdAt: new Date("2024-05-06T07:08:09Z") },
  });
});

it.each([
  'title = """\nmany\n"""',
  "[[list]]\nname = 1",
  "point = { x = 1 }",
  "a = 1\na = 2",
  "tags = [\n1",
  "a = [\n{ x = 1 }]",
])("keeps front matter in TOML as text if it has more than simple fields: %j", (lines) => {
  const text = `+++\ntitle = "One"\n${lines}\n+++\nText.`;

  expect(readMarkdownNote(text)).toMatchObject({ title: undefined, details: [], body: text });
});

it.each([
  ["[[folder\\Target]]", "one"],
  ["[x](..\\folder\\Target.md#part)", "one"],
  ["| [[Target\\|shown]] |", "one"],
  ["[x](..\\Other.md)", "none"],
])("follows paths with the signs of Windows: %s leads to %s", async (link, count) => {
  const graph = await readNotesFolder(await folderWith({ "folder/Target.md": "Here.", "from/Note.md": link }));

  expect(graph.links.size).toBe(count === "one" ? 1 : 0);
  if (count === "none") expect(leftOut(graph)).toEqual([expect.stringContaining('no memory called "Other"')]);
});

it.each([
  ["- relates_to: [[A]]", ["relates_to A"]],
  ["- **part of** [[A]] (mostly)", ["part of A (mostly)"]],
  ["- **Implements**: [[A]], [[B]]", ["Implements A", "Implements B"]],
  ["* **Source:** [[A]]", ["Source A"]],
  ["- uses [[A]] [[B]]", ["uses A", "uses B"]],
  ["parent:: [[A]],[[B]]", ["parent A", "parent B"]],
  ["  - next:: [[A]]", ["next A"]],
  ["Parent: [[A]]", ["Parent A"]],
  ["See [author:: [[A]]] and (via:: [[B]]) or [[C]]", ["author A", "via B", "links to C"]],
  ["- [ ] ask [[A]]", ["links to A"]],
  ["- [decision] [[A]] won", ["links to A"]],
  ["- [[A]], [[B]]", ["links to A", "links to B"]],
  ["Said [[A]]", ["links to A"]],
  ["Note: [[A]] is better", ["links to A"]],
  ["depends on ![[A]]", ["embeds A"]],
  ["[doc]: <My note.md>", ["links to My note.md"]],
  ["[doc]: My%20note.md#part 'title'", ["links to My note.md"]],
  ["[^1]: note.md\n[x]: https://example.com\n[ ]: #part", []],
])("reads the links of %j", (line, links) => {
  const found = readMarkdownNote(line).links.map(({ type, to, context }) =>
    [type, to, ...context.map((text) => `(${text})`)].join(" "),
  );

  expect(found).toEqual(links);
});

it.each([
  ["tags: #one #two/three", ["one", "two/three"]],
  ["tags: '#one #two'", ["one", "two"]],
  ["tags: [#one, '#two', three four]", ["one", "two", "three four"]],
  ["Tags:\n  - #one\n  - two", ["one", "two"]],
  ["tags:\n- git,workflow\n- history", ["git", "workflow", "history"]],
  ["tags:\n\t- one\n\t- two", ["one", "two"]],
  ["tag: one\nKeywords: two", ["one", "two"]],
  ["tags: [[[Note|one]], two]", ["one", "two"]],
  ["tags: # none", []],
])("reads the tags of %j", (lines, tags) => {
  expect(readMarkdownNote(`---\n${lines}\n---\nText`)).toMatchObject({ tags, details: [], body: "Text" });
});

it.each([
  ["created: 2024-03-05T10:11:12+01:00", "2024-03-05T09:11:12Z"],
  ["Created: 2024/03/05 10:11", "2024-03-05T10:11:00Z"],
  ["creation date: 2024-3-5 9:05", "2024-03-05T09:05:00Z"],
  ["created_on: March 5, 2024", "2024-03-05T00:00:00Z"],
  ["created-at: Tuesday 5th March 2024 12:11:12 AM", "2024-03-05T00:11:12Z"],
  ["dateCreated: 05.03.2024 10:11", "2024-03-05T10:11:00Z"],
  ["created: 20240305101112", "2024-03-05T10:11:12Z"],
  ["created_at: 1709633472", "2024-03-05T10:11:12Z"],
  ["ctime: 1709633472000", "2024-03-05T10:11:12Z"],
  ["created: [2024-03-05]", "2024-03-05T00:00:00Z"],
  ["created: 5. Mar. 2024", "2024-03-05T00:00:00Z"],
  ["created: Sept. 5, 2024", "2024-09-05T00:00:00Z"],
  ["date created: Thu., Sep. 5, 2024, 1:16:12 pm", "2024-09-05T13:16:12Z"],
  ["date created: 星期五, 十月 7日 2022, 9:56:06 晚上", "2022-10-07T21:56:06Z"],
  ["date created: 星期四, 十一月 17日 2022, 8:20:32 早上", "2022-11-17T08:20:32Z"],
  ["date created: 星期日, 九月 22日 2024, 11:46:24 中午", "2024-09-22T11:46:24Z"],
  ["date created: 星期日, 九月 22日 2024, 12:06:24 中午", "2024-09-22T12:06:24Z"],
  ["created: 2023年5月25日 19:44", "2023-05-25T19:44:00Z"],
  ["created: 2023年05月25日", "2023-05-25T00:00:00Z"],
  ["created: 2023년 5월 25일 오후 7:44", "2023-05-25T19:44:00Z"],
  ["created: 2023年5月25日 上午12:04", "2023-05-25T00:04:00Z"],
  ["创建时间: 2024-03-05 10:11", "2024-03-05T10:11:00Z"],
  ["作成日時: 2024年3月5日 10:11", "2024-03-05T10:11:00Z"],
  ["생성 일시: 2024년 3월 5일 오전 10:11", "2024-03-05T10:11:00Z"],
  ["최종 편집 일시: 2024년 3월 5일 오전 10:11", "2024-03-05T10:11:00Z"],
])("reads the time %j", (line, time) => {
  expect(readMarkdownNote(`---\n${line}\n---\nText`)).toMatchObject({
    kept: { createdAt: new Date(time) },
    details: [],
  });
});

it.each([
  "created: 3/6/2024",
  "created: 45.03.2024",
  "modified: next week",
  "created: 2999-01-01",
  "created: 2023年2月29日",
  "created: 十三月 7日 2022",
  "created: 2023-02-29",
  "created: 31.04.2024 10:11",
  "modified: 2024-02-30T10:11:12+01:00",
])("keeps what is no time that has passed as text: %s", (line) => {
  expect(readMarkdownNote(`---\n${line}\n---\nText`)).toMatchObject({
    kept: { createdAt: undefined, updatedAt: undefined },
    details: [line],
  });
});

it.each([
  ["Created: [[2022-08-17]]"],
  ["Date Created: '[[Daily/2022-08-17|Wednesday]]'"],
  ["created:\n  - '[[2022-08-17]]'"],
])("takes the day of a link to a daily note, and keeps the link: %j", (line) => {
  const { kept, links, details } = readMarkdownNote(`---\n${line}\n---\nText`);

  expect([kept.createdAt, details]).toEqual([new Date("2022-08-17"), []]);
  expect(links).toMatchObject([{ to: expect.stringContaining("2022-08-17") as string, isOptional: true }]);
});

it.each([
  ['related: "[[mcp]], [[wiki|the wiki]]"', ["related mcp", "related wiki|the wiki"], []],
  ['see: "[[a]] · [[b]] · [[c]]"', ["see a", "see b", "see c"], []],
  ['Type: "[[Book]]"', ["Type Book"], []],
  ['source: "[[a]], page 3"', [], ["source: [[a]], page 3"]],
  ['cover: "![[a.png]]"', [], ["cover: ![[a.png]]"]],
  ['due: "[[2022-08-17]]"', ["due 2022-08-17"], []],
])("reads the links of the field %j", (line, links, details) => {
  const note = readMarkdownNote(`---\n${line}\n---\nText`);

  expect(note.links.map(({ type, to }) => `${type} ${to}`)).toEqual(links);
  expect([note.details, note.type, note.kept.createdAt]).toEqual([details, undefined, undefined]);
});

it("takes a time of now, or of a zone that is ahead, out of the text, so that the text is the same tomorrow", () => {
  const [now, ahead, nextWeek] = [0, 13, 168].map((hours) => new Date(Date.now() + hours * 3_600_000).toISOString());
  const note = readMarkdownNote(`---\ncreated: ${now}\nupdated: ${ahead?.slice(0, 19)}\n---\nText`);
  const { createdAt, updatedAt } = note.kept;

  expect(note.details).toEqual([]);
  expect([createdAt, updatedAt].every((time) => time && time.getTime() < Date.now())).toBe(true);
  expect(Number(createdAt)).toBeLessThanOrEqual(Number(updatedAt));
  expect(readMarkdownNote(`---\ncreated: ${nextWeek}\n---\nText`)).toMatchObject({
    details: [`created: ${nextWeek}`],
    kept: { createdAt: undefined },
  });
});

it("cuts the end of a text that is too long, and keeps the note's fields", async () => {
  const text = `---\nstatus: open\n---\n${"😀".repeat(49_990)}${"x".repeat(100)}`;

  const graph = await readNotesFolder(await folderWith({ "Long.md": text }));

  const [note] = graph.notes.values();
  expect(Array.from(note?.content ?? "")).toHaveLength(50_000);
  expect(note?.content).toMatch(/^😀+\n\nstatus: open$/u);
  expect(leftOut(graph)).toEqual([expect.stringMatching(/^the last .* characters .*: divide the memory$/)]);
});

it("reads the type of a note of ClawVault", () => {
  expect(readMarkdownNote("---\ntitle: Use SQL\nmemoryType: decision\n---\nText")).toMatchObject({ type: "decision" });
});

it("takes the date of a note as its time, and keeps it as text, since it may be that of an event", () => {
  expect(readMarkdownNote("---\ndate: 2024-05-06 12:47\n---\nText")).toMatchObject({
    kept: { createdAt: new Date("2024-05-06T12:47:00Z") },
    details: ["date: 2024-05-06 12:47"],
  });
});

it.each([
  ["# 1. Use SQL\n\nDate: 2020-02-03\n\n## Status\n\nAccepted", "2020-02-03"],
  ["# Use SQL\n\n* Status: accepted\n* Date: 2023-02-15 <!-- of the last change -->\n\n## Context", "2023-02-15"],
  ["---\ntitle: Use SQL\n---\n\n- **Status:** accepted\n- **Date:** 3 March 2024\n", "2024-03-03"],
  ["# Use SQL\n\n## Log\n\nDate: 2020-02-03", undefined],
  ["# Use SQL\n\nUpdate: 2020-02-03\nDate: soon", undefined],
  [`# Use SQL\n\n${" ".repeat(1_973)}\nDate: 2020-02-13`, undefined],
  ["---\ndate: 2021-01-01\n---\n# Use SQL\n\nDate: 2020-02-03", "2021-01-01"],
])("takes the date above the first section of %j as its time, as records of decisions have it", (text, day) => {
  const { kept, body } = readMarkdownNote(text);

  expect(kept.createdAt).toEqual(day === undefined ? undefined : new Date(day));
  expect(text).toContain(body);
});

it("keeps the placeholders of templates, and lines that YAML would drop, as text", () => {
  const lines = ["#daily #log", "title: {{title}}", "created: <% tp.date.now() %>", "tags: {{tags}}"];

  expect(readMarkdownNote(`---\n${lines.join("\n")}\n---\n# {{title}}`)).toMatchObject({
    title: undefined,
    tags: [],
    details: ["title: {{ title }}", "created: <% tp.date.now() %>", "tags: {{ tags }}", "#daily #log"],
  });
});
