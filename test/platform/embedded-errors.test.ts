import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type TestContext, describe, expect, it } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { createCluster } from "../../src/platform/embedded/cluster.js";
import { CannotStart, startEmbeddedPostgres } from "../../src/platform/embedded/index.js";
import { lockFileOf } from "../support/cluster.js";
import { dataFolder, madeFolder, query } from "../support/embedded.js";

const isRootOnLinux = process.platform === "linux" && process.getuid?.() === 0;

describe.concurrent("a start that fails", () => {
  it.for<[string, (folder: string) => string, RegExp]>([
    ["a file", (folder) => file(folder), /, or a part of its path, is a file: set DATA_DIR to a folder\.$/],
    [
      "in a file",
      (folder) => join(file(folder), "x"),
      /, or a part of its path, is a file: set DATA_DIR to a folder\.$/,
    ],
    ["a link to nowhere", (folder) => linkTo("/nowhere/at/all", folder), /cannot be created: set DATA_DIR to another/],
    ["where nobody can make folders", () => "/proc/data", /cannot be created|may not read and write/],
    [
      "with too long a part in its name",
      (folder) => join(folder, "x".repeat(300)),
      /too long: set DATA_DIR to a folder/,
    ],
    [
      "with something else in its place",
      (folder) => withOther(folder),
      /other files, or is the root of a disk: set DATA/,
    ],
    ["with a line break in its name", (folder) => join(folder, "a\nb"), /a control character: set DATA_DIR to another/],
  ])("says in one sentence what to do when the data folder is %s", async ([, folderOf, sentence], test) => {
    await expectSentence(folderOf(dataFolder(test)), sentence);
  });

  it.for<[string, (folder: string, cluster: string) => void, RegExp]>([
    [
      "of a newer PostgreSQL",
      (_, at) => writeFileSync(join(at, "PG_VERSION"), "19\n"),
      /was created by PostgreSQL 19, and this/,
    ],
    ["without its version", (_, at) => rmSync(join(at, "PG_VERSION")), /is incomplete: restore a backup/],
    ["without its password", (at) => rmSync(join(at, "password")), /is incomplete: restore a backup/],
    ["without its cluster", (_, at) => rmSync(at, { recursive: true }), /is incomplete: restore a backup/],
    ["cut off in the middle", (_, at) => truncateSync(join(at, "global/pg_control"), 100), /is damaged: restore a/],
    ["without its log of changes", (_, at) => rmSync(join(at, "pg_wal"), { recursive: true }), /is damaged: restore/],
    ["with passwords of another", (at) => passwords(at), /do not belong to the database there: restore/],
    [
      "with settings it cannot read",
      (_, at) => writeFileSync(join(at, "postgresql.conf"), "?"),
      /contains errors\.\nIts log/,
    ],
  ])("says in one sentence what to do when the database is one %s", async ([, damage, sentence], test) => {
    const dataDir = await madeFolder(test);
    damage(join(dataDir, "postgres"), join(dataDir, "postgres", "cluster"));

    await expectSentence(dataDir, sentence);
  });

  it.skipIf(process.platform === "win32")("says what to do on a system without glibc", async (test) => {
    const folder = dataFolder(test);
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, "initdb"), "#!/lib/no-loader\n", { mode: 0o755 });

    await expect(createCluster(join(folder, "postgres"), { folder, major: "18" })).rejects.toThrow(
      /^This system cannot run the embedded PostgreSQL, which needs glibc; .* set DATABASE_URL to a PostgreSQL of your own\.$/,
    );
  });

  it.for([
    ["that is empty", ""],
    ["of nonsense", "nonsense\nfor\nyears\n"],
    ["of a process that is gone", "999999999\n"],
    ["of a process that is another's", `${process.pid}\n/nowhere\n1\n1\n\n127.0.0.1\n1 1\nready`],
  ] as const)("works with other permissions, and a lock file %s", async ([, lock], test) => {
    const dataDir = await madeFolder(test);
    writeFileSync(lockFileOf(dataDir), lock);
    chmodSync(join(dataDir, "postgres"), 0o755);
    await using postgres = await startEmbeddedPostgres({ dataDir });
    expect(await query(postgres.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  it("accepts the longest allowed folder name, and refuses one more byte", async (test) => {
    const folder = join(dataFolder(test), "a".repeat(200), "b".repeat(200), "c".repeat(200));
    // The limit applies to the folder of the database itself, `postgres` below the data folder.
    const rest = LIMITS.embeddedDatabase.folderNameBytes - join(folder, "x", "postgres").length;
    const longest = join(folder, "d".repeat(rest - 10), "ä".repeat(5));
    expect(Buffer.byteLength(join(longest, "postgres"))).toBe(LIMITS.embeddedDatabase.folderNameBytes);

    await using postgres = await startEmbeddedPostgres({ dataDir: longest });
    expect(await query(postgres.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await expectSentence(`${longest}x`, /longer than 900 bytes: set DATA_DIR to a folder with a shorter one\.$/);
  });

  // PostgreSQL says it differently depending on what still fits: no file, some files, or a part of a block.
  it.for([1, 8, 20, 36])(
    "says in one sentence what to do when the first start fills a disk of %i MiB",
    async (size, test) => {
      const disk = dataFolder(test);
      if (!mountSmallDisk(test, disk, size)) return test.skip(NO_MOUNT);
      await expectSentence(
        join(disk, "data"),
        /is full: free some space, or set DATA_DIR to a folder on another disk\.$/,
      );
      return undefined;
    },
  );

  it("says in one sentence what to do when the disk is full or read-only", async (test) => {
    const disk = dataFolder(test);
    const size = 80;
    if (!mountSmallDisk(test, disk, size)) return test.skip(NO_MOUNT);
    const dataDir = join(disk, "data");
    await (await startEmbeddedPostgres({ dataDir })).stop();
    expect(() => writeFileSync(join(disk, "fill"), Buffer.alloc(size * 1_048_576))).toThrow("ENOSPC");

    await expectSentence(dataDir, /is full: free some space, or set DATA_DIR to a folder on another disk\.$/);
    // PostgreSQL's log is on the same disk: when its last page is full, too, the log does not have the reason.
    const page = 4_096;
    const log = join(dataDir, "postgres.log");
    appendFileSync(log, " ".repeat((page - (statSync(log).size % page)) % page));
    await expectSentence(dataDir, /is full: free some space, or set DATA_DIR to a folder on another disk\.$/);
    await expectSentence(join(disk, "new"), /is full: free some space, or set DATA_DIR to a folder on another disk\.$/);
    spawnSync("mount", ["-o", "remount,ro", disk]);
    await expectSentence(dataDir, /is on a read-only disk: set DATA_DIR to a folder that can be written\.$/);
    return undefined;
  });
});

const NO_MOUNT = "Only root may mount a small disk.";

function mountSmallDisk(test: TestContext, disk: string, size: number): boolean {
  const options = ["-t", "tmpfs", "-o", `size=${size}m`, "tmpfs", disk];
  if (!isRootOnLinux || spawnSync("mount", options).status !== 0) return false;
  test.onTestFinished(() => void spawnSync("umount", ["-l", disk]));
  return true;
}

/** Expects one sentence with the problem and the solution, and a line with a hint if the cause is unknown. */
async function expectSentence(dataDir: string, sentence: RegExp): Promise<void> {
  const error: unknown = await startEmbeddedPostgres({ dataDir }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CannotStart);
  const { message } = error as CannotStart;
  expect(message).toMatch(sentence);
  expect(message.split("\n").length).toBeLessThanOrEqual(2);
}

function file(folder: string): string {
  writeFileSync(join(folder, "file"), "");
  return join(folder, "file");
}

function withOther(folder: string): string {
  mkdirSync(join(folder, "postgres"));
  writeFileSync(join(folder, "postgres", "lost+found"), "");
  return folder;
}

function linkTo(target: string, folder: string): string {
  symlinkSync(target, join(folder, "link"));
  return join(folder, "link");
}

function passwords(folder: string): void {
  for (const name of ["password", "admin-password"])
    writeFileSync(join(folder, name), `not ${readFileSync(join(folder, name), "utf8")}`);
}
