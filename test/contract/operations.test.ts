import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { graphqlSchema, operations, relations } from "../../src/operations.js";
import { type FailureClass, examplesOf } from "../../src/operation/failure.js";
import { inputTypeOf } from "../../src/operation/input.js";
import { snakeCase } from "../../src/operation/names.js";
import { methodsOf, takesBody } from "../../src/operation/operation.js";
import { raisedFailures } from "../../src/failures.js";
import { rightsTable } from "../../src/operation/rights.js";
import { moves } from "../model/moves.js";
import { withSlashes } from "../support/folder.js";
import { type Things, exampleInput } from "../support/examples.js";

const names = operations.map(({ name }) => name);

/** The texts that appear more than once. */
const repeated = (texts: readonly string[]) => texts.filter((text, place) => texts.indexOf(text) < place);

it("are all listed by their feature", () => {
  const declared = readdirSync("src/features", { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .flatMap((path) =>
      Array.from(
        readFileSync(join("src/features", path), "utf8").matchAll(/define(?:Team)?Operation\(\{\s+name: "(\w+)"/g),
        ([, name = ""]) => name,
      ),
    );
  expect(declared.length).toBeGreaterThan(40);
  expect(
    declared.filter((name) => !names.includes(name)),
    "Add it to the list in the index.ts of its feature.",
  ).toEqual([]);
});

it("have unique names", () => {
  expect(repeated(names), "Two operations have this name: give one of them another.").toEqual([]);
});

it("have unique routes in REST, whose path parameters are inputs", async () => {
  const routes = operations.flatMap(({ rest }) =>
    methodsOf(rest).map((method) => `${method} ${rest.path.replaceAll(/:\w+/g, ":…")}`),
  );
  expect(repeated(routes), "Two operations have this route: give one of them another.").toEqual([]);

  const schema = await graphqlSchema();
  const unknown = operations.flatMap((operation) => {
    const inputs = Object.keys(inputTypeOf(schema, operation).getFields()).map(snakeCase);
    const parts = Array.from(operation.rest.path.matchAll(/:(\w+)/g), ([, part = ""]) => part);
    return parts.filter((part) => !inputs.includes(part)).map((part) => `${operation.name}: ${part}`);
  });
  expect(unknown, "Name an input after this part of the path, or the part after an input.").toEqual([]);
});

it("say where to read what they create, if a route reads it", () => {
  const read = new Set(operations.filter(({ rest }) => rest.method === "GET").map(({ rest }) => rest.path));
  const readers = operations.flatMap(({ name, rest: { path, status, location } }) => {
    const reader = [...read].find((other) => other.replace(/:\w+$/, "") === `${path}/`);
    return status === 201 && reader !== undefined ? [{ name, reader, location }] : [];
  });
  const wrong = readers.filter(({ reader, location }) => location !== reader.replace(/:\w+$/, ":id"));
  expect(readers.length).toBeGreaterThan(2);
  expect(wrong, "Give its `rest` the path of the route that reads it as `location`.").toEqual([]);
});

it("use GET if they read, and another method if they change something", () => {
  const wrong = operations.filter(({ kind, rest }) => (kind === "query") !== (rest.method === "GET"));
  expect(
    wrong.map(({ name, effect, rest }) => `${name}: ${effect} by ${rest.method}`),
    "Only the effect `reads` goes with GET: correct `effect` or `rest.method`.",
  ).toEqual([]);
  expect(operations.filter(({ kind, rest }) => kind === "query" && takesBody(rest))).toEqual([]);
});

it("share a limit's count only if they count the same thing", () => {
  const limits = operations.flatMap((operation) => operation.limits ?? []);
  const counted = new Set(limits.map(({ name, of, by }) => `${name}: ${of} by ${by}`));
  const counts = [...counted].map((text) => text.split(":")[0] ?? "");
  expect(repeated(counts), "Limits of this name share their count: give one another name, or the same `of`.").toEqual(
    [],
  );
});

it("have an example for the generated tests", () => {
  const none: Things = {
    memories: [],
    relationships: [],
    keys: [],
    teams: [],
    users: [],
    invitations: [],
    tokens: [],
    addresses: [],
    own: [],
  };
  for (const operation of operations) expect(exampleInput(operation, none)).toBeTypeOf("object");
});

it("have one move each in the model, which has no others", () => {
  const missing = names.filter((name) => !moves.has(name));
  expect(missing, "Write how to ask for it, and what comes of it, in test/model/*-moves.ts.").toEqual([]);
  expect([...moves.keys()].filter((name) => !names.includes(name))).toEqual([]);
});

it("have a test of their rules", () => {
  const tests = readdirSync("test/features", { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".test.ts"))
    .map((path) => readFileSync(join("test/features", path), "utf8"))
    .join("\n");
  const imported = new Set(
    Array.from(tests.matchAll(/^import \{([^}]*)\} from "[./]+src\/features\//gm), ([, list = ""]) =>
      list.split(/[\s,]+/),
    ).flat(),
  );
  expect(
    names.filter((name) => !imported.has(name)),
    "Write its test in test/features/, where its file is in src/features/.",
  ).toEqual([]);
});

it("have the rights listed in docs/rights.md, which `npm run contract` rewrites", () => {
  expect(rightsTable(operations, relations), "The rights changed. If that is meant, run: npm run contract").toBe(
    readFileSync("docs/rights.md", "utf8"),
  );
});

it("work on the team that their path names", () => {
  const onTeam = operations.filter(({ rest }) => rest.path.includes("/:team_id"));
  expect(onTeam.length).toBeGreaterThan(10);
  expect(onTeam.filter(({ team }) => team?.which !== "given").map(({ name }) => name)).toEqual([]);
});

it("can fail with one code in several ways only with different reasons", () => {
  const common = raisedFailures(operations, relations)
    .filter(({ by }) => by === "any operation")
    .map(({ failure }) => failure.constructor as FailureClass);
  expect(common.length).toBeGreaterThan(3);
  const alike = [...operations, ...relations].flatMap(({ name, failures }) => {
    const ways = [...new Set([...common, ...failures])].flatMap(examplesOf);
    return repeated(ways.map(({ kind, reason = "no reason" }) => `${name}: ${kind}, ${reason}`));
  });
  expect(alike, "Give one of the two a reason, so that clients can tell them apart.").toEqual([]);
});

it("declare every failure that exists, or `failures.ts` says what else raises it", () => {
  const classes = readdirSync("src", { recursive: true, encoding: "utf8" })
    .map(withSlashes)
    .filter((path) => path.endsWith(".ts") && !path.startsWith("platform/prisma/"))
    .flatMap((path) =>
      Array.from(readFileSync(join("src", path), "utf8").matchAll(/^.*\bclass (\w+) extends (\w+)/gm)),
    );
  const parents = new Map(classes.map(([, name = "", parent = ""]) => [name, parent]));
  const lineOf = (name: string): string[] => {
    const parent = parents.get(name);
    return [name, ...(parent === undefined ? [] : lineOf(parent))];
  };
  const failures = classes.filter(([line, name = ""]) => !line.includes("abstract") && isFailure(lineOf(name)));
  const documented = new Set(raisedFailures(operations, relations).map(({ failure }) => failure.constructor.name));
  expect(failures.length).toBeGreaterThan(50);
  const missing = failures
    .map(([, name = ""]) => name)
    .filter((name) => !lineOf(name).some((each) => documented.has(each)));
  expect(missing, "Name it in `failures` of an operation that raises it, or in src/failures.ts.").toEqual([]);
});

const isFailure = (line: readonly string[]): boolean => line.at(-1) === "Error" && line.includes("Failure");
