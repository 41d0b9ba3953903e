import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, inject, it } from "vitest";
import { environmentForProcess } from "../support/environment.js";
import { comparable } from "./measure.js";

const PEERS = ["mercurius", "yoga", "apollo", "postgraphile"];
/** Only `npm run bench -- --peers` installs them. */
const arePeersInstalled = PEERS.every((name) => existsSync(`test/bench/peers/${name}/node_modules/.installed`));
const out = mkdtempSync(join(tmpdir(), "bench-"));
afterAll(() => rmSync(out, { recursive: true }));

it(`measures servers that answer alike${arePeersInstalled ? "" : ", without the peers, which are not installed"}`, async () => {
  const env = { ...environmentForProcess(), DATABASE_URL: inject("databaseServer").url, BENCH_MEMORIES: "2000" };
  const args = ["--quick", "--rounds", "1", "--json", "--out", out, ...(arePeersInstalled ? ["--peers"] : [])];

  const { stdout, stderr } = await promisify(execFile)("npm", ["run", "--silent", "bench", "--", ...args], { env });

  expect(stderr).toContain("answer alike.");
  const { results } = JSON.parse(stdout) as { results: Array<{ name: string; servers: Record<string, object> }> };
  const serversOf = new Map(results.map(({ name, servers }) => [name, Object.keys(servers)]));
  const others = arePeersInstalled ? PEERS : [];
  expect(results).toHaveLength(9);
  expect(serversOf.get("rest-get")).toEqual(["floor", "service"]);
  expect(serversOf.get("graphql-get")).toEqual(["floor", "service", ...others]);
  const rows = readFileSync(join(out, "speed.md"), "utf8").match(/^\| (?:rest|graphql)-.*\d \|/gm);
  expect(rows).toHaveLength(results.flatMap(({ servers }) => Object.keys(servers)).length);
  expect(readFileSync(join(out, "speed.svg"), "utf8")).toMatch(/^<svg [^]*>this service<[^]*<\/svg>\n$/);
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
