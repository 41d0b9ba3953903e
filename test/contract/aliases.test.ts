import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { operations } from "../../src/operations.js";
import { backendAliases } from "../../src/surfaces/rest/aliases/backend-aliases.js";
import { sdkAliases } from "../../src/surfaces/rest/aliases/sdk-aliases.js";
import { mayBeAlias } from "../../src/surfaces/rest/aliases/router.js";

const aliases = [...sdkAliases, ...backendAliases];

it("stand for operations, at paths that no operation uses", () => {
  const names = new Set(operations.map(({ name }) => name));
  const formOf = (path: string) => path.replaceAll(/:\w+/g, ":…");
  const paths = new Set(operations.map(({ rest }) => formOf(rest.path)));
  const taken = aliases.filter(({ path }) => paths.has(formOf(path))).map(({ path }) => path);

  expect(taken, "An operation has the path of an alias: give the operation another one.").toEqual([]);
  expect(aliases.length).toBeGreaterThan(15);
  for (const { path, standsFor } of aliases) {
    expect([path, standsFor.filter((name) => !names.has(name))]).toEqual([path, []]);
    expect([path, mayBeAlias(path), mayBeAlias(`${path}?a=b`)]).toEqual([path, true, true]);
  }
});

it("are documented, each with the operations that it calls", () => {
  const rows = readFileSync("docs/clients.md", "utf8")
    .split("\n")
    .filter((line) => /^\| `(?:GET|POST|PUT|PATCH|DELETE) \//.test(line));
  const documented = (call: string) => rows.find((line) => line.startsWith(`| \`${call}\` |`)) ?? "";

  expect(rows).toHaveLength(aliases.length + 1);
  expect(documented("GET /health")).not.toBe("");
  for (const { method, path, standsFor } of aliases) {
    const row = documented(`${method} ${path}`);
    const named = [...row.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    expect([row, named.sort()]).toEqual([row, [...standsFor].sort()]);
  }
});
