import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { beforeAll, expect, it } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { ask } from "../support/http.js";
import { openConnection, exchange, saidIn } from "../support/socket.js";
import { createWorld } from "../support/world.js";

const HTML = "text/html,*/*;q=0.1";

beforeAll(() => {
  execFileSync(process.execPath, [".config/run.mjs", "--no-build", "--playground"], { stdio: "inherit" });
});

/** The path of one file of each kind that is served to browsers. */
async function pathsAt(url: string): Promise<string[]> {
  const docs = String((await ask(`${url}/docs`)).body);
  const playground = String((await ask(`${url}/graphql`, { headers: { accept: HTML } })).body);
  const assets = [/\.(\/docs\/[^"]+\.css)/.exec(docs)?.[1], /\.(\/docs\/[^"]+\/start\.js)/.exec(docs)?.[1]];
  const scripts = [/\/playground\/assets\/[^"]+\.js/.exec(playground)?.[0]];
  return ["/graphql", "/docs", "/docs/access", "/docs/errors", "/openapi.json", ...assets, ...scripts].map(String);
}

/** Conditional headers, each with the statuses that a file without an ETag may be answered with. */
const CONDITIONS: ReadonlyArray<readonly [header: string, value: string, statuses: readonly number[]]> = [
  ["range", "bytes=0-9", [200]],
  ["range", "bytes=99999999999-", [200]],
  ["range", `bytes=${"0-0,".repeat(2_000)}1-1`, [200]],
  ["if-range", '"x"', [200]],
  ["if-none-match", '"x"', [200]],
  ["if-none-match", "*", [200, 304]],
  ["if-modified-since", "nonsense", [200]],
  ["if-modified-since", "Mon, 01 Jan 2040 00:00:00 GMT", [200, 304]],
  ["if-match", '"x"', [200, 400]],
  ["if-match", "*", [200, 400]],
  ["if-unmodified-since", "Mon, 01 Jan 1990 00:00:00 GMT", [200, 400]],
  ["accept-encoding", "*;q=0", [200]],
  ["accept-encoding", ";q=x,,,identity;q=0", [200]],
  ["cache-control", "no-store, max-age=x", [200]],
];

it("serves its files whole for any condition or range, or refuses with an error that is not cached", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({ TRUSTED_PROXIES: "1" });
  const paths = await pathsAt(url);
  let client = 0;

  for (const path of paths) {
    for (const method of ["GET", "HEAD"]) {
      for (const [header, value, statuses] of CONDITIONS) {
        const headers = { accept: HTML, [header]: value, "x-forwarded-for": `10.0.${client >> 8}.${client++ & 255}` };
        const answer = await ask(url + path, { method, headers });
        const what = [method, path, header, value].join(" ");
        expect(statuses, what).toContain(answer.status);
        if (answer.status !== 400) continue;
        expect(answer.headers.get("content-type"), what).toBe("application/json; charset=utf-8");
        expect(answer.headers.get("cache-control"), what).toBe("no-store");
        expect([answer.headers.get("etag"), answer.headers.get("last-modified")], what).toEqual([null, null]);
        if (method === "GET") expect(JSON.stringify(answer.body), what).toMatch(/^\{"errors?":/);
      }
    }
  }
  expect(world.bugs).toEqual([]);
});

it("keeps one copy of a document, however many clients request it without reading", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({ TRUSTED_PROXIES: "1" });
  const { length } = await (await fetch(`${url}/openapi.json`)).text();
  const megabytes = () => process.memoryUsage().arrayBuffers / 1_048_576;
  const before = megabytes();
  const sockets = Array.from({ length: 10 }, () => openConnection(url));
  for (const [client, socket] of sockets.entries()) {
    // From different addresses, because each address has a limit.
    const head = `GET /openapi.json HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 10.1.0.${client}\r\n\r\n`;
    socket.write(head.repeat(LIMITS.http.pipelined));
  }
  // Wait until each has received part of its first answer, and a later request is served.
  await Promise.all(sockets.map((socket) => once(socket, "readable")));
  await ask(`${url}/openapi.json`);

  // The system buffers part of the answers, so fewer wait in the process than were requested.
  expect((sockets.length * LIMITS.http.pipelined * length) / 1_048_576).toBeGreaterThan(100);
  expect(megabytes() - before).toBeLessThan(10);
  for (const socket of sockets) socket.destroy();
});

it("serves no other paths, needs no key there, and refuses other methods", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const status = async (target: string, method = "GET") =>
    saidIn(await exchange(url, `${method} ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)).status;
  const folders = ["/playground/assets", "/docs", "/docs/x"];
  const names = ["", "/", "/nothing", "/.git", "/%00", "/%ff", "/%", `/${"a".repeat(5_000)}`, "/a".repeat(3_000)];
  const climbs = ["/..%2f..%2findex.html", "/../../index.html", "/..%5c..%5cindex.html", "/%2e%2e/%2e%2e/package.json"];

  for (const folder of folders) {
    for (const name of [...names, ...climbs]) {
      const isThere = folder === "/docs" && ["", "/"].includes(name);
      expect([folder + name, await status(folder + name)]).toEqual([folder + name, isThere ? expect.any(Number) : 404]);
    }
  }
  for (const path of ["/docs", "/docs/limits", "/openapi.json", "/playground/assets/x.js", "/billing/return"]) {
    for (const method of ["POST", "PUT", "DELETE"]) expect([path, await status(path, method)]).toEqual([path, 405]);
  }
  expect(world.bugs).toEqual([]);
});
