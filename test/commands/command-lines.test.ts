import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { cp, mkdir, open, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import type { Command } from "commander";
import { expect, it, onTestFinished, vi } from "vitest";
import { program as backup } from "../../src/commands/backup.js";
import { program as billing } from "../../src/commands/billing.js";
import { exitCodeOf } from "../../src/commands/command-line.js";
import { program as contract } from "../../src/commands/contract.js";
import { program as distribute } from "../../src/commands/distribute.js";
import { program as doctor } from "../../src/commands/doctor.js";
import { program as exporting } from "../../src/commands/export.js";
import { WrongUse, sentenceFor } from "../../src/commands/for-operator.js";
import { program as graph } from "../../src/commands/graph.js";
import { program as importing } from "../../src/commands/import.js";
import { program as mail } from "../../src/commands/mail.js";
import { program as mcp } from "../../src/commands/mcp.js";
import { program as migrateTo } from "../../src/commands/migrate-to.js";
import { program as restore } from "../../src/commands/restore.js";
import { program as tour } from "../../src/commands/tour.js";
import { program as user } from "../../src/commands/user.js";
import { runHere } from "../support/commands.js";
import { aFolder } from "../support/folder.js";
import { createWorld } from "../support/world.js";
import { environmentForProcess } from "../support/environment.js";

/** Processes start slowly on a busy machine. */
vi.setConfig({ testTimeout: 600_000 });

const LINE_MAX = 120;
const programs: Readonly<Record<string, Command>> = {
  backup,
  billing,
  contract,
  distribute,
  doctor,
  export: exporting,
  graph,
  import: importing,
  mail,
  mcp,
  "migrate-to": migrateTo,
  restore,
  tour,
  user,
};
/** These are run as processes below. */
const OTHERS = ["bench", "model"];

interface Call {
  readonly script: string;
  readonly program: Command;
  /** The words before the options: none, or a subcommand. */
  readonly words: readonly string[];
}

const calls: readonly Call[] = Object.entries(programs).flatMap(([script, program]) => [
  { script, program, words: [] },
  ...program.commands.map((command) => ({ script, program, words: [command.name()] })),
]);
const named = calls.map((call) => [[call.script, ...call.words].join(" "), call] as const);

it("knows every command", () => {
  const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };
  const known = Object.entries(scripts).filter(([, line]) =>
    /(dist\/commands\/\S+|\.bench\/main|model\/main)\.js$/.test(line),
  );

  expect(known.map(([script]) => script).sort()).toEqual([...Object.keys(programs), ...OTHERS].sort());
  expect(calls.length).toBeGreaterThan(20);
});

/** What messages, comments and help name of the commands: `user key`, `npm run user -- key --email <address>`. */
function commandsNamedIn(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));
  const text = files.map((path) => readFileSync(join(folder, path), "utf8")).join("\n");
  return Array.from(text.matchAll(/`([a-z][^`\n\\]+)\\?`/g), ([, code = ""]) => code);
}

it("names commands as they are called, with subcommands and options that exist", () => {
  const told = commandsNamedIn("src");
  const startsCall = (code: string) => /^npm run(?: --silent)? /.test(code);
  const called = told.filter(startsCall).flatMap((code) => {
    const [, script = "", words = ""] = /^npm run(?: --silent)? ([\w:-]+)(?: -- (.*))?/.exec(code) ?? [];
    return programs[script] ? [{ code, program: programs[script], words: words.split(" ").filter(Boolean) }] : [];
  });
  const isKnown = ({ program, words: [first, ...others] }: (typeof called)[number]) => {
    const part = program.commands.find((command) => command.name() === first);
    const options = (part ? others : [first ?? ""]).filter((word) => word.startsWith("--"));
    const known = (part ?? program).options.map(({ long }) => long);
    const isFirstKnown = first === undefined || part !== undefined || program.commands.length === 0;
    return (isFirstKnown || first === "--help") && options.every((name) => name === "--help" || known.includes(name));
  };
  const cut = told.filter((code) => named.some(([name]) => name.includes(" ") && `${code} `.startsWith(`${name} `)));

  expect(called.length).toBeGreaterThan(10);
  expect(called.filter((call) => !isKnown(call)).map(({ code }) => code)).toEqual([]);
  expect(cut, "Write `npm run user -- key` instead of `user key`.").toEqual([]);
});

it.each(named)(
  "shows examples and exit codes of `%s`, in lines that fit",
  async (_name, { script, program, words }) => {
    const { code, output, errors } = await parse(program, [...words, "--help"]);

    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    const call = `npm run ${script}${words.map((word) => ` -- ${word}`).join("")}`;
    expect(output).toContain(`\nExamples:\n  ${words.length === 0 ? "npm run " : call}`);
    expect(output).toContain("\nExit codes: 0 ");
    // The output of `mcp` is for an MCP client and always JSON.
    const isAct = program.commands.length === 0 || words.length > 0;
    if (isAct && script !== "mcp") expect(output).toContain("--json");
    expect(output.split("\n").filter((line) => line.length > LINE_MAX)).toEqual([]);
  },
);

const takesWords = ({ commands, registeredArguments }: Command) => commands.length + registeredArguments.length > 0;

it.each(named)("refuses in one line what `%s` does not accept, with exit code 2", async (_name, call) => {
  const wrong = ["--no-such-option", ...(takesWords(call.program) ? [] : ["no-such-argument"])];
  for (const word of wrong) {
    const { code, output, errors } = await parse(call.program, [...call.words, word]);

    expect({ code, output, lines: errors.trimEnd().split("\n").length }).toEqual({ code: 2, output: "", lines: 1 });
    expect(errors).toMatch(
      /^(Unknown option '\S+'|Too many arguments|Required option '--\w+ <\w+>').* npm run [\w-]+ -- --help shows how to use it\.\n$/,
    );
  }
});

const takesOperand = ({ program, words }: Call) =>
  (program.commands.find((command) => command.name() === words[0]) ?? program).registeredArguments.length > 0;

it.each(named.filter(([, call]) => takesOperand(call)))("refuses an empty argument of `%s`", async (_name, call) => {
  const { code, output, errors } = await parse(call.program, [...call.words, ""]);

  expect({ code, output }).toEqual({ code: 2, output: "" });
  expect(errors).toMatch(/^An argument is empty\. npm run [\w-]+ -- --help shows how to use it\.\n$|must be the id/);
});

it("refuses an unknown command and an invalid value in one line", async () => {
  const [unknown, value] = [await parse(user, ["crate"]), await parse(mail, ["retry", "none"])];
  const nonsense: Array<[Command, string[]]> = [
    ...user.commands.map((command): [Command, string[]] => [user, [command.name(), "--email", "nonsense"]]),
    ...["nonsense", "ftp://a", "http://user@host", "http://host?a"].flatMap((url): Array<[Command, string[]]> => [
      [billing, ["setup", "--url", url]],
      ...[exporting, importing].map((program): [Command, string[]] => [program, ["file", "--url", url]]),
      ...[mcp, tour].map((program): [Command, string[]] => [program, ["--url", url]]),
    ]),
  ];

  expect(unknown).toMatchObject({
    code: 2,
    errors: expect.stringMatching(/^Unknown command 'crate'\. Did you mean create\? .*\n$/),
  });
  expect(value).toMatchObject({ code: 2, errors: expect.stringContaining("must be the id of a mail") });
  const [team, currency] = [
    await parse(billing, ["reconcile", "--team", "x"]),
    await parse(billing, ["setup", "--currency", "euro"]),
  ];
  expect(team).toMatchObject({ code: 2, errors: expect.stringContaining("must be the id of a team") });
  expect(currency).toMatchObject({ code: 2, errors: expect.stringContaining("must be three letters, such as usd") });
  for (const [program, words] of nonsense) {
    const errors = expect.stringMatching(/^Option '\S+ <address>' argument '\S+' is invalid\. .*\n$/);
    expect(await parse(program, words), words.join(" ")).toMatchObject({ code: 2, output: "", errors });
  }
});

it("exits with the documented codes, with only JSON on standard output, and never with a stack trace", async () => {
  await using world = await createWorld();
  const here = { DATABASE_URL: world.databaseUrl, NODE_ENV: "production" };
  const nowhere = { DATABASE_URL: "postgres://nobody@127.0.0.1:1/none", NODE_ENV: "production" };

  for (const args of [["mail", "list"], ["mail", "retry"], ["contract"]]) {
    const { code, output, errors } = await run(`dist/commands/${args[0]}.js`, [...args.slice(1), "--json"], here);
    expect({ args, code, errors }).toEqual({ args, code: 0, errors: "" });
    expect(JSON.parse(output)).toBeTypeOf("object");
  }
  const lost = await run("dist/commands/graph.js", ["verify"], nowhere);
  expect(lost).toMatchObject({
    code: 1,
    output: "",
    errors: expect.stringMatching(/^No PostgreSQL can be reached.*\n$/),
  });
  expect(await run("dist/commands/graph.js", ["verify", "--jsn"], here)).toMatchObject({ code: 2, output: "" });
});

it("shows errors without the signs that control a terminal, and a bug as one line with its place in the code", () => {
  expect(sentenceFor(new WrongUse("One.\nTwo\u001B[2J."))).toBe("One.\nTwo [2J.");
  expect(sentenceFor(new TypeError(`One.\n  Two\u001B[2J. ${"x".repeat(1_000)}`))).toMatch(
    /^Unexpected TypeError: One\. Two \[2J\. x{400,500} \(at .*command-lines\.test\.ts:\d+:\d+\)$/,
  );
});

it("runs by a path with a link, as where the present version is one", async () => {
  const folder = await aFolder();
  await symlink(resolve("dist"), join(folder, "present"));

  const { code, output } = await run(join(folder, "present/commands/backup.js"), ["--help"]);

  expect([code, output]).toEqual([0, expect.stringContaining("\nExamples:\n")]);
});

it.skipIf(!existsSync("/dev/full")).each([[["dist/commands/mail.js", "list", "--json"]], [["dist/main.js", "--help"]]])(
  "fails if its result cannot be written, such as to a full disk: %s",
  async (words) => {
    await using world = await createWorld();
    const env = { ...environmentForProcess(), DATABASE_URL: world.databaseUrl, NODE_ENV: "production" };
    await using full = await open("/dev/full", "w");
    const child = spawn(process.execPath, words, {
      env,
      stdio: ["ignore", full.fd, "pipe"],
    });
    const { stderr } = child;
    const [errors] = await Promise.all([stderr ? text(stderr) : "", once(child, "exit")]);

    expect([child.exitCode, errors]).toEqual([1, expect.stringMatching(/^A file cannot be written \(ENOSPC\).*\n$/)]);
  },
);

it.skipIf(!existsSync("/dev/full"))("says how to get another key if a new one cannot be printed", async () => {
  await using world = await createWorld();
  await using full = await open("/dev/full", "w");
  const child = spawn(process.execPath, ["dist/commands/user.js", "create", "--email", "ann@example.com"], {
    env: { ...environmentForProcess(), DATABASE_URL: world.databaseUrl, NODE_ENV: "production" },
    stdio: ["ignore", full.fd, "pipe"],
  });
  const { stderr } = child;
  const [errors] = await Promise.all([stderr ? text(stderr) : "", once(child, "exit")]);

  expect(child.exitCode).toBe(1);
  expect(errors).toMatch(
    /^The key of ann@example\.com could not be printed: `npm run user -- key` creates another one\.\n/,
  );
});

it.each([
  ["backup", ["backup.sql.gz"]],
  ["mail", ["list"]],
])("says that `%s` waits while a server migrates", async (name, words) => {
  await using world = await createWorld();
  const folder = await aFolder();
  const migrating = await world.database.pool.connect();
  await migrating.query("SELECT pg_advisory_lock(7301984265)");

  const child = spawn(process.execPath, [resolve(`dist/commands/${name}.js`), ...words], {
    cwd: folder,
    env: { ...environmentForProcess(), DATABASE_URL: world.databaseUrl, NODE_ENV: "production" },
  });
  let errors = "";
  child.stderr.on("data", (part) => (errors += String(part)));
  const ended = once(child, "exit");
  await expect.poll(() => errors, { timeout: 60_000 }).toBe("Another server migrates this database: waiting for it.\n");
  await migrating.query("SELECT pg_advisory_unlock(7301984265)");
  migrating.release();

  expect(await ended).toEqual([0, null]);
});

it("refuses to retry a mail that does not wait, to move a database to itself, and a target to take one back", async () => {
  await using world = await createWorld();
  const here = { DATABASE_URL: world.databaseUrl };

  const retried = await runHere(mail, ["retry", "01890a5d-ac96-774b-bcce-b302099a8057", "--json"], here);
  const { hostname, port, pathname } = new URL(world.databaseUrl);
  const same = await runHere(migrateTo, [world.databaseUrl], here);
  const alsoSame = await runHere(migrateTo, [`postgres://${pathname}?host=${hostname}&port=${port}`], here);
  const taken = await runHere(migrateTo, ["--take-back", "postgres://127.0.0.1:1/none"], here);
  const unclear = await runHere(migrateTo, ["postgres://127.0.0.1/none?port=abc"], here);

  expect(retried).toMatchObject({ code: 1, output: "", errors: expect.stringContaining("No failed mail") as string });
  for (const refused of [same, alsoSame]) {
    const errors = expect.stringContaining("is this database") as string;
    expect(refused).toMatchObject({ code: 2, output: "", errors });
  }
  expect(unclear).toEqual({ code: 2, output: "", errors: expect.stringContaining("The target must have a port") });
  expect(taken).toMatchObject({
    code: 2,
    output: "",
    errors: expect.stringContaining("leave out the target") as string,
  });
});

it.each([
  ["bench", "dist/modules/.bench/main.js"],
  ["model", "test/model/main.js"],
  ["search-quality", "test/search-quality/main.js"],
  ["build", ".config/build.js"],
  ["check", ".config/check.js"],
])("shows the same help for `%s`, which needs a clone", async (script, file) => {
  if (script === "bench") {
    const compiler = ["node_modules/typescript/bin/tsc", "-p", "test/bench/tsconfig.build.json"];
    expect(spawnSync(process.execPath, compiler).status).toBe(0);
  }

  const [help, wrong] = [await run(file, ["--help"]), await run(file, ["--no-such-option"])];

  expect(help).toMatchObject({ code: 0, errors: "" });
  expect(help.output).toMatch(new RegExp(`\nExamples:\n  npm run ${script}\n[^]*\nExit codes: 0 `));
  expect(wrong).toMatchObject({ code: 2, output: "", errors: expect.stringMatching(/^Unknown option .*\n$/) });
});

it("shows the help of `npm start`, and refuses arguments instead of ignoring them, also as `npm run dev`", async () => {
  const [help, ...refused] = await Promise.all(
    [["--help"], ["--prot"], ["8080"]].map((words) => run("dist/main.js", words)),
  );
  const watched = await run(".config/run.mjs", ["--watch", "dist/main.js", "--help"]);
  expect(watched).toEqual(help);

  expect(help).toMatchObject({ code: 0, errors: "" });
  expect(help?.output).toMatch(/\nExamples:\n {2}npm start\n[^]*\nExit codes: 0 /);
  for (const ran of refused) {
    expect(ran).toMatchObject({ code: 2, output: "", errors: expect.stringMatching(/^[^\n]+ --help shows how .*\n$/) });
  }
});

it("refuses a folder whose path has a sign that tools cannot handle, and says so", async () => {
  const parent = await aFolder();
  const folder = join(parent, "c#");
  for (const file of ["package.json", ".config/run.mjs", ".config/old-builds.mjs"]) await cp(file, join(folder, file));

  const { code, errors } = await run(join(folder, ".config/run.mjs"), []);

  expect([code, errors]).toEqual([1, expect.stringMatching(/^The path of this folder has a #, .*: rename it\. .*\n$/)]);
});

it.each([
  ["here", ""],
  ["on Windows", "--import \"data:text/javascript,Object.defineProperty(process,'platform',{value:'win32'})\""],
])("runs nothing %s when npm has ended while a clone was made ready", async (_where, flags) => {
  const folder = await smallClone();
  const [begun, ended] = [join(folder, "begun"), join(folder, "ended")];
  const slow = `import fs from "node:fs"; fs.writeFileSync("begun", "");
    const look = () => void (fs.existsSync("ended") || setTimeout(look, 10)); look();`;
  await writeFile(join(folder, "node_modules/prisma/client.mjs"), slow);

  const line = `"${process.execPath}" ${flags} .config/run.mjs --no-build command.js; exit $?`;
  const shell = spawn("sh", ["-c", line], { cwd: folder, env: { ...process.env, npm_lifecycle_event: "start" } });
  const printed = Promise.all([text(shell.stdout), text(shell.stderr)]);
  await expect.poll(() => existsSync(begun)).toBe(true);
  shell.kill("SIGTERM");
  await once(shell, "exit");
  await writeFile(ended, "");

  expect(await printed).toEqual(["", "Generating the database client …\n"]);
});

it("restarts after a change of the sources, made ready again, while it watches", async () => {
  const folder = await smallClone();
  await writeFile(join(folder, "command.js"), 'console.log("It runs."); setInterval(() => {}, 1_000);');

  const watching = spawn(process.execPath, [".config/run.mjs", "--no-build", "--watch", "command.js"], { cwd: folder });
  onTestFinished(() => void watching.kill("SIGKILL"));
  let [output, errors] = ["", ""];
  watching.stdout.on("data", (part) => (output += String(part)));
  watching.stderr.on("data", (part) => (errors += String(part)));
  await expect.poll(() => output).toBe("It runs.\n");
  await writeFile(join(folder, "prisma/schema.prisma"), "// changed");
  await expect.poll(() => output).toBe("It runs.\nIt runs.\n");
  watching.kill("SIGTERM");
  await once(watching, "close");

  expect(errors).toBe("Generating the database client …\n".repeat(2));
});

/** A folder in which `.config/run.mjs` finds all that it needs, and makes a database client that is empty. */
async function smallClone(): Promise<string> {
  const folder = await aFolder();
  for (const file of ["package.json", ".config/run.mjs", ".config/old-builds.mjs"]) await cp(file, join(folder, file));
  for (const [file, content] of Object.entries({
    "package-lock.json": '{ "packages": {} }',
    "node_modules/.package-lock.json": '{ "packages": {} }',
    "tsconfig.json": "",
    ".config/rolldown.mjs": "",
    ".config/prisma.ts": "",
    "prisma/schema.prisma": "",
    "src/main.ts": "",
    "src/platform/prisma/client.ts": "",
    "node_modules/prisma/package.json": '{ "bin": "client.mjs" }',
    "node_modules/prisma/client.mjs": "",
    "command.js": 'console.log("It runs.");',
  })) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), content);
  }
  return folder;
}

/** What a program prints for these words, without a process of its own. */
async function parse(program: Command, words: readonly string[]) {
  const said = { output: "", errors: "" };
  for (const command of [program, ...program.commands]) {
    command.configureOutput({
      writeOut: (part) => void (said.output += part),
      writeErr: (part) => void (said.errors += part),
    });
  }
  const code = await program.parseAsync(words, { from: "user" }).then(() => 0, exitCodeOf);
  return { code, ...said };
}

async function run(file: string, args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [file, ...args], { env: { ...environmentForProcess(), ...environment } });
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { code: child.exitCode, output, errors };
}
