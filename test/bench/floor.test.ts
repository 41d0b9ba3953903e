import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, inject, it } from "vitest";
import { environmentForProcess } from "../support/environment.js";
import { type Figures, comparable } from "./measure.js";
import { sharesOf } from "./profile.js";

const PEERS = ["mercurius", "yoga", "apollo", "postgraphile"];
/** Only `npm run bench -- --peers` installs them. */
const arePeersInstalled = PEERS.every((name) => existsSync(`test/bench/peers/${name}/node_modules/.installed`));
const POSITIVE = expect.toSatisfy((share: number) => share > 0) as unknown;
type Profiled = Required<Pick<Figures, "shares">>;
type Measured = { name: string; servers: Record<string, Profiled> };
const out = mkdtempSync(join(tmpdir(), "bench-"));
afterAll(() => rmSync(out, { recursive: true }));

it(`measures servers that answer alike${arePeersInstalled ? "" : ", without the peers, which are not installed"}`, async () => {
  const env = { ...environmentForProcess(), DATABASE_URL: inject("databaseServer").url, BENCH_MEMORIES: "2000" };
  const args = [
    "--quick",
    "--profile",
    "--rounds",
    "1",
    "--connections",
    "4",
    "--connections",
    "8",
    "--json",
    "--out",
    out,
    ...(arePeersInstalled ? ["--peers"] : []),
  ];

  const { stdout, stderr } = await promisify(execFile)("npm", ["run", "--silent", "bench", "--", ...args], { env });

  expect(stderr).toContain("answer alike.");
  const { results, again } = JSON.parse(stdout) as Record<"results", Measured[]> & {
    again: Array<{ plan: { connections: number }; results: Measured[] }>;
  };
  const serversOf = new Map(results.map(({ name, servers }) => [name, Object.keys(servers)]));
  const others = arePeersInstalled ? PEERS : [];
  expect(results).toHaveLength(9);
  expect(serversOf.get("rest-get")).toEqual(["floor", "service"]);
  expect(serversOf.get("graphql-get")).toEqual(["floor", "service", ...others]);
  const profiled = results.flatMap(({ servers }) => Object.values(servers));
  // Few moments are caught in so short a turn, but in all cases together some of each kind.
  const caught = (server: string, part: string) =>
    results.reduce((sum, { servers }) => sum + (servers[server]?.shares[part] ?? 0), 0);
  expect([caught("floor", "pg"), caught("floor", "own"), caught("floor", "doors")]).toEqual([POSITIVE, POSITIVE, 0]);
  expect([caught("service", "pg"), caught("service", "doors"), caught("service", "own")]).toEqual([
    POSITIVE,
    POSITIVE,
    0,
  ]);
  expect(again.map(({ plan, results: { length } }) => [plan.connections, length])).toEqual([[8, 9]]);
  const [speeds, profiles] = readFileSync(join(out, "speed.md"), "utf8")
    .split("Where Node's CPU goes")
    .map((part) => part.match(/^\| (?:rest|graphql)-.*\d \|/gm));
  // Once more, the floor and the service alone.
  expect(speeds).toHaveLength(profiled.length + 9 * 2);
  expect(profiles).toHaveLength(profiled.length);
  expect(readFileSync(join(out, "speed.svg"), "utf8")).toMatch(/^<svg [^]*>this service<[^]*<\/svg>\n$/);
});

it("counts each moment of a profile for the function that ran, and none without work", () => {
  const frames = {
    idle: ["(idle)", ""],
    writing: ["writev", ""],
    garbage: ["(garbage collector)", ""],
    pg: ["parse", "file:///here/node_modules/pg-protocol/dist/parser.js"],
    doors: ["handle", "file:///here/dist/modules/surfaces/server.js"],
    rest: ["verify", "file:///here/node_modules/uuid/index.js"],
  };
  const ids = Object.fromEntries(Object.keys(frames).map((name, id) => [name, id]));
  const nodes = Object.values(frames).map(([functionName = "", url = ""], id) => ({
    id,
    children: [],
    callFrame: { functionName, url, scriptId: "0", lineNumber: 1, columnNumber: 1 },
  }));
  const samples = ["idle", "doors", "pg", "idle", "doors", "writing", "garbage", "rest", "doors", "pg"].map(
    (name) => ids[name] ?? NaN,
  );

  const found = Object.entries(sharesOf({ nodes, samples })).filter(([, share]) => share > 0);

  expect(Object.fromEntries(found)).toEqual({ writing: 1 / 8, pg: 2 / 8, doors: 3 / 8, garbage: 1 / 8, rest: 1 / 8 });
});

it("compares answers by their content, not by their form", () => {
  const reply = (text: string, type = "application/json; charset=utf-8") => ({ status: 200, type, text });
  const answer = reply('{"data":{"memory":{"id":"a","createdAt":"2026-01-01T00:00:00.000Z"}}}');
  const alike = reply(
    '{"data":{"memory":{"id":"a","createdAt":"2026-01-01T00:00:00.000000+00:00"}}}\n',
    "application/json;charset=UTF-8",
  );

  expect(comparable(alike, false)).toBe(comparable(answer, false));
  for (const other of [
    reply(answer.text, "text/plain"),
    reply(answer.text.replace("00:00.0", "00:01.0")),
    reply(answer.text.replace('"a"', '"b"')),
    reply('{"data":{"memory":{"createdAt":"2026-01-01T00:00:00.000Z","id":"a"}}}'),
    { ...answer, status: 201 },
  ]) {
    expect(comparable(other, false)).not.toBe(comparable(answer, false));
  }
  expect(comparable(reply(answer.text.replace('"a"', '"b"')), true)).toBe(comparable(answer, true));
});
