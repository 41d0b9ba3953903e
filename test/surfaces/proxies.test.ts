import type { IncomingMessage } from "node:http";
import { expect, it } from "vitest";
import type { Logger } from "../../src/platform/telemetry/logger.js";
import { ProxyWarnings } from "../../src/surfaces/client-address.js";
import { ask } from "../support/http.js";
import { exchange, saidIn } from "../support/socket.js";
import { type World, createWorld } from "../support/world.js";

/** How many requests without a key the address that these headers name has left. */
async function leftFor(url: string, headers: Record<string, string>): Promise<number> {
  const answer = await ask(`${url}/nothing`, { headers });
  return Number(/r=(\d+)/.exec(answer.headers.get("ratelimit") ?? "")?.[1]);
}

const warnings = (world: World) => world.log.filter((line) => line.includes("TRUSTED_PROXIES"));

it("finds a client's address without the port that some proxies write behind it", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({ TRUSTED_PROXIES: "1" });
  const left = (address: string) => leftFor(url, { "x-forwarded-for": address });

  const v4 = ["192.0.2.1", "192.0.2.1:50000", "::ffff:192.0.2.1", "[::ffff:192.0.2.1]:443", "192.0.2.9, 192.0.2.1:1"];
  const v6 = ["2001:db8::1", "[2001:db8::1]", "[2001:db8::2]:50000", "2001:DB8:0:0::3"];
  const unknown = ["unknown", "_hidden", "[unknown]:1"];
  const counts = [];
  for (const address of [...v4, ...v6, ...unknown]) counts.push(await left(address));

  expect(counts).toEqual([v4, v6, unknown].flatMap((same) => same.map((_, index) => 299 - index)));
});

it("warns once a minute of a proxy that TRUSTED_PROXIES does not count", async () => {
  await using world = await createWorld();
  const direct = await world.serve();

  await leftFor(direct.url, {});
  expect(warnings(world)).toEqual([]);
  for (const name of ["x-forwarded-for", "forwarded"]) await leftFor(direct.url, { [name]: "for=192.0.2.1" });
  expect(warnings(world)).toHaveLength(1);

  const behind = await world.serve({ TRUSTED_PROXIES: "1" });
  await leftFor(behind.url, { "x-forwarded-for": "192.0.2.1" });
  expect(warnings(world)).toHaveLength(1);
});

it("warns once a minute of a proxy that does not tell the client's address, except in health checks", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({ TRUSTED_PROXIES: "1" });

  for (const path of ["/healthz", "/readyz"]) await ask(`${url}${path}`);
  await leftFor(url, { "x-forwarded-for": "192.0.2.1" });
  expect(warnings(world)).toEqual([]);
  for (const headers of [{ "x-forwarded-for": "," }, {}, {}]) {
    await leftFor(url, headers);
    expect(warnings(world)).toHaveLength(1);
  }

  expect(warnings(world).map((line) => JSON.parse(line) as object)).toEqual([
    expect.objectContaining({ level: "warn", msg: expect.stringContaining("X-Forwarded-For") as string }),
  ]);
});

it("warns when X-Forwarded-For has fewer addresses than TRUSTED_PROXIES says, as a client could pretend any", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({ TRUSTED_PROXIES: "2" });

  await leftFor(url, { "x-forwarded-for": "192.0.2.1, 192.0.2.8" });
  expect(warnings(world)).toEqual([]);
  for (let time = 0; time < 2; time++) await leftFor(url, { "x-forwarded-for": "192.0.2.1" });

  expect(warnings(world)).toEqual([expect.stringMatching(/fewer addresses.*can pretend any address/)]);
  // What it warns of.
  expect(await leftFor(url, { "x-forwarded-for": "192.0.2.2, 192.0.2.1" })).toBe(299);
});

it("warns when X-Forwarded-For always has more addresses than TRUSTED_PROXIES says", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({ TRUSTED_PROXIES: "1" });
  const ask = async (addresses: string, times: number) => {
    for (let time = 0; time < times; time++) await leftFor(url, { "x-forwarded-for": addresses });
  };

  // Somebody writes the header, and others do not.
  await ask("192.0.2.1, 192.0.2.2", 99);
  await ask("192.0.2.3", 1);
  await ask("192.0.2.1, 192.0.2.4", 99);
  expect(warnings(world)).toEqual([]);
  await ask("192.0.2.1, 192.0.2.4", 2);

  expect(warnings(world)).toEqual([expect.stringMatching(/more addresses.*docs\/operations\.md/)]);
});

it("names a proxy in its warnings, and no client that comes without one", () => {
  const named = ["10.1.2.3", "::ffff:10.1.2.3", "203.0.113.7", "2001:db8::7"].map((remoteAddress) => {
    const logged: object[] = [];
    const log = { warn: (fields: object) => void logged.push(fields) } as unknown as Logger;
    new ProxyWarnings({ log, trustedProxies: 1 }).look({ headers: {}, socket: { remoteAddress } } as IncomingMessage);
    return logged;
  });

  expect(named).toEqual([
    [{ proxy: "10.1.2.3", addresses: 0 }],
    [{ proxy: "::ffff:10.1.2.3", addresses: 0 }],
    [{ addresses: 0 }],
    [{ addresses: 0 }],
  ]);
});

it("does not tell the clients of a proxy how long the proxy's connections last", async () => {
  await using world = await createWorld();
  const direct = await world.serve();
  const behind = await world.serve({ TRUSTED_PROXIES: "1" });
  const persistence = async (url: string, header = "") => {
    const answer = await exchange(url, `GET /healthz HTTP/1.1\r\nHost: a\r\n${header}\r\n`);
    return answer.match(/^(?:keep-alive|connection): .*(?=\r)/gim);
  };

  expect(await persistence(direct.url)).toEqual(["Connection: keep-alive", "Keep-Alive: timeout=65"]);
  expect(await persistence(behind.url)).toEqual(["Connection: keep-alive"]);
  expect(await persistence(behind.url, "Connection: close\r\n")).toEqual(["Connection: close"]);
});

it("tells which other protocol a proxy speaks", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const begins = {
    "PROXY TCP4 192.0.2.1 192.0.2.2 50000 80\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n": "proxy_protocol",
    "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x01\xc0\0\x02\x02\xc3\x50\0\x50GET / HTTP/1.1\r\n\r\n":
      "proxy_protocol",
    [`\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03${"a".repeat(500)}`]: "tls",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n": "http_2",
    "QUIT\r\n": "malformed_request",
  };

  for (const [bytes, why] of Object.entries(begins)) {
    const answer = await exchange(url, Buffer.from(bytes, "latin1"), { silenceMs: 30_000 });
    expect(saidIn(answer)).toEqual({ status: 400, closes: true, why });
    expect(world.log.at(-1)).toContain(`"failures":["${why}"]`);
  }
});
