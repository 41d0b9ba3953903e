import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

it.each([
  ["18.20.8", false],
  ["20.18.3", false],
  ["20.19.0", true],
  ["22.11.0", false],
  ["22.12.0", true],
  ["23.11.1", false],
  ["26.10.0", true],
])("says at once whether Node.js %s is one that can run the project: %s", (version, isFine) => {
  const versions = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } })`;
  const args = ["--import", `data:text/javascript,${versions}`, ".config/run.mjs", "--no-build"];

  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });

  const message = `Node.js 20 (from 20.19), 22 (from 22.12), 24 or later is needed; this is ${version}.\n`;
  expect([status, stderr]).toEqual(isFine ? [0, ""] : [1, message]);
});

it("asks for the versions of Node.js for which Prisma is made: with others its own code ends the first start", () => {
  const enginesOf = (file: string) => (JSON.parse(readFileSync(file, "utf8")) as { engines: { node: string } }).engines;

  expect(enginesOf("package.json").node).toBe(enginesOf("node_modules/prisma/package.json").node);
});
