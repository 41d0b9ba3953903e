import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { program as exportProgram } from "../../src/commands/export.js";
import { program as importProgram } from "../../src/commands/import.js";
import { createMemories } from "../../src/features/bulk/create-memories.js";
import { createMemory } from "../../src/features/memories/create-memory.js";
import { memory } from "../../src/features/memories/get-memory.js";
import { memories } from "../../src/features/memories/list-memories.js";
import { updateMemory } from "../../src/features/memories/update-memory.js";
import { type ExportFormat, exportFormatOf, readExport } from "../../src/import/export-lines.js";
import { ImportStopped, KEY_REFUSED } from "../../src/import/import-stopped.js";
import { newRestoreReport, restoreFile } from "../../src/import/restore.js";
import { LIMITS } from "../../src/limits.js";
import { runHere } from "../support/commands.js";
import { aFolder } from "../support/folder.js";
import { RETRY, clientOf, entity, importInto, jsonLines, memoriesOf } from "../support/imports.js";
import { miscounted } from "../support/memories.js";
import { aTeam } from "../support/teams.js";
import { type Actor, createWorld } from "../support/world.js";

const NOTE = { type: "general", content: "Something.", context: { list: Array.from({ length: 60 }, (_, n) => n) } };

async function fill(ann: Actor) {
  for (const call of [0, 1]) {
    const memories = Array.from({ length: LIMITS.bulk.items / 2 }, (_, index) => {
      return { ...NOTE, title: `Note ${call} ${index}`, ref: `${index}` };
    });
    const relationships = memories.slice(1).map(({ ref }, index) => {
      return { fromMemoryId: ref, toMemoryId: `${index}`, relationshipType: "FOLLOWS" };
    });
    await ann.did(createMemories, { memories, relationships });
  }
}

/** The records of a file, without their authors and the time of the export. */
const recordsIn = async (file: string): Promise<object[]> =>
  (await readFile(file, "utf8"))
    .trimEnd()
    .split("\n")
    .map((line) => {
      const {
        exported_at: _at,
        created_by: _by,
        updated_by: _then,
        ...record
      } = JSON.parse(line) as Record<string, unknown>;
      return record;
    });

/** The memories and relationships of a file, without their authors. */
async function listsIn(file: string): Promise<object> {
  const { memories, relationships } = JSON.parse(await readFile(file, "utf8")) as Record<string, object[]>;
  const strip = (list: readonly object[] = []) =>
    list.map((item) => ({ ...item, created_by: undefined, updated_by: undefined }));
  return { memories: strip(memories), relationships: strip(relationships) };
}

it("takes a key and an address as files and terminals give them, with blanks and line ends", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();

  const environment = { MEMORY_GRAPH_KEY: ` ${key}\r\n`, MEMORY_GRAPH_URL: `${url} ` };
  const wrote = await runHere(exportProgram, [join(await aFolder(), "first.jsonl")], environment);

  expect(wrote).toMatchObject({ code: 0 });
});

it("writes a file from which an import makes the same graph, and which it does not overwrite", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const [ann, bob] = [await world.user(), await world.user()];
  await fill(ann);
  const folder = await aFolder();
  const [first, second] = [join(folder, "first.jsonl"), join(folder, "second.jsonl")];
  const as = ({ key }: Actor) => ({ MEMORY_GRAPH_KEY: key, MEMORY_GRAPH_URL: url });

  const wrote = await runHere(exportProgram, [first], as(ann));
  const dry = await runHere(importProgram, [first, "--dry-run"], as(bob));
  const restored = await runHere(importProgram, [first], as(bob));
  const again = await runHere(importProgram, [first, "--json"], as(bob));
  const third = join(await aFolder(), "third.jsonl");
  const counted = await runHere(exportProgram, [third, "--json"], as(ann));
  await runHere(exportProgram, [second], as(bob));

  expect(wrote).toMatchObject({ code: 0, output: `Wrote 500 memories and 498 relationships to ${first}.\n` });
  expect(JSON.parse(counted.output)).toEqual({ file: third, memories: 500, relationships: 498 });
  expect([dry.code, dry.errors]).toEqual([2, expect.stringContaining("leave out --dry-run")]);
  expect(restored).toMatchObject({ code: 0 });
  expect(restored.output).toContain("Restored 500 memories and 498 relationships");
  expect(JSON.parse(again.output)).toMatchObject({
    memories: { restored: 0, existing: 500 },
    relationships: { restored: 0, existing: 498 },
  });
  expect(await recordsIn(second)).toEqual(await recordsIn(first));
  expect(await readdir(folder)).toEqual(["first.jsonl", "second.jsonl"]);
  expect(await miscounted(world)).toEqual([]);
});

it("writes MemoryGraph's JSON, from which an import makes the same graph", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const [ann, bob] = [await world.user(), await world.user()];
  await fill(ann);
  const folder = await aFolder();
  const [first, second] = [join(folder, "first.json"), join(folder, "second.json")];
  const as = ({ key }: Actor) => ({ MEMORY_GRAPH_KEY: key, MEMORY_GRAPH_URL: url });

  const wrote = await runHere(exportProgram, [first, "--format", "memorygraph"], as(ann));
  const restored = await runHere(importProgram, [first, "--json"], as(bob));
  await runHere(exportProgram, [second, "--format", "memorygraph"], as(bob));

  expect(wrote.code).toBe(0);
  const { memories, relationships } = JSON.parse(await readFile(first, "utf8")) as Record<string, object[]>;
  expect([memories?.length, relationships?.length]).toEqual([500, 498]);
  expect(JSON.parse(restored.output)).toEqual({
    complete: true,
    memories: { restored: 500, existing: 0 },
    relationships: { restored: 498, existing: 0, skipped: 0 },
  });
  expect(await listsIn(second)).toEqual(await listsIn(first));
});

it("exports and imports the graph that --graph names, without it the team's", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { owner: ann } = await aTeam(world);
  const { owner: bob } = await aTeam(world);
  for (const graph of ["personal", "team"] as const) await ann.did(createMemory, { ...NOTE, title: graph, graph });
  const folder = await aFolder();
  const as = ({ key }: Actor) => ({ MEMORY_GRAPH_KEY: key, MEMORY_GRAPH_URL: url });

  for (const words of [[], ["--graph", "team"], ["--graph", "personal"]]) {
    const file = join(folder, "graph.jsonl");
    const exported = await runHere(exportProgram, [file, ...words], as(ann));
    await runHere(importProgram, [file, ...words], as(bob));
    const graph = words[1] ?? "team";
    expect([exported.code, await recordsIn(file)]).toEqual([
      0,
      expect.arrayContaining([expect.objectContaining({ title: graph })]),
    ]);
  }
  for (const graph of ["personal", "team"] as const) {
    expect(await bob.did(memories, { graph })).toMatchObject({ memories: [{ title: graph }] });
  }
});

it("restores exports of earlier versions, which called a client's own id external_id", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const [ann, bob] = [await world.user(), await world.user()];
  await ann.did(createMemories, { memories: [{ ...NOTE, title: "Named", clientId: "note-1" }], relationships: [] });
  const file = join(await aFolder(), "graph.jsonl");
  await runHere(exportProgram, [file, "--url", url], { MEMORY_GRAPH_KEY: ann.key });
  await writeFile(file, (await readFile(file, "utf8")).replace('"client_id":"note-1"', '"external_id":"note-1"'));

  const { output } = await runHere(importProgram, [file, "--url", url], { MEMORY_GRAPH_KEY: bob.key });

  expect(output).toContain("Restored 1 memory and 0 relationships");
  expect(await bob.did(memory, { id: "note-1" })).toMatchObject({ title: "Named", clientId: "note-1" });
});

it("restores exports with one record or none, and refuses files that are cut off or too long", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const [ann, bob] = [await world.user(), await world.user()];
  const folder = await aFolder();
  const file = join(folder, "graph.json");
  const run = async (text: string) => {
    await writeFile(file, text);
    return runHere(importProgram, [file, "--url", url], { MEMORY_GRAPH_KEY: bob.key });
  };
  const texts: string[] = [];
  for (const title of ["", "Alone"]) {
    if (title !== "") await ann.did(createMemories, { memories: [{ ...NOTE, title }], relationships: [] });
    await runHere(exportProgram, [file, "--format", "memorygraph", "--url", url], { MEMORY_GRAPH_KEY: ann.key });
    texts.push(await readFile(file, "utf8"));
  }
  const [empty = "", alone = ""] = texts;

  expect((await run(empty)).output).toContain("Restored 0 memories and 0 relationships");
  expect((await run(alone)).output).toContain("Restored 1 memory and 0 relationships");
  // Memories that were deleted during the export are counted only in its first line.
  expect((await run(alone.replace('"memory_count":1', '"memory_count":2'))).output).toContain(
    "There already: 1 memory and 0",
  );
  expect((await run(alone.replace(/"exported":.*\n/, "}\n").replace(",}", "}"))).output).toContain(
    "There already: 1 memory and 0",
  );
  for (const cutOff of [alone.replace(/\n.*\n\],"exported".*\n$/, "\n"), alone.replace(/\n\{"id".*\n/, "\n")]) {
    expect((await run(cutOff)).errors).toContain("is not the whole export");
  }
  await writeFile(file, alone);
  const format = await exportFormatOf(file);
  const [longest] = alone
    .split("\n")
    .map((line) => line.length)
    .sort((one, other) => other - one);
  const read = async (lengthMax: number) => {
    const kinds = [];
    for await (const { kind } of readExport(file, format as ExportFormat, lengthMax)) kinds.push(kind);
    return kinds;
  };
  await expect(read(longest ?? 0)).resolves.toEqual(["start", "memory", "end"]);
  await expect(read((longest ?? 0) - 1)).rejects.toThrow(`a line of more than ${(longest ?? 0) - 1} characters`);
});

it("restores exports that stand one after another in a file, and refuses such a file if one of them lacks lines", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const bob = await world.user();
  const folder = await aFolder();
  const [file, both] = [join(folder, "graph.jsonl"), join(folder, "both.jsonl")];
  const texts: string[] = [];
  for (const title of ["Of Ann", "Of the team"]) {
    const owner = await world.user();
    await owner.did(createMemories, { memories: [{ ...NOTE, title }], relationships: [] });
    await runHere(exportProgram, [file, "--url", url], { MEMORY_GRAPH_KEY: owner.key });
    texts.push(await readFile(file, "utf8"));
  }
  const [one = "", other = ""] = texts;
  const run = async (text: string) => {
    await writeFile(both, text);
    return runHere(importProgram, [both, "--url", url], { MEMORY_GRAPH_KEY: bob.key });
  };

  expect(await run(one + other)).toMatchObject({
    code: 0,
    output: expect.stringContaining("Restored 2 memories") as string,
  });
  // As after `cat` of the exports of several days.
  expect((await run(one + one)).output).toContain("There already: 2 memories");
  expect((await run(one.replace(/\n\{"record":"memory".*\n/, "\n") + other)).errors).toContain(
    "is not the whole export",
  );
});

it("imports an export in MemoryGraph's JSON that another program wrote into one line", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const [ann, bob] = [await world.user(), await world.user()];
  const file = join(await aFolder(), "graph.json");
  await ann.did(createMemories, { memories: [{ ...NOTE, title: "Alone" }], relationships: [] });
  await runHere(exportProgram, [file, "--format", "memorygraph", "--url", url], { MEMORY_GRAPH_KEY: ann.key });
  await writeFile(file, JSON.stringify(JSON.parse(await readFile(file, "utf8"))));

  const ran = await runHere(importProgram, [file, "--url", url], { MEMORY_GRAPH_KEY: bob.key });

  expect(ran).toMatchObject({ code: 0, output: expect.stringContaining("1 read = 1 made") as string });
});

it("says which option to change where there is no team, instead of a route", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const file = join(await aFolder(), "graph.jsonl");
  await runHere(exportProgram, [file, "--url", url, "--key", key], {});
  const inTeam = ["--url", url, "--key", key, "--graph", "team"];

  const exported = await runHere(exportProgram, [`${file}.2`, ...inTeam], {});
  const restored = await runHere(importProgram, [file, ...inTeam], {});

  expect(exported).toMatchObject({ code: 1, output: "" });
  expect(exported.errors).toMatch(/^You are in no team, .* Leave out --graph, or use --graph personal\.\n$/);
  expect(restored).toMatchObject({ code: 1, output: "" });
  expect(restored.errors).toContain("use --graph personal.\nRestored so far: 0 memories and 0 relationships.\n");
  expect(exported.errors + restored.errors).not.toMatch(/`|same command/);
});

it("says how to get another key if the server refuses this one, or its format is wrong", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const file = join(await aFolder(), "graph.jsonl");
  for (const key of ["mg_live_wrong", "no\u00EB key"]) {
    const ran = await runHere(exportProgram, [file, "--url", url, "--key", key], {});
    expect(ran).toEqual({ code: 1, output: "", errors: `${KEY_REFUSED}\n` });
  }
  const without = await runHere(exportProgram, [file, "--url", url], {});
  expect(without).toMatchObject({ code: 1, errors: expect.stringMatching(/^An API key is needed: /) });
});

it.each(["jsonl", "memorygraph"])("restores an export in %s that other programs have rewritten", async (format) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const [ann, bob] = [await world.user(), await world.user()];
  const folder = await aFolder();
  const file = join(folder, "graph");
  const { memoryIds } = await ann.did(createMemories, {
    memories: [{ ...NOTE, title: "Caf\u00e9", clientId: "one" }],
  });
  await runHere(exportProgram, [file, "--format", format, "--url", url], { MEMORY_GRAPH_KEY: ann.key });
  const withEnds = (await readFile(file, "utf8")).replaceAll("\n", "\r\n");
  const run = async (bytes: Buffer) => {
    await writeFile(file, bytes);
    return runHere(importProgram, [file, "--url", url], { MEMORY_GRAPH_KEY: bob.key });
  };

  expect(await run(Buffer.from(withEnds))).toMatchObject({
    output: expect.stringContaining("Restored 1 memory and") as string,
  });
  for (const marked of [Buffer.from(`\uFEFF${withEnds}`), Buffer.from(`\uFEFF${withEnds}`, "utf16le")]) {
    expect(await run(marked)).toMatchObject({
      output: expect.stringContaining("There already: 1 memory and") as string,
    });
  }
  expect(await bob.did(memory, { id: "one" })).toMatchObject({ id: memoryIds[0], title: "Caf\u00e9" });
  expect((await run(Buffer.from(withEnds, "latin1"))).errors).toContain("is not text in UTF-8");
});

it("refuses to restore a file that lacks lines, and says which line is no record", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const file = join(await aFolder(), "graph.jsonl");
  const begin = '{"record":"graph","format":"memory-graph","memories":2,"relationships":0}\n';
  const end = '{"record":"end","memories":2,"relationships":0}\n';

  for (const [text, said] of [
    [begin, "is not the whole export"],
    [begin + end, "is not the whole export"],
    [`${begin}null\n${end}`, "a line that is no record: null"],
    [begin.replace('graph","memories', 'graph","format_version":2,"memories'), "its format is 2, not 1"],
  ] as const) {
    await writeFile(file, text);
    const ran = await runHere(importProgram, [file, "--url", url], { MEMORY_GRAPH_KEY: ann.key });

    expect(ran).toMatchObject({ code: 1, output: "" });
    expect(ran.errors).toContain(said);
    // With the same file it would stop there again.
    expect(ran.errors).toMatch(/\nRestored so far: 0 memories and 0 relationships\.\n$/);
  }
});

it("reads a letter whose bytes are in two chunks of the file", async () => {
  const file = join(await aFolder(), "graph.jsonl");
  const begin = '{"record":"graph","format":"memory-graph","memories":1,"relationships":0}\n';
  const start = `${begin}{"record":"memory","title":"`;
  // Chunks have an even number of bytes, so each ends within a letter.
  const title = `${start.length % 2 === 0 ? "x" : ""}${"\u00E9".repeat(100_000)}`;
  await writeFile(file, `${start}${title}"}\n{"record":"end","memories":1,"relationships":0}\n`);
  const format = await exportFormatOf(file);

  const lines: object[] = [];
  for await (const line of readExport(file, format as ExportFormat, 1_000_000)) lines.push(line);

  expect(lines).toContainEqual({ kind: "memory", fields: { title } });
});

it("restores an export without relationships to memories that were added while it was written", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const [ann, bob] = [await world.user(), await world.user()];
  await fill(ann);
  const file = join(await aFolder(), "graph.jsonl");
  const as = ({ key }: Actor) => ({ MEMORY_GRAPH_KEY: key, MEMORY_GRAPH_URL: url });
  await runHere(exportProgram, [file], as(ann));
  const lines = (await readFile(file, "utf8")).split("\n");
  const shared = lines.findIndex((line) => line.includes('"record":"memory"')) + 100;
  const { id } = JSON.parse(lines[shared] ?? "") as { id: string };
  const dangling = lines.filter((line) => line.includes('"record":"relationship"') && line.includes(id)).length;
  const others = lines
    .filter((_line, at) => at !== shared)
    .map((line) => line.replace('"memories":500', '"memories":499'));
  await writeFile(file, others.join("\n"));

  const restored = await runHere(importProgram, [file], as(bob));
  const again = await runHere(importProgram, [file, "--json"], as(bob));

  expect(dangling).toBeGreaterThan(0);
  expect(restored.errors).toContain(`Left out ${dangling} relationship`);
  expect([restored.code, restored.output]).toEqual([0, expect.stringContaining("Restored 499 memories")]);
  expect(JSON.parse(again.output)).toMatchObject({
    complete: true,
    memories: { restored: 0, existing: 499 },
    relationships: { restored: 0, existing: 498 - dangling, skipped: dangling },
  });
  // Those that are refused for another reason are not left out.
  await writeFile(file, others.join("\n").replaceAll(/(?<="record":"relationship".*"type":)"\w+"/g, '"no type"'));
  const wrong = await runHere(importProgram, [file], as(bob));
  expect([wrong.code, wrong.errors]).toEqual([1, expect.stringContaining("type")]);
});

it("stops at a service without the path for restoring, instead of leaving everything out", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const file = join(await aFolder(), "graph.jsonl");
  const lines = ['"graph","format":"memory-graph","memories":1,"relationships":0', '"memory","id":"1"', '"end"'];
  await writeFile(file, lines.map((line) => `{"record":${line}}\n`).join(""));
  const format = await exportFormatOf(file);
  if (!format) throw new Error("It is an export.");
  const report = newRestoreReport();
  const restoring = { format, client: clientOf(`${url}/older`, ann.key), report, onStart: () => {}, onStep: () => {} };

  await expect(restoreFile(file, restoring)).rejects.toThrow(ImportStopped);
  expect(report).toEqual(newRestoreReport());
});

it("says before a restore how long it will take within the key's budget", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user({ plan: "free" });
  const file = join(await aFolder(), "graph.jsonl");
  const memories = 10_000;
  await writeFile(file, `{"record":"graph","format":"memory-graph","memories":${memories},"relationships":0}\n`);

  const { errors } = await runHere(importProgram, [file, "--url", url], { MEMORY_GRAPH_KEY: ann.key });

  const minutes = memories / LIMITS.bulk.itemsPerRequest / LIMITS.budgets.requestsByPlan.free;
  expect(errors).toMatch(
    new RegExp(
      `^Found an export of ${memories} records: this takes about (?:${Math.floor(minutes)}|${Math.ceil(minutes)}) min\\.$`,
      "m",
    ),
  );
});

it("restores an export into a graph that has imported the same notes, and leaves out none", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const [ann, bob] = [await world.user(), await world.user()];
  const text = jsonLines(...RETRY);
  const file = join(await aFolder(), "graph.jsonl");
  await importInto(url, ann, text);
  await importInto(url, bob, text);
  await runHere(exportProgram, [file], { MEMORY_GRAPH_KEY: ann.key, MEMORY_GRAPH_URL: url });

  const restored = await runHere(importProgram, [file], { MEMORY_GRAPH_KEY: bob.key, MEMORY_GRAPH_URL: url });

  expect(restored.output).toContain("Restored 2 memories and 1 relationship");
  expect(await world.database.models.memory.count()).toBe(6);
});

it("keeps the ids that imports gave, except those that the graph has already", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const [ann, bob] = [await world.user(), await world.user()];
  const [first, ...others] = Array.from({ length: 30 }, (_, index) => entity(`Entity ${index}`, "x"));
  const file = join(await aFolder(), "graph.jsonl");
  await importInto(url, ann, jsonLines(first, ...others));
  await importInto(url, bob, jsonLines(first));
  await runHere(exportProgram, [file], { MEMORY_GRAPH_KEY: ann.key, MEMORY_GRAPH_URL: url });
  await runHere(importProgram, [file], { MEMORY_GRAPH_KEY: bob.key, MEMORY_GRAPH_URL: url });
  const { "Entity 7": changed } = await memoriesOf(bob);
  await bob.did(updateMemory, { id: changed?.id, title: "Another name" });

  const again = await importInto(url, bob, jsonLines(first, ...others));

  // Without its id, the memory that was changed in the service would be stored a second time.
  expect(again.memories).toMatchObject({ created: 0, existing: 29 });
});

it("stops a restore where the graph has an id that no import gave", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const [ann, bob] = [await world.user(), await world.user()];
  const file = join(await aFolder(), "graph.jsonl");
  await importInto(url, ann, jsonLines(...RETRY));
  const note = { type: "general", title: "Note", content: "Text" };
  const { id } = await ann.did(createMemory, { ...note, clientId: "own" });
  await bob.did(createMemory, { ...note, clientId: "own" });
  await runHere(exportProgram, [file], { MEMORY_GRAPH_KEY: ann.key, MEMORY_GRAPH_URL: url });

  const restored = await runHere(importProgram, [file], { MEMORY_GRAPH_KEY: bob.key, MEMORY_GRAPH_URL: url });

  expect([restored.code, restored.errors]).toEqual([1, expect.stringContaining(`The memory ${id} has the id`)]);
  expect(Object.keys(await memoriesOf(bob))).toEqual(["Note"]);
});
