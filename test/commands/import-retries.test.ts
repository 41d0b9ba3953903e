import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, describe, it } from "vitest";
import { program as exporting } from "../../src/commands/export.js";
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

  it("gives up after five retries", async () => {
    const service = await fakeService(() => ({ status: 503, headers: { "retry-after": "0" } }));

    const result = runText(clientOf(service.url, "key"), jsonLines(entity("A", "x")));

    await expect(result).rejects.toThrow("is still busy after many attempts (status 503). Try again later.");
    expect(service.requests).toHaveLength(6);
  });

  it("names the address that a server redirects to, and sends nothing there", async () => {
    const real = await fakeService(() => undefined);
    const ways = { 301: real.url, 302: "/login?state=secret", 307: `${real.url}/below`, 308: real.url };
    for (const [status, to] of Object.entries(ways)) {
      const { url } = await fakeService(({ url: path = "" }) => {
        const location = to.startsWith("/") ? to : `${to}${path}`;
        return { status: Number(status), headers: { location } };
      });
      const shown = to.startsWith("/") ? `${url}/login` : to;
      const said = `${url} redirects to ${shown}. Give the service's own address by --url.`;

      await expect(runText(clientOf(url, "key"), jsonLines(entity("A", "x")))).rejects.toThrow(said);
      const file = join(tmpdir(), `no-export-${randomUUID()}`);
      const exported = await runHere(exporting, [file, "--url", url, "--key", "key"], {});
      expect(exported).toEqual({ code: 1, output: "", errors: `${said}\n` });
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
