import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** Tests of what stands in the code: they need no database and take seconds. */
const STATIC = ["test/contract/{boundaries,openapi,schema}.test.ts"];

/**
 * Tests that another PostgreSQL or a Redis would tell nothing new: the strict run comes after one in which they ran.
 * They bring their own services, or try what happens before a database is asked.
 */
const OWN_SERVICES = ["test/platform/embedded*.test.ts", "test/stand-in/**"];
const BEFORE_DATABASE = [
  "test/platform/{log-stream,config,chores}.test.ts",
  "test/surfaces/{honest-use,caches,http-bounds,overload,connections}.test.ts",
];
const ranBefore = process.env["CI_STRICT"] === "1" ? [...OWN_SERVICES, ...BEFORE_DATABASE] : [];

export default defineConfig({
  root: fileURLToPath(new URL("..", import.meta.url)),
  // graphql 16 ships both CommonJS and ES modules; one process must load only one of them.
  resolve: { alias: [{ find: /^graphql$/, replacement: "graphql/index.js" }] },
  test: {
    setupFiles: ["reflect-metadata", "test/support/matchers.ts"],
    // Much of a test is waiting for the database, so every core may have one.
    maxWorkers: "100%",
    // Nothing is measured by it: a machine that does other things as well may take its time.
    testTimeout: 180_000,
    hookTimeout: 180_000,
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
          name: "live",
          include: ["test/**/*.test.ts"],
          exclude: [...STATIC, ...ranBefore, "**/node_modules/**"],
          globalSetup: "test/support/database-server.ts",
        },
      },
    ],
  },
});
