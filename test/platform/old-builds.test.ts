import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { aFolder } from "../support/folder.js";

it("keeps what running servers may load: files of the last ten builds that are named by their content", async () => {
  const { clearForBuild, isPresent } = (await import(join(process.cwd(), ".config/old-builds.mjs"))) as Builds;
  const dist = await aFolder();
  /** Each build has a file of its own and one that stays the same. */
  const build = (number: number) => {
    clearForBuild(dist, number * 60_000);
    mkdirSync(join(dist, "chunks"), { recursive: true });
    for (const file of ["main.js", `chunks/oauth-${number}.js`, "chunks/same.js"]) {
      writeFileSync(join(dist, file), "");
      utimesSync(join(dist, file), number * 60, number * 60);
    }
  };
  for (let number = 1; number <= 11; number++) build(number);
  const present = ["main.js", "chunks", "chunks/same.js", "chunks/oauth-10.js", "chunks/oauth-11.js"];
  expect(present.filter((file) => !isPresent(dist, join(dist, file)))).toEqual(["chunks/oauth-10.js"]);

  clearForBuild(dist, 12 * 60_000);

  expect(existsSync(join(dist, "main.js"))).toBe(false);
  const last = Array.from({ length: 9 }, (_, index) => `oauth-${index + 3}.js`);
  expect(new Set(readdirSync(join(dist, "chunks")))).toEqual(new Set([...last, "same.js"]));
});

it("builds again after the disk was full while a build was noted", async () => {
  const { clearForBuild, isPresent } = (await import(join(process.cwd(), ".config/old-builds.mjs"))) as Builds;
  const dist = await aFolder();

  for (const left of ["", "[60000,17"]) {
    writeFileSync(join(dist, ".builds"), left);
    clearForBuild(dist, 120_000);

    expect(isPresent(dist, dist)).toBe(true);
    expect(readFileSync(join(dist, ".builds"), "utf8")).toMatch(/120000\]$/);
  }
});

it.each([
  ["nothing, by a process that was killed before it wrote its number", ""],
  ["the number of a process that was killed", "999999999"],
])("does not wait for a lock that holds %s", async (_what, held) => {
  const { root, write, run } = await smallProject();
  write("dist/.lock", held);
  utimesSync(join(root, "dist/.lock"), 60, Date.now() / 1_000 - 60);

  const { status, stderr } = run();

  expect([status, stderr]).toEqual([0, expect.stringContaining("Generating the database client")]);
  expect(existsSync(join(root, "dist/.lock"))).toBe(false);
});

it.each<[string, object, boolean]>([
  ["nothing", {}, true],
  ["the packages of another platform", { "node_modules/of-other": { version: "1.0.0" } }, true],
  ["another version", { "node_modules/of-this-gnu": { version: "0.9.0" } }, true],
  ["the packages of this platform", { "node_modules/of-this-gnu": { version: "1.0.0" } }, false],
  ["those of this platform's other C library", { "node_modules/of-this-musl": { version: "1.0.0" } }, false],
])("installs if needed where %s of what only some platforms need was installed", async (_what, present, isNeeded) => {
  const { write, run } = await smallProject();
  const here = { version: "1.0.0", optional: true, os: [process.platform], cpu: [process.arch] };
  const locked = {
    "node_modules/of-this-gnu": { ...here, libc: ["glibc"] },
    "node_modules/of-this-musl": { ...here, libc: ["musl"] },
    "node_modules/of-other": { ...here, os: ["other"] },
    "node_modules/of-any": { version: "1.0.0", optional: true },
  };
  write("package-lock.json", JSON.stringify({ packages: locked }));
  write("node_modules/.package-lock.json", JSON.stringify({ packages: present }));

  const { status, stderr } = run();

  expect([status, stderr.includes("Installing the dependencies")]).toEqual([0, isNeeded]);
});

/** The least project that the start script makes ready, with an npm and a Prisma that do nothing. */
async function smallProject() {
  const root = await aFolder();
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  for (const file of ["run.mjs", "old-builds.mjs"]) cpSync(`.config/${file}`, join(root, ".config", file));
  write("package.json", JSON.stringify({ type: "module", engines: { node: ">=20.0" } }));
  for (const file of ["package-lock.json", "node_modules/.package-lock.json"]) write(file, '{ "packages": {} }');
  for (const file of ["prisma/schema.prisma", ".config/prisma.ts", "npm-cli.js"]) write(file, "");
  write("node_modules/prisma/package.json", JSON.stringify({ bin: "made.js" }));
  write("node_modules/prisma/made.js", "");
  const run = () =>
    spawnSync(process.execPath, [join(root, ".config/run.mjs"), "--no-build"], {
      env: { ...process.env, npm_execpath: join(root, "npm-cli.js") },
      encoding: "utf8",
      timeout: 60_000,
    });
  return { root, write, run };
}

interface Builds {
  clearForBuild(dist: string, now: number): void;
  isPresent(dist: string, path: string): boolean;
}
