import { expect, it } from "vitest";
import { CONNECTIONS_PER_ACCOUNT } from "../../src/operation/shares.js";
import { LIMITS } from "../../src/limits.js";
import { Waits } from "../../src/operation/waits.js";
import { ask } from "../support/http.js";
import { lockMemories } from "../support/locks.js";
import { type World, createWorld } from "../support/world.js";

interface Line {
  readonly operations: readonly string[];
  readonly duration_ms: number;
  readonly waited_ms?: Readonly<Record<string, number>>;
}

const linesOf = ({ log }: World): Line[] =>
  log.map((line) => JSON.parse(line) as Line).filter(({ operations }) => operations?.length > 0);
const BUSY_MS = 300;

it("tells for what a slow request has waited", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, {}, LIMITS.database);
  const ann = await world.user();
  const list = () => ask(`${url}/v1/memories`, { key: ann.key });
  await list();
  {
    await using _lock = await lockMemories(world);
    await Promise.all(Array.from({ length: CONNECTIONS_PER_ACCOUNT + 1 }, list));
  }

  const [fast, ...slow] = linesOf(world);
  expect(Object.keys(fast?.waited_ms ?? {})).not.toContain("lock");
  for (const what of ["lock", "account"]) {
    const waited = slow.map(({ waited_ms }) => waited_ms?.[what] ?? 0);
    expect([what, Math.max(...waited)]).toEqual([what, expect.toSatisfy((ms: number) => ms > 1_000)]);
  }
  for (const { duration_ms, waited_ms = {} } of slow) {
    for (const ms of Object.values(waited_ms)) expect(ms).toBeLessThanOrEqual(duration_ms + 1);
  }
});

it("counts the time in which the process was busy before it began a request", async () => {
  await using world = await createWorld();
  const { url, services } = await world.serve();
  const ann = await world.user();
  await ask(`${url}/v1/memories`, { key: ann.key });
  const find = services.database.run;
  let isBusy = false;
  // One request keeps the process busy; those that have arrived meanwhile wait.
  services.database.run = async (...given) => {
    if (isBusy) for (const end = performance.now() + BUSY_MS; performance.now() < end;) continue;
    isBusy = false;
    return find(...given);
  };
  isBusy = true;

  await Promise.all(Array.from({ length: 8 }, () => ask(`${url}/v1/memories`, { key: ann.key })));

  const [, ...lines] = linesOf(world);
  expect(lines.some(({ waited_ms }) => Object.values(waited_ms ?? {}).some((ms) => ms > BUSY_MS / 2))).toBe(true);
});

it("counts waits at the same time once, and leaves out short ones", async () => {
  const waits = new Waits();
  const turn = waits.of("turn");
  turn.start();
  turn.start();
  turn.stop();
  await expect.poll(() => turn.ms).toBeGreaterThan(20);
  turn.stop();
  waits.of("key").add(9);

  expect(waits.told).toEqual({ turn: Math.round(turn.ms) });
  const { ms } = turn;
  await new Promise((done) => setTimeout(done, 5));
  expect(turn.ms).toBe(ms);
});
