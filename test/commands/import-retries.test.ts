import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, describe, it } from "vitest";
import { program as exporting } from "../../src/commands/export.js";
import { ImportStopped } from "../../src/import/import-stopped.js";
import { runHere } from "../support/commands.js";
import { environmentForProcess } from "../support/environment.js";
import { RETRY, clientOf, entity, fakeService, fileWith, jsonLines, reportOf, runText } from "../support/imports.js";

describe("retries", () => {
  it("waits as long as Retry-After says, and retries each request with its own idempotency key", async () => {
    const refusals = new Set<string>();
    const pauses: unknown[] = [];
    const service = await fakeService((request) => {
      const key = String(request.headers["idempotency-key"]);
      if (request.method === "GET" || refusals.has(key)) return undefined;
      refusals.add(key);
      return { status: 429, headers: { "retry-after": "1" } };
    });
    const startedAt = Date.now();

    const client = clientOf(service.url, "key", { onPause: (...pause) => void pauses.push(pause) });
    const result = await runText(client, jsonLines(...RETRY));

    expect(result).toEqual(reportOf({ memories: { created: 2 }, relationships: { created: 1 } }));
    expect(pauses).toEqual([
      [1, "rate limit reached"],
      [1, "rate limit reached"],
    ]);
    expect(Date.now() - startedAt).toBeGreaterThan(1_900);
    const keys = service.requests
      .filter(({ method }) => method === "POST")
      .map(({ headers }) => headers["idempotency-key"]);
    expect(keys).toHaveLength(4);
    expect(new Set(keys).size).toBe(2);
  });

  it("retries after a lost connection, and while the service is busy", async () => {
    const troubles = ["lost", "none", "lost", 503, 524];
    const service = await fakeService((request) => {
      const trouble = troubles.shift();
      if (trouble === "lost") request.socket.destroy();
      return typeof trouble === "number" ? { status: trouble, headers: { "retry-after": "0" } } : undefined;
    });

    const result = await runText(clientOf(service.url, "key"), jsonLines(entity("A", "x")));

    expect(result).toEqual(reportOf({ memories: { created: 1 } }));
    const keys = service.requests
      .filter(({ method }) => method === "POST")
      .map(({ headers }) => headers["idempotency-key"]);
    expect(keys).toHaveLength(4);
    expect(new Set(keys).size).toBe(1);
  });

  it.each([
    [503, 5],
    [429, 60],
  ])("gives up when every answer has the status %i, after %i retries", async (status, retries) => {
    const service = await fakeService(() => ({ status, headers: { "retry-after": "0" } }));

    const result = runText(clientOf(service.url, "key"), jsonLines(entity("A", "x")));

    await expect(result).rejects.toThrow(`is still busy after many attempts (status ${status}). Try again later.`);
    expect(service.requests).toHaveLength(1 + retries);
  });

  it("says once that concurrent requests wait, and waits ten minutes at most", async () => {
    const memories = Array.from({ length: 4 }, (_, index) => {
      const title = `Entity ${index}`;
      return { id: randomUUID(), type: "x", title, content: title, tags: ["mcp-memory"], version: 1 };
    });
    const service = await fakeService(({ method }) =>
      method === "GET"
        ? { status: 200, body: { memories, next_cursor: null } }
        : { status: 429, headers: { "retry-after": "86400" } },
    );
    const [pauses, interrupt]: [number[], AbortController] = [[], new AbortController()];
    const onPause = (seconds: number) => void pauses.push(seconds);
    const client = clientOf(service.url, "key", { onPause, signal: interrupt.signal });
    const text = jsonLines(...memories.map(({ title }) => entity(title, "x", "More")));
    const stopped = expect(runText(client, text)).rejects.toThrow("aborted");

    await expect.poll(() => service.requests.length).toBe(1 + memories.length);
    interrupt.abort();

    await stopped;
    expect(pauses).toEqual([600]);
  });

  it("begins no further update after one that ends the import", async () => {
    const names = Array.from({ length: 100 }, (_, index) => `Entity ${index}`);
    const memories = names.map((title, index) => {
      return { id: randomUUID(), type: "x", title, content: title, tags: ["mcp-memory"], version: index };
    });
    let updates = 0;
    const service = await fakeService(({ method }) => {
      if (method === "GET") return { status: 200, body: { memories, next_cursor: null } };
      return updates++ > 0 ? undefined : { status: 403, body: { error: { code: "forbidden", message: "Not here." } } };
    });

    const result = runText(clientOf(service.url, "key"), jsonLines(...names.map((name) => entity(name, "x", "More"))));

    await expect(result).rejects.toThrow("Not here.");
    expect(updates).toBeLessThan(names.length);
  });

  it("waits until the date of Retry-After, by the server's clock", async () => {
    const date = new Date("2019-06-01T12:00:00Z");
    const later = (seconds: number) => new Date(date.getTime() + seconds * 1_000).toUTCString();
    const answers = [later(2), "soon", later(-9)].map((when) => {
      return { status: 503, headers: { date: date.toUTCString(), "retry-after": when } };
    });
    const pauses: unknown[] = [];
    const service = await fakeService(() => answers.shift());
    const client = clientOf(service.url, "key", { onPause: (...pause) => void pauses.push(pause) });

    await runText(client, jsonLines(entity("A", "x")));

    expect(pauses).toEqual([2, 1, 0].map((seconds) => [seconds, "service busy"]));
  });

  it("tries again only after statuses that may pass", async () => {
    const tried = async (status: number) => {
      const service = await fakeService(() => ({ status, headers: { "retry-after": "0" }, body: "busy" }));
      await expect(runText(clientOf(service.url, "key"), jsonLines(entity("A", "x")))).rejects.toThrow(`${status}`);
      return service.requests.length;
    };

    for (const status of [408, 502, 503, 504, 524, 530]) expect([status, await tried(status)]).toEqual([status, 6]);
    for (const status of [500, 501, 505, 507, 511, 525]) expect([status, await tried(status)]).toEqual([status, 1]);
  });

  it("says of an export that a proxy does not reach the service now", async () => {
    const file = join(tmpdir(), `no-export-${randomUUID()}`);
    for (const [status, said] of [
      [503, "$ cannot be reached now (status 503). Try again later."],
      [511, "The server at $ is not this service (status 511). Check --url."],
    ] as const) {
      const { url } = await fakeService(() => ({ status, body: "busy" }));
      const { code, errors } = await runHere(exporting, [file, "--url", url, "--key", "key"], {});
      expect([code, errors]).toEqual([1, `${said.replace("$", url)}\n`]);
    }
  });

  it("says that a server speaks no TLS", async () => {
    const { url } = await fakeService(() => undefined);
    const importing = runText(clientOf(url.replace("http:", "https:"), "key"), jsonLines(entity("A", "x")));

    await expect(importing).rejects.toThrow(/does not speak TLS .*it may begin with http:/);
  });

  it("names the address to use for one that redirects, and sends nothing there", async () => {
    const real = await fakeService(() => undefined);
    const moved = (to: string) => `redirects to ${to}. Give that address by --url.`;
    const changed = (from: string, to: string) =>
      `redirects ${from} to ${to}, which the service never does. Let a proxy in front of it pass on paths as they are, ` +
      "or check --url.";
    const ways: [number, (own: string, path: string) => string, (own: string, path: string) => string][] = [
      [301, (_own, path) => real.url + path, () => moved(real.url)],
      [307, (_own, path) => `${real.url}/below${path}?state=secret`, () => moved(`${real.url}/below`)],
      [308, (_own, path) => `${real.url}${path}/`, () => moved(real.url)],
      [308, (own, path) => `${own.replace("http", "https")}${path}`, (own) => moved(own.replace("http", "https"))],
      [301, (_own, path) => `${path}/`, (_own, path) => changed(path, `${path}/`)],
      [302, (own, path) => own + path, (_own, path) => changed(path, path)],
      [
        302,
        () => "/login?state=secret",
        (own) => `redirects to ${own}/login, which is not the service. Give the service's own address by --url.`,
      ],
    ];
    for (const [status, locate, say] of ways) {
      const service = await fakeService(({ url: path = "" }) => {
        return { status, headers: { location: locate(service.url, path.split("?")[0] ?? "") } };
      });
      const { url } = service;
      const importing = runText(clientOf(url, "key"), jsonLines(entity("A", "x")));
      await expect(importing).rejects.toThrow(new ImportStopped(`${url} ${say(url, "/v1/memories")}`));
      const file = join(tmpdir(), `no-export-${randomUUID()}`);
      const exported = await runHere(exporting, [file, "--url", url, "--key", "key"], {});
      expect(exported).toEqual({ code: 1, output: "", errors: `${url} ${say(url, "/v1/export")}\n` });
    }
    expect(real.requests).toEqual([]);
  });

  it("takes a status without an address for no redirect", async () => {
    const { url } = await fakeService(() => ({ status: 304 }));

    await expect(runText(clientOf(url, "key"), jsonLines(entity("A", "x")))).rejects.toThrow(/304/);
  });

  it("goes on when nobody reads the progress any more", async () => {
    const answers = [{ status: 429, headers: { "retry-after": "1" } }];
    const { url } = await fakeService(({ method }) => (method === "POST" ? answers.shift() : undefined));
    const file = await fileWith(jsonLines(entity("A", "x")));

    const words = ["dist/commands/import.js", file, "--url", url, "--key", "key"];
    const child = spawn(process.execPath, words, { env: environmentForProcess() });
    child.stderr.destroy();
    const [output] = await Promise.all([text(child.stdout), once(child, "exit")]);

    expect([child.exitCode, output]).toEqual([0, expect.stringContaining("1 read = 1 made")]);
  });
});
