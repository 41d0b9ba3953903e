import { afterEach, expect, it, vi } from "vitest";
import { program as user } from "../../src/commands/user.js";
import { oauthChores } from "../../src/features/oauth/index.js";
import { createBillingWorld, sendEvent } from "../support/billing.js";
import { runHere } from "../support/commands.js";
import { ask } from "../support/http.js";
import { useLimits } from "../support/limits.js";
import { OAuthWalker, serveWithOAuth } from "../support/oauth.js";
import { createWorld } from "../support/world.js";

const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;
const NOTE = { type: "fix", title: "Retry", content: "Wait longer each time." };
/** How long a test may take on a busy machine. */
const BUSY_MS = 50_000;

// Otherwise what a busy PostgreSQL tells late would correct nothing.
useLimits("clock", { roundTripMs: BUSY_MS });

const RealDate = Date;

/** Sets the clock of this machine, which goes on. The clock of the database stays right. */
function setClock(offByMs: number): void {
  class WrongDate extends RealDate {
    constructor(...parts: readonly unknown[]) {
      if (parts.length === 0) super(RealDate.now() + offByMs);
      else super(...(parts as [number]));
    }

    static override now = (): number => RealDate.now() + offByMs;
  }
  vi.stubGlobal("Date", WrongDate);
}

afterEach(() => void vi.unstubAllGlobals());

/** The time in a UUIDv7. */
const timeIn = (id: string): number => Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);

it("goes by the database's clock in commands, too, and warns on standard error", async () => {
  await using world = await createWorld();
  const begunAt = RealDate.now();
  setClock(DAY_MS);

  const words = ["create", "--email", "ann@example.com", "--json"];
  const { output, errors } = await runHere(user, words, { DATABASE_URL: world.databaseUrl });

  const { user_id: id } = JSON.parse(output) as { user_id: string };
  expect(timeIn(id)).toBeLessThan(begunAt + BUSY_MS);
  expect(errors).toContain("clocks of this machine");
});

it.each([-DAY_MS, -10 * MINUTE_MS, 10 * MINUTE_MS, DAY_MS])(
  "goes by the database's clock where this machine's is off by %d ms",
  async (offByMs) => {
    await using world = await createWorld();
    const { key } = await world.user();
    const begunAt = RealDate.now();
    setClock(offByMs);
    const app = await serveWithOAuth(world);
    const isNow = (time: number) => time > begunAt - 1_000 && time < begunAt + BUSY_MS;

    const memory = (await ask(`${app.url}/v1/memories`, { key, body: NOTE })).body as {
      id: string;
      created_at: string;
    };
    expect([timeIn(memory.id), RealDate.parse(memory.created_at)].map(isNow)).toEqual([true, true]);

    const expires = new RealDate(begunAt + 5 * MINUTE_MS).toISOString();
    const wish = { name: "A key", scopes: ["memories:read"], expires_at: expires };
    const { status, body } = await ask(`${app.url}/keys`, { key, body: wish });
    const made = body as { key: string; created_at: string };
    expect([status, isNow(RealDate.parse(made.created_at))]).toEqual([201, true]);
    expect((await ask(`${app.url}/v1/memories`, { key: made.key })).status).toBe(200);

    const program = new OAuthWalker(app.url, world);
    const { access_token: token } = await program.connect();
    expect((await program.say(token, "tools/list")).status).toBe(200);
    expect(world.log.filter((line) => line.includes("clocks of this machine"))).toHaveLength(1);
  },
);

it("goes by the database's clock when this machine's is set while it runs, and keeps newest first", async () => {
  await using world = await createWorld();
  const { key } = await world.user();
  const app = await serveWithOAuth(world);
  const program = new OAuthWalker(app.url, world);
  const { body: client } = await program.register();
  const code = (await program.agree(client.client_id)).get("code") ?? "";
  const made: string[] = [];
  const store = async () => {
    const { body } = await ask(`${app.url}/v1/memories`, { key, body: NOTE });
    made.push((body as { id: string }).id);
  };

  const begunAt = RealDate.now();
  for (const offByMs of [0, 365 * DAY_MS, 0, -60 * MINUTE_MS, 0]) {
    setClock(offByMs);
    await store();
  }
  setClock(20 * MINUTE_MS);
  const { status, body: tokens } = await program.exchange(client.client_id, code);
  const list = (await ask(`${app.url}/v1/memories`, { key })).body as {
    memories: { id: string; created_at: string }[];
  };

  expect(list.memories.map(({ id }) => id)).toEqual(made.toReversed());
  for (const { created_at } of list.memories) expect(RealDate.parse(created_at) - begunAt).toBeLessThan(BUSY_MS);
  expect(status).toBe(200);
  setClock(-20 * MINUTE_MS);
  expect((await program.say(tokens.access_token, "tools/list")).status).toBe(200);
});

it.each([-DAY_MS, DAY_MS])("tells by the database's clock when jobs succeeded, at %d ms", async (offByMs) => {
  await using world = await createWorld();
  const begunAt = RealDate.now();
  setClock(offByMs);
  const { metricsUrl = "" } = await world.serve({ METRICS_PORT: "0" });

  const text = String((await ask(metricsUrl)).body);
  const times = Array.from(
    text.matchAll(/^memory_graph_chore_last_success.* (\S+)$/gm),
    ([, at]) => Number(at) * 1_000,
  );

  expect(times.length).toBeGreaterThan(5);
  expect(times.filter((at) => at < begunAt - 2_000 || at > begunAt + BUSY_MS)).toEqual([]);
});

it.each([-DAY_MS, DAY_MS])("deletes nothing old while the clocks contradict each other, by %d ms", async (offByMs) => {
  await using world = await createWorld();
  const { pool } = world.database;
  await pool.query(
    "INSERT INTO oauth_record (kind, hash, payload, expires_at) VALUES ('old', sha256('1'), '{}', now())",
  );
  const [forget] = oauthChores(world.services);
  const left = async () => (await pool.query("SELECT FROM oauth_record")).rowCount;

  setClock(offByMs);
  await expect(forget?.run()).rejects.toThrow(/contradict each other, so nothing old is deleted/);
  expect(await left()).toBe(1);
  setClock(0);
  await forget?.run();
  expect(await left()).toBe(0);
});

it("takes the events that Stripe has just signed, and no older ones, whatever this machine's clock says", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const event = JSON.stringify({ id: "evt_1", object: "event", type: "x", data: { object: {} } });
  const signedAt = (ms: number) => ({ timestamp: Math.floor(ms / 1_000) });
  const statuses = [];

  for (const offByMs of [10 * MINUTE_MS, -10 * MINUTE_MS]) {
    setClock(offByMs);
    for (const age of [0, 10 * MINUTE_MS])
      statuses.push((await sendEvent(world, event, signedAt(RealDate.now() - age))).status);
  }

  expect(statuses).toEqual([200, 400, 200, 400]);
});
