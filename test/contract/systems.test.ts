import { readFileSync, readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { firstRequest, npmCommand } from "../../src/commands/first-request.js";

/** What must hold so that the project also works on macOS and Windows, as far as it can be read here. */
const read = (file: string) => readFileSync(file, "utf8");

interface Locked {
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly optional?: boolean;
}
const locked = (JSON.parse(read("package-lock.json")) as { packages: Record<string, Locked> }).packages;

/** Where Node looks for a package of another one. */
function placesOf(name: string, parent: string): string[] {
  const folders = parent
    .split("/node_modules/")
    .map((_, index, all) => all.slice(0, all.length - index).join("/node_modules/"));
  return [...folders.map((folder) => `${folder}/node_modules/${name}`), `node_modules/${name}`];
}

it("locks the packages of every system: npm leaves out those of others where it has them installed", () => {
  const missing = Object.entries(locked).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !placesOf(name, path).some((place) => locked[place]))
      .map((name) => `${path} ${name}`),
  );
  expect(missing).toEqual([]);
});

it.each([
  ["darwin", "arm64"],
  ["darwin", "x64"],
  ["win32", "x64"],
  ["linux", "arm64"],
  ["linux", "x64"],
])("locks programs for %s on %s of each package that has such", (system, processor) => {
  const isFor = ({ os, cpu }: Locked, anOs: string, aCpu: string) => os?.includes(anOs) && cpu?.includes(aCpu);
  const families = (anOs: string, aCpu: string) =>
    new Set(
      Object.entries(locked)
        .filter(([, one]) => isFor(one, anOs, aCpu))
        .map(([path]) => path.replace(/[-/](?:darwin|windows|win32|linux)-.*$/, "")),
    );
  expect([...families(system, processor)].sort()).toEqual([...families("linux", "x64")].sort());
  expect(families(system, processor).size).toBeGreaterThan(6);
});

it("runs commands that every shell reads alike", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const others = Object.entries(scripts).filter(([, script]) =>
    script.split(" && ").some((command) => !/^node [\w./*! -]+$/.test(command)),
  );
  expect(others).toEqual([]);
});

it("has the same bytes on every system", () => {
  expect(read(".gitattributes")).toMatch(/^\* text=auto eol=lf$/m);
  expect(
    filesIn(["prisma", "src", "test", "docs", "deploy", ".config"]).filter((file) => read(file).includes("\r\n")),
  ).toEqual([]);
});

it("has names that Windows and macOS can store", () => {
  const files = filesIn(["prisma", "src", "test", "docs", "deploy", ".config"]);
  const parts = files.flatMap((file) => file.split("/"));
  expect(parts.filter((part) => /[<>:"|?*\\]|[. ]$|^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i.test(part))).toEqual([]);
  expect(new Set(files.map((file) => file.toLowerCase())).size).toBe(files.length);
  // Windows has 260 for all of a path.
  expect(files.filter((file) => file.length > 150)).toEqual([]);
});

it.each([
  [
    "linux",
    [
      "curl -s http://127.0.0.1:4000/v1/memories \\",
      "    -H 'Authorization: Bearer mg' \\",
      "    -H 'Content-Type: application/json' \\",
      "    -d",
    ],
  ],
  [
    "win32",
    [
      "Invoke-RestMethod http://127.0.0.1:4000/v1/memories -Method Post `",
      "    -Headers @{ Authorization = 'Bearer mg' } `",
      "    -ContentType application/json `",
      "    -Body",
    ],
  ],
])("shows on %s a first request that its shell can run", (platform, lines) => {
  const body = `'{"type": "fix", "title": "Retry", "content": "Wait longer each time."}'`;
  expect(firstRequest("http://127.0.0.1:4000", "mg", platform)).toBe(`${lines.join("\n")} ${body}`);
  expect(npmCommand(platform)).toBe(platform === "win32" ? "npm.cmd" : "npm");
});

/** Without hidden files and links, which systems and editors make, and the project has not. */
function filesIn(folders: readonly string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.name.startsWith(".")) return [];
      if (!entry.isDirectory()) return entry.isFile() ? [path] : [];
      return entry.name === "node_modules" || path === "src/platform/prisma" ? [] : filesIn([path]);
    }),
  );
}
