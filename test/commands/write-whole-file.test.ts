import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chmod, lstat, mkdtemp, readFile, readdir, realpath, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { expect, it, onTestFinished } from "vitest";
import { program as backup } from "../../src/commands/backup.js";
import { program as exporting } from "../../src/commands/export.js";
import { writeWholeFile } from "../../src/commands/write-whole-file.js";
import { runHere, runProcess } from "../support/commands.js";
import { environmentForProcess } from "../support/environment.js";
import { listen } from "../support/listening.js";
import { createWorld } from "../support/world.js";

const FIRST_LINE = '{"record":"graph","format":"memory-graph","memories":2,"relationships":0}';

const aFolder = async (): Promise<string> => realpath(await mkdtemp(join(tmpdir(), "whole-file-")));

it("refuses to replace a folder or a device, and names what was asked for", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const environment = { DATABASE_URL: world.databaseUrl, MEMORY_GRAPH_KEY: key };
  const folder = await aFolder();
  const device = join(folder, "device");
  await symlink("/dev/null", device);

  for (const file of [folder, device, "-"]) {
    const said = { code: 2, output: "", errors: `"${file}" is no file: name the file to write.\n` };
    expect(await runHere(backup, [file], environment)).toEqual(said);
    expect(await runHere(exporting, [file, "--url", url], environment)).toEqual(said);
  }
  for (const program of [backup, exporting]) {
    expect(await runHere(program, [""], environment)).toMatchObject({
      code: 2,
      output: "",
      errors: expect.stringMatching(/^An argument is empty\. /),
    });
  }
  expect(await readdir(folder)).toEqual(["device"]);
});

it("replaces the file to which a link leads, and keeps the link", async () => {
  await using world = await createWorld();
  const folder = await aFolder();
  const [file, link] = [join(await aFolder(), "large"), join(folder, "link")];
  await writeFile(file, "old");
  await symlink(file, link);

  const { code, errors } = await runProcess("backup", [link], { DATABASE_URL: world.databaseUrl });

  expect([code, errors]).toEqual([0, expect.not.stringContaining("Warning")]);
  expect((await lstat(link)).isSymbolicLink()).toBe(true);
  expect((await readFile(file)).subarray(0, 2)).toEqual(Buffer.from([0x1f, 0x8b]));
  expect(await readdir(folder)).toEqual(["link"]);
});

it("leaves nothing after Ctrl-C", async () => {
  const server = createServer((_request, response) => void response.writeHead(200).write(`${FIRST_LINE}\n`));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const folder = await aFolder();
  const url = `http://127.0.0.1:${await listen(server)}`;
  const words = ["dist/commands/export.js", join(folder, "graph.jsonl"), "--url", url, "--key", "key"];

  const child = spawn(process.execPath, words, { env: environmentForProcess() });
  await expect.poll(() => readdir(folder), { timeout: 60_000 }).toEqual([expect.stringContaining("graph.jsonl.")]);
  child.kill("SIGINT");
  const [, signal] = (await once(child, "exit")) as [number | null, string];

  expect(signal).toBe("SIGINT");
  expect(await readdir(folder)).toEqual([]);
});

/** Whether the file system keeps when a file was made: otherwise that seems to be when it was last changed. */
async function knowsBirths(): Promise<boolean> {
  const file = join(await aFolder(), "file");
  await writeFile(file, "");
  const made = await stat(file);
  for (;;) {
    await chmod(file, 0o600);
    const { birthtimeMs, ctimeMs } = await stat(file);
    if (ctimeMs !== made.ctimeMs) return birthtimeMs === made.birthtimeMs;
  }
}

/** Files that are made between two ticks of the system's clock have the same time. */
async function untilNextTick(): Promise<void> {
  const file = join(await aFolder(), "file");
  const readTime = async () => {
    await writeFile(file, "");
    return (await stat(file)).mtimeMs;
  };
  const begun = await readTime();
  while ((await readTime()) === begun);
}

/** A write that is half done until it may end. */
async function startWriting(file: string, what: string) {
  let [isHalfWritten, mayEnd] = [() => {}, () => {}];
  const halfWritten = new Promise<void>((done) => (isHalfWritten = done));
  const end = new Promise<void>((done) => (mayEnd = done));
  const written = writeWholeFile(file, (openPartial) =>
    pipeline(async function* () {
      yield `${what}, h`;
      isHalfWritten();
      await end;
      yield "as more";
    }, openPartial()),
  );
  await halfWritten;
  await untilNextTick();
  return { end: () => (mayEnd(), written) };
}

it.skipIf(!(await knowsBirths())).each([false, true])(
  "keeps the newer one of two commands that write the same file at once, if that exists: %s",
  async (exists) => {
    const folder = await aFolder();
    const file = join(folder, "backup");
    if (exists) await writeFile(file, "old");
    const [first, second] = [await startWriting(file, "first"), await startWriting(file, "second")];

    await second.end();
    // On some file systems it gets the number of the old file.
    await (await startWriting(file, "newest")).end();
    await expect(first.end()).rejects.toThrow(`Another command that began later has written ${file} meanwhile.`);
    expect(await readFile(file, "utf8")).toBe("newest, has more");

    const [third, fourth] = [await startWriting(file, "third"), await startWriting(file, "fourth")];
    await third.end();
    expect(await readFile(file, "utf8")).toBe("third, has more");
    await fourth.end();
    expect(await readFile(file, "utf8")).toBe("fourth, has more");
    expect(await readdir(folder)).toEqual(["backup"]);
  },
);

it("removes what a killed command left for the same file, and nothing else", async () => {
  const folder = await aFolder();
  const file = join(folder, "graph");
  const partial = (name: string) => `${name}.${randomUUID()}.partial`;
  const killed = partial("graph");
  const others = [partial("graph"), partial("graph.old"), partial("other"), "graph.1.partial"];
  for (const name of [killed, ...others]) await writeFile(join(folder, name), "half");
  const twoHoursAgo = new Date(Date.now() - 7_200_000);
  // The first of the others is still being written.
  for (const name of [killed, ...others.slice(1)]) await utimes(join(folder, name), twoHoursAgo, twoHoursAgo);
  const found: string[][] = [];

  await writeWholeFile(file, async (openPartial) => {
    // Removed first, since the disk may be full.
    found.push(await readdir(folder));
    await pipeline(["new"], openPartial());
  });

  expect(found).toEqual([expect.not.arrayContaining([killed])]);
  expect((await readdir(folder)).sort()).toEqual(["graph", ...others].sort());
});

it("lets nobody else read a new file, and keeps who may read one that it replaces", async () => {
  const file = join(await aFolder(), "graph");
  await writeWholeFile(file, (openPartial) => pipeline(["old"], openPartial()));
  expect((await stat(file)).mode & 0o777).toBe(0o600);

  // The second one allows more than the umask of most processes.
  for (const mode of [0o600, 0o666]) {
    await chmod(file, mode);
    await writeWholeFile(file, (openPartial) => pipeline(["new"], openPartial()));

    expect([await readFile(file, "utf8"), (await stat(file)).mode & 0o777]).toEqual(["new", mode]);
  }
});

it("lets nobody else read a new secret, not even while it is written over a file that everybody may read", async () => {
  const folder = await aFolder();
  const file = join(folder, "graph");
  await writeFile(file, "old");
  await chmod(file, 0o666);
  const modes: number[] = [];
  const note = async (name: string) => modes.push((await stat(join(folder, name))).mode & 0o777);
  const parts = async function* () {
    yield "half";
    await expect.poll(() => readdir(folder)).toHaveLength(2);
    for (const name of await readdir(folder)) if (name.endsWith(".partial")) await note(name);
    yield " and half";
  };

  await writeWholeFile(file, (openPartial) => pipeline(parts, openPartial()), { mode: 0o600 });
  await note("graph");

  expect(modes).toEqual([0o600, 0o600]);
});

it("leaves the old file and nothing else after a failure", async () => {
  const folder = await aFolder();
  const file = join(folder, "graph");
  await writeFile(file, "old");
  const parts = function* () {
    yield "half";
    throw new Error("The source broke.");
  };

  const failing = writeWholeFile(file, (openPartial) => pipeline(parts, openPartial()));

  await expect(failing).rejects.toThrow("The source broke.");
  expect([await readdir(folder), await readFile(file, "utf8")]).toEqual([["graph"], "old"]);
});

it("names the folder that is missing, before anything is read for the file", async () => {
  const folder = join(await aFolder(), "none");
  let isAsked = false;

  const failing = writeWholeFile(join(folder, "graph"), async () => void (isAsked = true));

  await expect(failing).rejects.toMatchObject({ code: "ENOENT", path: folder });
  expect(isAsked).toBe(false);
});

it("listens to signals only while it writes", async () => {
  const folder = await aFolder();
  const listeners = () => ["SIGINT", "SIGTERM", "SIGHUP"].map((signal) => process.listenerCount(signal));
  const before = listeners();

  await writeWholeFile(join(folder, "graph"), (openPartial) => pipeline(["new"], openPartial()));
  const failing = writeWholeFile(join(folder, "other"), () => Promise.reject(new Error("Nothing to write.")));

  await expect(failing).rejects.toThrow("Nothing to write.");
  expect(listeners()).toEqual(before);
});
