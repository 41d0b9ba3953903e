import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { expect, it } from "vitest";
import { readConfig } from "../../src/config.js";
import { LIMITS } from "../../src/limits.js";
import { CONNECTIONS_PER_ACCOUNT } from "../../src/operation/shares.js";
import { TOLD_FROM_MS } from "../../src/operation/waits.js";
import { AGENT_CLIENTS } from "../../src/surfaces/pages/agent-clients.js";

const LINES_MAX = 130;
const COLUMNS_MAX = 120;

interface Package {
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

const PACKAGE = JSON.parse(readFileSync("package.json", "utf8")) as Package;

/** The files of a folder, without packages: reading their names would take seconds. */
const filesIn = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : filesIn(path);
    return [path];
  });
const read = (paths: readonly string[]) => new Map(paths.map((path) => [path, readFileSync(path, "utf8")] as const));
const isDocument = (path: string): boolean => path.endsWith(".md");
const documents = read(["README.md", ...["docs", "src", "test"].flatMap(filesIn).filter(isDocument)]);
const readme = documents.get("README.md") ?? "";

/** The anchor that GitHub gives a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

/** Whether a link of a document leads to a file that exists and, if it has an anchor, to a heading of that file. */
function leadsSomewhere(path: string, target: string): boolean {
  const [file = "", anchor] = target.split("#");
  const found = file === "" ? path : join(dirname(path), file);
  if (!existsSync(found)) return false;
  const headings = Array.from(readFileSync(found, "utf8").matchAll(/^#+ (.+)$/gm), ([, heading = ""]) => heading);
  return anchor === undefined || headings.map(anchorOf).includes(anchor);
}

it("keeps the README short, and every document narrow enough for a terminal", () => {
  const shorter = "Put it into a line or row that is there, or into docs/operations.md.";
  expect(readme.trimEnd().split("\n").length, shorter).toBeLessThanOrEqual(LINES_MAX);
  const wide = Array.from(documents, ([path, text]) =>
    text
      .split("\n")
      .flatMap((line, index) => (line.length > COLUMNS_MAX && !mayBeWide(path, line) ? [`${path}:${index + 1}`] : [])),
  );
  expect(wide.flat(), `Wrap these lines at ${COLUMNS_MAX} columns.`).toEqual([]);
});

/** Table rows cannot be wrapped, and these tables are generated. */
const mayBeWide = (path: string, line: string): boolean =>
  ["docs/rights.md", "docs/speed.md"].includes(path) && line.startsWith("|");

it("links only to files and headings that exist", () => {
  const links = Array.from(documents)
    .flatMap(([path, text]) => Array.from(text.matchAll(/\]\(([^)\s]+)\)/g), ([, target = ""]) => ({ path, target })))
    .filter(({ target }) => !/^https?:/.test(target));

  expect(links.length).toBeGreaterThan(20);
  expect(links.filter(({ path, target }) => !leadsSomewhere(path, target))).toEqual([]);
});

it("reaches every document from the README, directly or through another one", () => {
  const reached = new Set<string>();
  const follow = (path: string) => {
    if (reached.has(path)) return;
    reached.add(path);
    const targets = Array.from(
      (documents.get(path) ?? "").matchAll(/\]\(([^)#\s]+\.md)/g),
      ([, target = ""]) => target,
    );
    for (const target of targets) follow(join(dirname(path), target));
  };
  follow("README.md");
  expect([...documents.keys()].filter((path) => !reached.has(path))).toEqual([]);
});

/** Names of other programs. */
const OTHERS = [
  "ts_headline",
  "readline",
  "insufficient_privilege",
  "entity_type",
  "_EntityType",
  "IS_SOLVED_BY",
  "F2",
  "MEMORYGRAPH_API_KEY",
  "MEMORYGRAPH_API_URL",
  "MEMORY_BACKEND",
  "NODE_USE_ENV_PROXY",
  "HTTPS_PROXY",
  "HTTP_PROXY",
  "NO_PROXY",
];
const COMMENT = /\/\*[^]*?\*\/|(?<=^|\s)(?:\/\/|--|#) [^\n]*/g;

/** The names that a name with braces stands for, as in a shell. */
function spellOut(name: string): string[] {
  const [, before = "", names = "", after = ""] = /^(.*)\{(.*)\}(.*)$/.exec(name) ?? [];
  return names === "" ? [name] : names.split(",").map((one) => before + one + after);
}

/** The code of the project, without what is generated and without this file. */
const isCode = (path: string): boolean =>
  /\.(?:tsx?|m?js|sql|prisma|ya?ml)$/.test(path) && !/platform.prisma|contract.documentation/.test(path);

it("names only settings and, to developers, files, migrations and names that exist, also in comments", () => {
  const code = read([".config", "deploy", "docs", "prisma", "src", "test"].flatMap(filesIn).filter(isCode));
  const paths = [...code.keys(), ...documents.keys()].map((path) => path.replaceAll("\\", "/"));
  const hasFile = (name: string) => paths.some((path) => `/${path}`.endsWith(`/${name}`)) || existsSync(name);
  const migrations = readdirSync(join("prisma", "migrations")).map((name) => name.replace(/^\d+_/, ""));
  const words = new Set(
    [...code.values(), ...paths, ...migrations, JSON.stringify(PACKAGE)].flatMap(
      (text) => text.replaceAll(COMMENT, "").match(/\w+/g) ?? [],
    ),
  );
  const comments = Array.from(code, ([path, text]) => [path, (text.match(COMMENT) ?? []).join("\n")] as const);
  const isForDevelopers = (path: string) => !path.startsWith("docs") && path !== "README.md";
  const named = [...documents, ...comments].flatMap(([path, text]) =>
    Array.from(text.matchAll(isForDevelopers(path) ? /`([^`\s]+)`/g : /`([A-Z_]+_[A-Z]+)[`=]/g), ([, name = ""]) => ({
      path,
      name,
    })),
  );
  const isKnown = ({ name }: { readonly name: string }) => {
    if (OTHERS.includes(name)) return true;
    if (/^[^*]*\.(?:tsx?|mjs|sql|ya?ml|prisma)$/.test(name)) return spellOut(name).every(hasFile);
    return !/^[A-Za-z_][\w.]*$/.test(name) || words.has(name.split(".").at(-1) ?? "");
  };

  expect(named.length).toBeGreaterThan(500);
  expect(named.filter((one) => !isKnown(one))).toEqual([]);
});

/** The columns of each row in the README's table of variables. */
const rowsOfVariables = () =>
  readme
    .slice(readme.indexOf("## Configuration"), readme.indexOf("## Operations in short"))
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((row) => row.slice(2).split(" | "));

const codesIn = (text: string) => Array.from(text.matchAll(/`([^`]+)`/g), ([, code = ""]) => code);

it("names in the README every variable of the configuration, and no other", () => {
  const known = new Set<string>();
  readConfig(new Proxy<Record<string, string>>({}, { get: (_none, name) => void known.add(String(name)) }));
  const named = rowsOfVariables().flatMap(([names = ""]) => codesIn(names));

  expect(known.size).toBeGreaterThan(15);
  // OpenTelemetry documents its own variables: the README names only the one that turns it on.
  const own = [...known].filter((name) => !name.startsWith("OTEL_") || name === "OTEL_EXPORTER_OTLP_ENDPOINT");
  expect(named.toSorted(), "Each has a place in the table of the README.").toEqual(own.toSorted());
});

it("lets the doctor look at each server that a variable names", () => {
  const servers = rowsOfVariables().flatMap(([names = ""]) => codesIn(names).filter((name) => name.endsWith("_URL")));
  const doctor = readFileSync(join("src", "commands", "doctor.ts"), "utf8");

  expect(servers.length).toBeGreaterThan(5);
  expect(
    servers.filter((name) => !new RegExp(`\\b${name}\\b`).test(doctor)),
    "Give it a check in src/commands/doctor.ts.",
  ).toEqual([]);
});

it("reads no variable whose value nothing uses", () => {
  const declared = readFileSync(join("src", "config.ts"), "utf8").matchAll(/^ {2}readonly (\w+): /gm);
  const settings = Array.from(declared, ([, name = ""]) => name);
  const sources = sourcesBeside("config.ts");
  /** Taken from the configuration: the word alone may be a parameter that gets something else. */
  const isTaken = (name: string) => new RegExp(`(?:[.,"]|(?<![$])[{])\\s*${name}\\b`).test(sources);

  expect(settings.length).toBeGreaterThan(30);
  expect(settings.filter((name) => !isTaken(name))).toEqual([]);
});

it("has no limit that nothing uses", () => {
  const names = (of: object): string[] =>
    Object.entries(of).flatMap(([name, value]) => (isGroup(value) ? [name, ...names(value)] : [name]));
  const words = wordsBeside("limits.ts");
  expect(names(LIMITS).length).toBeGreaterThan(150);
  expect(names(LIMITS).filter((name) => !words.has(name))).toEqual([]);
});

it("has no metric that nothing counts", () => {
  const declared = readFileSync(join("src", "platform", "telemetry", "meter.ts"), "utf8").matchAll(/^ {2}(\w+)\(/gm);
  const names = Array.from(declared, ([, name = ""]) => name);
  const sources = sourcesBeside();

  expect(names.length).toBeGreaterThan(8);
  expect(names.filter((name) => !sources.includes(`meter?.${name}(`))).toEqual([]);
});

/** The sources but for this file and for the generated client of the database. */
const sourcesBeside = (leftOut?: string): string =>
  readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && file !== leftOut && !file.startsWith(join("platform", "prisma")))
    .map((file) => readFileSync(join("src", file), "utf8"))
    .join("\n");

const wordsBeside = (leftOut: string): ReadonlySet<string> => new Set(sourcesBeside(leftOut).match(/\w+/g));

const isGroup = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

it("gives in the README the same defaults as the code", () => {
  // Settings that are refused without others.
  const others = { EMBEDDINGS_URL: "http://localhost", EMBEDDINGS_MODEL: "one", METRICS_PORT: "9464" };
  const given = rowsOfVariables().flatMap(([names = "", defaults = ""]) => {
    const values = defaults.split(", ");
    return codesIn(names).map((name, place) => [name, codesIn(values[place] ?? "")[0]] as const);
  });
  const literal = given.flatMap(([name, value]) => (value === undefined ? [] : [{ [name]: value }]));
  const differing = literal.filter(
    (setting) => !isDeepStrictEqual(readConfig(others), readConfig({ ...others, ...setting })),
  );

  expect(literal.length).toBeGreaterThan(15);
  expect(differing, "The defaults of these are others.").toEqual([]);
});

it("gives operators the same bounds as the code", () => {
  const { database, embeddings, http, log, mails, signUp, start, stop, storage } = LIMITS;
  const { connections, searchConnections, reservedConnections } = database;
  const perServer = connections + searchConnections + reservedConnections;
  const seconds = (milliseconds: number) => `${milliseconds / 1_000} s`;
  const count = (number: number) => number.toLocaleString("en");
  const bounds = [
    `for ${seconds(stop.leaveMs)} (not in development) requests are still answered`,
    `finishes running ones (${seconds(stop.drainMs)} at most)`,
    `After ${seconds(stop.wholeMs)}, or at a second signal`,
    `A line has at most ${log.lineBytes / 1_024} KiB`,
    `up to ${log.waitingLength / 1_048_576} MiB of lines`,
    `at most ${mails.retrySeconds.invitation / 3_600} hour, for ${mails.givenUpAfterHours} hours`,
    `A code is retried at least every ${mails.retrySeconds.sign_up} s, for ${signUp.codeMinutes} minutes`,
    `A migration is cancelled after ${start.migrationMs / 60_000} minutes`,
    `A server opens up to ${perServer}: ${connections} for operations, ` +
      `of which one account has at most ${CONNECTIONS_PER_ACCOUNT} at a time, ${searchConnections} for searches, ` +
      `${reservedConnections} to look up keys`,
    `A request waits at most ${seconds(database.connectionWaitMs)} in total`,
    `a statement waits ${seconds(database.lockWaitMs)} for a lock`,
    `A server opens up to ${perServer} connections to it`,
    `\`num_init_children\` to at least ${perServer} for each server`,
    `PgBouncer in front of the coordinator from about 5 servers on (${perServer} connections each`,
    `\`statement_timeout\` ${seconds(database.statementTimeoutMs)}, ` +
      `\`lock_timeout\` ${seconds(database.lockWaitMs)}, ` +
      `\`idle_in_transaction_session_timeout\` ${seconds(database.idleInTransactionMs)}`,
    `The service gives up the look-up of a key after ${seconds(database.connectionWaitMs)}`,
    `A replica that may be more than ${seconds(database.replicaDelayMs)} behind`,
    `says what it waited for, from ${TOLD_FROM_MS} ms on`,
    `Pass on bodies of ${http.bodyBytes / 1_048_576} MiB`,
    `A search waits at most ${embeddings.searchMs} ms for the server`,
    `up to \`EMBEDDINGS_MEMORY_MB\` per process (${embeddings.vectorMb} MiB)`,
    `in pieces of about ${count(embeddings.pieceSize)} English letters`,
    `at most the first ${count(embeddings.embeddedCharacters)} characters and ${embeddings.pieces} pieces`,
    `refuses ${embeddings.textsAtOnce} pieces at once`,
    `later every hour, ${embeddings.attempts} times`,
    `if at most ${count(embeddings.filtered)} memories have the tags and types`,
    `the ${count(embeddings.filtered)} nearest are looked at`,
    `If at most ${embeddings.indexedAmong} memories pass a filter`,
    `it holds among the ${count(embeddings.indexed)} nearest`,
    `the largest team's graph (${count(storage.team.memories)} memories, ${storage.team.bytes / 1e9} GB)`,
  ];
  const text = documents.get(join("docs", "operations.md"))?.replaceAll(/\s+/g, " ") ?? "";
  expect(bounds.filter((bound) => !text.includes(bound))).toEqual([]);
});

it("gives servers in deploy/ the time and memory that the code takes", () => {
  const { embeddings, start, stop } = LIMITS;
  const { port } = readConfig({ NODE_ENV: "test" });
  const [compose = "", kubernetes = "", image = ""] = ["compose.yaml", "kubernetes.yaml", "Dockerfile"].map((name) =>
    readFileSync(join("deploy", name), "utf8"),
  );
  const numberIn = (text: string, pattern: RegExp) => Number(pattern.exec(text)?.[1]);
  const migrationSeconds = start.migrationMs / 1_000;

  // Orchestrators kill a process that takes longer.
  const graces = [
    numberIn(compose, /stop_grace_period: (\d+)s/),
    // Its time begins with the sleep.
    numberIn(kubernetes, /terminationGracePeriodSeconds: (\d+)/) - numberIn(kubernetes, /sleep: \{ seconds: (\d+) \}/),
  ];
  for (const seconds of graces) expect(seconds).toBeGreaterThan(stop.wholeMs / 1_000);
  expect(numberIn(compose, /start_period: (\d+)m/)).toBe(migrationSeconds / 60);
  const [, period, failures] = /startupProbe: .* periodSeconds: (\d+), failureThreshold: (\d+)/.exec(kubernetes) ?? [];
  expect(Number(period) * Number(failures)).toBe(migrationSeconds);
  expect(numberIn(kubernetes, /progressDeadlineSeconds: (\d+)/)).toBeGreaterThan(migrationSeconds);
  // A server that stops must be noticed while it still serves.
  const noticed = /readinessProbe: .* periodSeconds: (\d+)/;
  expect(numberIn(kubernetes, noticed)).toBeLessThan(stop.leaveMs / 1_000);
  for (const text of [compose, kubernetes]) {
    expect(numberIn(text, /add memory for the vectors: at most (\d+)Mi?\./)).toBe(embeddings.vectorMb);
    expect(text).toContain(String(port));
  }
  expect(numberIn(image, /PORT=(\d+)/)).toBe(port);
});

it("tells Prometheus the job that the alerts name, and where the servers of deploy/ have their metrics", () => {
  const text = documents.get(join("docs", "operations.md")) ?? "";
  const alerts = readFileSync(join("docs", "monitoring", "alerts.yml"), "utf8");
  const [compose = "", kubernetes = ""] = ["compose.yaml", "kubernetes.yaml"].map((name) =>
    readFileSync(join("deploy", name), "utf8"),
  );
  const allIn = (where: string, pattern: RegExp) => [
    ...new Set(Array.from(where.matchAll(pattern), ([, found]) => found)),
  ];

  const job = allIn(text, /job_name: (\S+)/g);
  expect(job).toHaveLength(1);
  expect(allIn(alerts, /job="([^"]*)"/g)).toEqual(job);
  const [, service, port] = /names: \[(\w+)\], type: A, port: (\d+)/.exec(text) ?? [];
  expect(compose).toMatch(new RegExp(`^  ${service}:$`, "m"));
  expect(allIn(compose, /METRICS_PORT: "(\d+)"/g)).toEqual([port]);
  const [, app, name] = /regex: (\S+);(\S+)/.exec(text) ?? [];
  expect(allIn(kubernetes, /labels: \{ app: (\S+) \}/g)).toEqual([app]);
  expect(kubernetes).toContain(`{ name: ${name}, containerPort: ${port} }`);
});

it("lets Kubernetes drain nodes with servers one after another, also while none is ready", () => {
  const parts = readFileSync(join("deploy", "kubernetes.yaml"), "utf8").split(/^---$/m);
  const partOf = (kind: string) => parts.find((part) => part.includes(`\nkind: ${kind}\n`)) ?? "";
  const budget = partOf("PodDisruptionBudget");
  const selector = /^ +selector: \{ matchLabels: (\{ app: \S+ \}) \}/m;

  expect(budget).toMatch(/^ +maxUnavailable: 1$/m);
  expect(budget).toMatch(/^ +unhealthyPodEvictionPolicy: AlwaysAllow$/m);
  expect(selector.exec(budget)?.[1]).toBe(/labels: (\{ app: \S+ \})/.exec(partOf("Deployment"))?.[1]);
});

it("names every command of package.json in the README, and no other command in any document", () => {
  const commandsIn = (text: string) =>
    Array.from(text.matchAll(/npm (?:run(?: -s| --silent)? )?([a-z][a-z:-]*)/g), ([, name = ""]) => name);
  const known = Object.keys(PACKAGE.scripts);
  const NPM_OWN = ["ci", "run"];

  expect(known.filter((name) => !commandsIn(readme).includes(name))).toEqual([]);
  const told = [...documents.values()].flatMap(commandsIn);
  expect(told.filter((name) => !known.includes(name) && !NPM_OWN.includes(name))).toEqual([]);
});

it.each(AGENT_CLIENTS)("connects $name in docs/agents.md as the service's page does", ({ name, about, code }) => {
  const text = (documents.get(join("docs", "agents.md")) ?? "").replaceAll("$(cat .data/demo-key)", "mg_live_…");
  const [, section = ""] = text.split(`\n## ${name}\n`);

  expect(section).toContain(code);
  if (about.includes("`")) expect(section.replaceAll(/\s+/g, " ")).toContain(about);
});

it("gives in src/README.md the reason for every dependency, and lists no other", () => {
  const text = documents.get(join("src", "README.md")) ?? "";
  const rows = text
    .slice(text.indexOf("## Dependencies"))
    .split("\n")
    .filter((line) => line.startsWith("| `"));
  const named = rows.flatMap((row) =>
    Array.from((row.split(" | ")[0] ?? "").matchAll(/`([^`]+)`/g), ([, name = ""]) => name),
  );
  const present = Object.keys({ ...PACKAGE.dependencies, ...PACKAGE.devDependencies });

  expect(named.toSorted()).toEqual(present.filter((name) => !name.startsWith("@types/")).toSorted());
});
