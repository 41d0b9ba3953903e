import { readFileSync, readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const CORES = availableParallelism();
const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** With the slashes of modules' ids, also on Windows. */
const BUILD = `${ROOT.replaceAll("\\", "/")}dist/modules/`;

/** Tests of the code itself: they need no database and take seconds. `npm run check` runs only these. */
const STATIC = [
  "test/contract/{aliases,boundaries,documentation,independent-tests,input-errors,migrations,openapi,operations,raised-failures,regular-expressions,schema,systems,tools}.test.ts",
];

/**
 * Tests whose result depends on PostgreSQL's version, on Redis or on a browser: statements, races and faults of
 * services. The strict run follows a run of every test, so it runs only these, with all their rounds. `agreement` and
 * the model run every operation, so of the features it runs only those with much SQL, and races.
 */
const STRICT = [
  "test/contract/{contention,database,statement-types,statements,upgrade,use-limits}.test.ts",
  "test/features/{bulk,memories,relationships,views}/*.test.ts",
  "test/model/model.test.ts",
  "test/platform/{database-errors,distribution,early-shutdown,killed-while-storing}.test.ts",
  "test/platform/{rate-limiter,redis-faults,retention}.test.ts",
  "test/search-quality/*.test.ts",
  "test/surfaces/{agreement,billing-walk,idempotency,rate-limit}.test.ts",
  ...filesWith([/support\/(?:races|rounds)\.js/]).filter((file) => file.startsWith("test/features/")),
];
/** The source of a test that starts processes contains one of these: support code, clients' tools, or Node's module. */
const STARTS_PROCESSES = [
  /support\/(?:server-process|embedded|browser|pgbouncer|replica)\.js/,
  /(?:clients|"\.)\/tools\.js|runProcess|node:child_process|platform\/embedded\//,
];
/** Tests that start processes: servers, clusters, browsers, commands. `npm run test:fast` leaves them out. */
const WITH_PROCESSES = filesWith(STARTS_PROCESSES);

/** The test files whose source matches one of the patterns. */
function filesWith(patterns: readonly RegExp[]): string[] {
  return testFilesIn("test").filter((file) => {
    const source = readFileSync(join(ROOT, file), "utf8");
    return patterns.some((pattern) => pattern.test(source));
  });
}

/** Node's own recursion would read the installed clients, too: Vitest loads this file often, so that took seconds. */
function testFilesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : testFilesIn(path);
    return entry.name.endsWith(".test.ts") ? [path] : [];
  });
}

const isStrict = process.env["CI_STRICT"] === "1";

/**
 * Small files that take long, the first ones first: started last, they would leave one core idle. The first one
 * installs the packages of `clients/` meanwhile; the others there would wait for it.
 */
const LONG = [
  "clients/mcp",
  "platform/lifecycle",
  "billing/faults",
  "billing/killed",
  "contract/contention",
  "bench/floor",
  "model/model",
  "platform/hostile-requests",
  "platform/start-process",
  "commands/tour",
  "model/pairs",
  "platform/embedded-supervision",
  "surfaces/honest-use",
  "contract/openapi",
  "search-quality/exhaustive",
  "clients/snippets",
  "clients/openapi-fetch",
  "clients/graphql",
  "stand-in/shapes",
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isOf = (name: string) => (file: TestSpecification) => file.moduleId.endsWith(`/${name}.test.ts`);
    const long = LONG.flatMap((name) => sorted.filter(isOf(name)));
    return [...new Set([...long, ...sorted])];
  }
}

export default defineConfig({
  root: ROOT,
  resolve: {
    alias: [
      // graphql 16 ships both CommonJS and ES modules; one process must load only one of them.
      { find: /^graphql$/, replacement: "graphql/index.js" },
      // Of the service, tests load what the build made, as Node's own modules: they load in half the time, and can start
      // worker threads. The playground's page is not part of it.
      { find: /^(?:\.\.\/)+src\/(?!surfaces\/playground\/client\/)(.*)\.js$/, replacement: `${BUILD}$1.js` },
    ],
  },
  test: {
    // All cores are busy: collecting garbage less often and without further threads saves a sixth of the CPU.
    execArgv: ["--single-threaded-gc", "--max-semi-space-size=64"],
    // Files share the modules that a worker has loaded: loading them for each file took a quarter of the time.
    isolate: false,
    server: { deps: { external: [/\/dist\/modules\//] } },
    sequence: { sequencer: LongestFirst },
    setupFiles: ["reflect-metadata", "test/support/matchers.ts", "test/support/seed.ts"],
    // A worker is idle for a sixth of its time. One more would make `npm test` no faster: it loads and compiles the same
    // modules again. A given PostgreSQL may have fewer connections than the embedded one.
    maxWorkers: process.env["DATABASE_URL"] ? CORES : CORES + 1,
    // Nothing is measured by it: a machine that does other things as well may take its time.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    // The state that is waited for may take its time, too.
    expect: { poll: { timeout: 60_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: "quality",
          include: ["test/search-quality/*.quality.ts"],
          globalSetup: "test/support/database-server.ts",
        },
      },
      { extends: true, test: { name: "static", include: STATIC } },
      {
        extends: true,
        test: {
          name: "fast",
          include: ["test/**/*.test.ts"],
          exclude: [...WITH_PROCESSES, "**/node_modules/**"],
          globalSetup: "test/support/database-server.ts",
        },
      },
      {
        extends: true,
        test: {
          name: "live",
          include: isStrict ? STRICT : ["test/**/*.test.ts"],
          exclude: ["**/node_modules/**"],
          globalSetup: "test/support/database-server.ts",
        },
      },
    ],
  },
});
