import { expect, describe, it } from "vitest";
import { RETRY, clientOf, entity, fakeService, jsonLines, reportOf, runText } from "../support/imports.js";

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
    const troubles = ["lost", "none", "lost", 503, 502];
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
});
