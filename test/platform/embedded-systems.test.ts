import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { explain } from "../../src/platform/embedded/cannot-start.js";
import { checkName, localeOptions } from "../../src/platform/embedded/cluster.js";
import type { Home } from "../../src/platform/embedded/home.js";
import { findRunningPort, halt } from "../../src/platform/embedded/postmaster.js";
import { environmentOf } from "../../src/platform/embedded/programs.js";
import { mayBeOpen, whenClosed } from "../../src/platform/when-closed.js";
import { lockFileOf } from "../support/cluster.js";
import { dataFolder } from "../support/embedded.js";

/** What other systems do differently, as far as it shows on this one. */
function pretendToBe(platform: NodeJS.Platform): void {
  const real = Object.getOwnPropertyDescriptor(process, "platform");
  Object.defineProperty(process, "platform", { ...real, value: platform });
  onTestFinished(() => void Object.defineProperty(process, "platform", real ?? {}));
}

/** A folder with the lock file of a PostgreSQL with this process id, and programs of its own. */
function homeWithLock(pid: number): Home & { readonly dataDir: string } {
  const dataDir = dataFolder();
  const folder = join(dataDir, "postgres");
  mkdirSync(join(folder, "cluster"), { recursive: true });
  writeFileSync(lockFileOf(dataDir), `${pid}\n\n0\n4321\n\n\n\nready`);
  return { dataDir, folder, binaries: { folder: join(dataDir, "bin"), major: "18" }, rights: { through: [] } };
}

/** A program with this name. A script: newer versions of Node give their own process another name. */
function aProgram(name: string, script: string): string {
  const program = join(dataFolder(), name);
  writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return program;
}

/** The id of a process of a program with this name. It does nothing until the test ends. */
function sleeper(name: string): number {
  const child = spawn(aProgram(name, "read -r line"), { stdio: ["pipe", "ignore", "ignore"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child.pid ?? 0;
}

describe.runIf(process.platform === "linux")("on another system", () => {
  it("lets pg_ctl have neither the log of PostgreSQL nor the console of the service", async () => {
    const { dataDir, ...home } = homeWithLock(process.pid);
    mkdirSync(home.binaries.folder);
    const script = '#!/bin/sh\nsaid=$(readlink /proc/$$/fd/[012])\necho "$said" > ../said\nrm postmaster.pid\n';
    writeFileSync(join(home.binaries.folder, "pg_ctl"), script, { mode: 0o755 });
    pretendToBe("win32");

    expect(await halt(home, process.pid)).toBe(true);
    expect(readFileSync(join(home.folder, "said"), "utf8")).toBe("/dev/null\n".repeat(3));
    expect(existsSync(join(dataDir, "postgres.log"))).toBe(false);
  });

  it("forgets a PostgreSQL whose process id another program has since a power failure", async () => {
    const home = homeWithLock(sleeper("launchd"));
    pretendToBe("darwin");

    expect(await findRunningPort(home)).toBeUndefined();
    expect(existsSync(lockFileOf(home.dataDir))).toBe(false);
  });

  it("finds a PostgreSQL by the name of its program", async () => {
    const home = homeWithLock(sleeper("postgres"));
    pretendToBe("darwin");

    expect(await findRunningPort(home)).toBe(4321);
  });

  it.each([
    ["forgets another program", '"svchost.exe","4","Services","0","9,123 K"', undefined],
    ["finds PostgreSQL", '"postgres.exe","4","Services","0","9,123 K"', 4321],
    ["assumes PostgreSQL, since in doubt,", "INFO: No tasks are running which match the specified criteria.", 4321],
    ["assumes PostgreSQL, since it waits not for long,", "'; exec sleep 60 #", 4321],
  ])("%s where Windows names the process so: %s", async (_what, answer, port) => {
    const home = homeWithLock(process.pid);
    const { PATH } = process.env;
    onTestFinished(() => void (process.env["PATH"] = PATH));
    process.env["PATH"] = `${dirname(aProgram("tasklist", `echo '${answer}'`))}:${PATH}`;
    pretendToBe("win32");

    expect(await findRunningPort(home)).toBe(port);
  });

  it("tries again while another program has a file open, and only where that prevents a change", async () => {
    let refusals = 2;
    const change = async () => {
      if (refusals-- > 0) throw Object.assign(new Error("open"), { code: "EPERM" });
    };

    await expect(whenClosed(change)).rejects.toThrow("open");
    pretendToBe("win32");
    await expect(whenClosed(change)).resolves.toBeUndefined();
    expect(mayBeOpen(Object.assign(new Error("full"), { code: "ENOSPC" }))).toBe(false);
  });
});

it("refuses a data folder in which Windows could not name all of PostgreSQL's files", () => {
  const folder = `C:\\${"x".repeat(180)}`;
  expect(() => checkName(folder, "win32")).toThrow(/longer than 180 bytes: set DATA_DIR to a folder with a shorter/);
  expect(() => checkName(folder, "darwin")).not.toThrow();
});

it.each(["linux", "darwin", "win32"])("gives PostgreSQL on %s a locale that no user has set", (platform) => {
  const user = { Path: "C:\\bin", PATH: "/bin", LANG: "tr_TR.UTF-8", LC_MESSAGES: "de_DE", PGPORT: "1", TZ: "UTC" };
  const { LC_ALL, ...others } = environmentOf(user, platform);

  expect([LC_ALL, localeOptions(platform)[0]]).toEqual(
    { linux: ["C.UTF-8", "--locale=C.UTF-8"], darwin: ["en_US.UTF-8", "--locale=en_US.UTF-8"] }[platform] ?? [
      "C",
      "--locale=en-US",
    ],
  );
  expect(others).toEqual({ PATH: "/bin", TZ: "UTC", ...(platform === "win32" && { Path: "C:\\bin" }) });
});

it.each([
  [
    "a library of Windows is missing",
    "win32",
    "initdb ended with 3221225781.",
    "",
    /Visual C\+\+ Redistributable: install it from https:/,
  ],
  [
    "a library of Windows is too old",
    "win32",
    "initdb ended with 3221225477.",
    "",
    /needs a current Microsoft Visual C\+\+/,
  ],
  [
    "a library of Windows is too old for what initdb starts",
    "win32",
    "initdb ended with 1.",
    "performing post-bootstrap initialization ... child process was terminated by exception 0xC0000005",
    /needs a current Microsoft Visual C\+\+/,
  ],
  [
    "the path has letters that Windows gives in its own code page",
    "win32",
    "initdb ended with 1.",
    'FATAL:  invalid byte sequence for encoding "UTF8": 0xf6 0x72 0x6e 0x57',
    /^The path of this project has letters beyond ASCII/,
  ],
  [
    "the same is said elsewhere, where it is no matter of the path",
    "linux",
    "initdb ended with 1.",
    'FATAL:  invalid byte sequence for encoding "UTF8": 0xf6 0x72 0x6e 0x57',
    /did not start: invalid byte sequence .*\nIts log is \/data\/postgres\.log/,
  ],
  [
    "NixOS has no loader in the usual place",
    "linux",
    "initdb ended with 127.",
    "Could not start dynamically linked executable: /home/ann/initdb",
    /^This system cannot run the embedded PostgreSQL, .*programs\.nix-ld\.enable/,
  ],
])("says what to do when %s", (_what, platform, error, said, sentence) => {
  expect(explain(new Error(error), { dataDir: "/data", said, platform }).message).toMatch(sentence);
});
