import { readFileSync, readdirSync } from "node:fs";
import { posix } from "node:path";
import { expect, it } from "vitest";
import { withSlashes } from "../support/folder.js";

const { dirname, join, normalize } = posix;

/** How the table of src/README.md names what a room may import, as path prefixes below src. */
const MEANT: Readonly<Record<string, readonly string[]>> = {
  nothing: [],
  everything: [""],
  config: ["config.ts"],
  operation: ["operation/"],
  features: ["features/*/index.ts"],
  surfaces: ["surfaces/"],
  platform: ["platform/"],
};
const meantBy = (words: string): readonly string[] =>
  words.split(/, | and /).flatMap((word) => MEANT[word] ?? word.replaceAll("`", ""));

const FOR_ALL = "; everything may import it";
/** The rooms of the table, each with what it may import, and of what it may import types, which cost nothing. */
const ROOMS = readTable().flatMap(([names, rule]) => {
  const rooms = Array.from(names.matchAll(/`([\w.-]+)/g), ([, name = ""]) => name);
  const rules = rule.replace(FOR_ALL, "").split("; ");
  return rooms.map((name, place) => {
    const [values, types = "nothing"] = (rules[place] ?? "").split(/,? ?types of /);
    return { name, values: meantBy(values || "nothing"), types: meantBy(types), isForAll: rule.endsWith(FOR_ALL) };
  });
});
const EVERYBODY = ROOMS.flatMap(({ name, isForAll }) => (isForAll ? [name] : []));

function readTable(): Array<[names: string, rule: string]> {
  const table = /## What may import what\n\n.*\n.*\n([^]*?)\n\n/.exec(readFileSync("src/README.md", "utf8"))?.[1] ?? "";
  return Array.from(table.matchAll(/^\| (.+?) \| .+ \| (.+) \|$/gm), ([, names = "", rule = ""]) => [names, rule]);
}

const files = readdirSync("src", { recursive: true, encoding: "utf8" })
  .map(withSlashes)
  .filter((path) => /\.ts$/.test(path) && !path.startsWith("platform/prisma/") && !path.includes("/client/"));

/** The room of a file: each feature and each surface is a room of its own. */
const roomOf = (path: string) =>
  path
    .split("/")
    .slice(0, /^(features|surfaces)\/[^/]+\//.test(path) ? 2 : 1)
    .join("/");

it("lets no room import what it must not", () => {
  const imports = files.flatMap((file) => {
    const source = readFileSync(join("src", file), "utf8");
    return Array.from(source.matchAll(/^(import|export)( type)? (?:[^;"]*? from )?"(\.[^"]+)";$/gm), (match) => ({
      file,
      typeOnly: match[2] !== undefined,
      target: normalize(join(dirname(file), match[3] ?? "")).replace(/\.js$/, ".ts"),
    }));
  });
  expect(files.length).toBeGreaterThan(40);
  expect(imports.length).toBeGreaterThan(100);

  const forbidden = imports.filter(({ file, target, typeOnly }) => {
    const { values = [], types = [] } = ROOMS.find(({ name }) => name === roomOf(file).split("/")[0]) ?? {};
    const allowed = [...EVERYBODY, ...values, ...(typeOnly ? types : [])];
    return roomOf(file) !== roomOf(target) && !allowed.some((pattern) => matches(target, pattern));
  });
  // Files directly in src/surfaces are shared by the doors below it.
  const shared = (path: string) => /^surfaces\/[^/]+\.ts$/.test(path);
  expect(forbidden.filter(({ file, target }) => !(file.startsWith("surfaces/") && shared(target)))).toEqual([]);
});

it("lets a feature export only what the rest of the service imports", () => {
  const sources = files.map((file) => [file, readFileSync(join("src", file), "utf8")] as const);
  const namesIn = (list = "") => Array.from(list.matchAll(/(?:type )?(\w+)(?: as \w+)?(?:,|$)/g), ([, name]) => name);
  const imported = sources.flatMap(([file, source]) =>
    Array.from(source.matchAll(/^import (?:type )?\{ ?([^}]*?),? ?\} from "(\.[^"]+\/index\.js)";$/gm)).flatMap(
      ([, list, from = ""]) => namesIn(list).map((name) => `${normalize(join(dirname(file), from))} ${name}`),
    ),
  );
  const exported = sources
    .filter(([file]) => /^features\/[^/]+\/index\.ts$/.test(file))
    .flatMap(([file, source]) =>
      Array.from(source.matchAll(/^export \{ ?([^}]*?),? ?\} from/gm))
        .flatMap(([, list]) => namesIn(list))
        .map((name) => `${file.replace(/\.ts$/, ".js")} ${name}`),
    );
  expect(exported.length).toBeGreaterThan(100);
  expect(
    exported.filter((name) => !imported.includes(name)),
    "A test imports it from its own file.",
  ).toEqual([]);
});

it("finds every room in the table of src/README.md, and no other", () => {
  const rooms = new Set(files.map((file) => file.split("/")[0]));
  expect(ROOMS.map(({ name }) => name).toSorted()).toEqual([...rooms].sort());
});

it("names each feature in src/README.md", () => {
  const told = /The features: (.*?)\n\n/s.exec(readFileSync("src/README.md", "utf8"))?.[1] ?? "";
  const features = readdirSync("src/features");
  expect(features.length).toBeGreaterThan(5);
  expect(features.filter((name) => !told.includes(`\`${name}\``))).toEqual([]);
});

it("lets a search merge what rooms find that know nothing of it", () => {
  const importsOf = (room: string) =>
    files
      .filter((file) => file.startsWith(`features/memories/${room}/`))
      .map((file) => readFileSync(join("src", file), "utf8"));
  expect(importsOf("words").filter((source) => /"\.\.\/(?:meaning|search)\//.test(source))).toEqual([]);
  expect(importsOf("meaning").filter((source) => source.includes('"../search/'))).toEqual([]);
  expect(importsOf("search").filter((source) => source.includes('"../words/'))).not.toEqual([]);
});

it("loads stand-ins for other services only where they are asked for", () => {
  const importers = files.filter(
    (file) => roomOf(file) !== "stand-in" && /["(][^"\n]*\/stand-in\//.test(readFileSync(join("src", file), "utf8")),
  );
  const others = importers.filter((file) => file !== "serve.ts" && !file.startsWith("commands/"));
  expect(others).toEqual([]);
  for (const file of importers) {
    expect(readFileSync(join("src", file), "utf8")).not.toMatch(/^(import|export) (?!type )[^;]*\/stand-in\//m);
  }
});

it("lets only environment.ts read environment variables", () => {
  const readers = files.filter((file) => /process\.env[.[]/.test(readFileSync(join("src", file), "utf8")));
  expect(readers).toEqual(["environment.ts"]);
});

it("lets only servers that the operator names send what `fetch` decompresses", () => {
  const fetching = /\bfetch\([^)]|"undici"/;
  const callers = files.filter((file) => fetching.test(readFileSync(join("src", file), "utf8")));
  // Addresses that anybody may name are read by `public-web.ts`. The snippets are a text of a page.
  expect(callers.sort()).toEqual([
    "commands/doctor/public-address.ts",
    "commands/tour/walk-billing.ts",
    "import/call-service.ts",
    "platform/meaning/embeddings.ts",
    "stand-in/stripe/delivery.ts",
    "stand-in/stripe/shared.ts",
    "surfaces/pages/graphql-snippets.ts",
  ]);
});

it("lets operations and features take the time only from the clock that all servers share", () => {
  const own = /new Date\(\)|Date\.now\(\)|uuidv7\(\)/;
  const readers = files.filter(
    (file) => /^(operation|features)\//.test(file) && own.test(readFileSync(join("src", file), "utf8")),
  );
  // `retention.ts` compares both clocks. The others answer a library that goes by the clock of this machine.
  expect(readers.sort()).toEqual(["features/oauth/records.ts", "operation/retention.ts", "operation/use-limit.ts"]);
});

const matches = (path: string, pattern: string): boolean =>
  new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll("*", "[^/]+")}`).test(path);
