import { expect, it } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { ask } from "../support/http.js";
import { createWorld } from "../support/world.js";

const NOTE = { type: "general", title: "A note", content: "Something." };

it("lets pages of allowed origins call and read what answers tell, and no others", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({ ALLOWED_ORIGINS: "https://app.example.com" });
  const ann = await world.user();
  const allowed = async (origin: string) =>
    (await ask(`${url}/me`, { key: ann.key, headers: { origin } })).headers.get("access-control-allow-origin");
  const headers = { origin: "https://app.example.com" };
  const made = await ask(`${url}/v1/memories`, { key: ann.key, headers, body: NOTE });
  const refused = await ask(`${url}/v1/memories`, { method: "DELETE", key: ann.key, headers });
  const shown = made.headers.get("access-control-expose-headers")?.toLowerCase().split(",") ?? [];
  const preflight = await ask(`${url}/v1/memories`, {
    method: "OPTIONS",
    headers: {
      origin: "https://app.example.com",
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type,idempotency-key",
    },
  });

  expect(await allowed("https://app.example.com")).toBe("https://app.example.com");
  expect(await allowed("https://evil.example.com")).toBeNull();
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get("access-control-allow-headers")).toBe("authorization,content-type,idempotency-key");
  // Browsers ask again only after ten minutes.
  expect(preflight.headers.get("access-control-max-age")).toBe("600");
  const told = ["etag", "location", "ratelimit", "ratelimit-policy", "x-request-id"];
  for (const name of told) expect(made.headers.has(name), name).toBe(true);
  expect(refused.headers.has("allow")).toBe(true);
  expect(shown).toEqual(expect.arrayContaining([...told, "allow", "retry-after", "www-authenticate", "x-read-after"]));
});

it("lets pages of allowed origins read why the head of a request is refused", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({ ALLOWED_ORIGINS: "https://app.example.com" });
  const origin = "https://app.example.com";
  const { urlBytes, mediaTypesBytes, headers } = LIMITS.http;
  const many = Object.fromEntries(Array.from({ length: headers + 1 }, (_, index) => [`x-${index}`, "1"]));
  const longUrl = `${url}/graphql?query=${"a".repeat(urlBytes)}`;
  const refused = [
    await ask(longUrl, { headers: { origin } }),
    await ask(`${url}/graphql`, { headers: { origin, accept: "a".repeat(mediaTypesBytes + 1) } }),
    await ask(`${url}/me`, { headers: { origin, ...many } }),
  ];

  // Browsers ask before they send a key. If that is refused, the page learns nothing but that.
  const asking = { origin, "access-control-request-method": "GET", "access-control-request-headers": "authorization" };
  const preflight = await ask(longUrl, { method: "OPTIONS", headers: asking });

  expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, origin]);
  for (const { status, headers: told } of refused) {
    expect([status, told.get("access-control-allow-origin")]).toEqual([413, origin]);
  }
});

it.each(["development", "production"])(
  "lets pages of the same machine in while developing, at every door: %s",
  async (mode) => {
    await using world = await createWorld();
    const { url } = await world.serve({ NODE_ENV: mode });
    const local = ["http://localhost:5173", "http://localhost", "http://127.0.0.1:3000", "http://[::1]:8080"];
    const foreign = [
      "http://localhost.example.com",
      "http://localhost:5173.example.com",
      "http://127.0.0.1.example.com:80",
      "http://127.0.0.2:3000",
      "https://localhost:5173",
      "null",
    ];
    const allowed: string[] = [];
    for (const path of ["/v1/memories", "/graphql", "/teams/me"]) {
      for (const origin of [...local, ...foreign]) {
        const headers = { origin, "access-control-request-method": "POST" };
        const answer = await ask(url + path, { method: "OPTIONS", headers });
        const told = answer.headers.get("access-control-allow-origin");
        if (told !== null) allowed.push(told);
      }
    }

    expect(allowed).toEqual(mode === "development" ? [...local, ...local, ...local] : []);
  },
);
