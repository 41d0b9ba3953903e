/**
 * Copies what a server in production needs, and nothing else, to an empty folder: `node .config/gather.mjs TARGET`,
 * after `npm run build`. The embedded PostgreSQL is not copied, so DATABASE_URL is needed there. The container image is
 * made from this folder.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isPresent } from "./old-builds.mjs";

/** The packages that the bundle loads from their own folders; see `external` in rolldown.mjs. */
const PACKAGES = ["@prisma/schema-engine-wasm", "pino", "swagger-ui-dist"];

const root = fileURLToPath(new URL("..", import.meta.url));
const [target] = process.argv.slice(2);
if (!target || (existsSync(target) && readdirSync(target).length > 0)) {
  console.error("Give an empty folder: node .config/gather.mjs TARGET");
  process.exit(2);
}
if (!existsSync(join(root, "dist", "main.js"))) {
  console.error("There is no build yet: run `npm run build` first.");
  process.exit(1);
}

mkdirSync(target, { recursive: true });
for (const path of ["package.json", "prisma/migrations", "LICENSE"]) copy(path);
// The modules are for tests; what runs is bundled.
for (const name of readdirSync(join(root, "dist")).filter((name) => name !== "modules" && !name.startsWith("."))) {
  copy(join("dist", name));
}
for (const name of withDependencies(PACKAGES)) copy(join("node_modules", name));

function copy(path) {
  cpSync(join(root, path), join(target, path), {
    recursive: true,
    dereference: true,
    filter: (source) => isPresent(join(root, "dist"), source),
  });
}

/** The packages with all that they depend on. npm installs each once, at the top. */
function withDependencies(names, found = new Set()) {
  for (const name of names.filter((one) => !found.has(one))) {
    found.add(name);
    const { dependencies = {} } = JSON.parse(readFileSync(join(root, "node_modules", name, "package.json"), "utf8"));
    withDependencies(Object.keys(dependencies), found);
  }
  return found;
}
