import { expect, it } from "vitest";
import { startChores } from "../../src/platform/chores.js";
import { loggerTo } from "../../src/platform/logger.js";

it("logs a failing job once a minute, however often it runs", async () => {
  const lines: string[] = [];
  let tries = 0;
  const run = async () => {
    tries += 1;
    throw new Error("The database is away.");
  };
  const chores = ["first", "second"].map((name) => ({ name, intervalMs: 1, run }));
  await using _chores = startChores(chores, loggerTo({ write: (line) => void lines.push(line) }, "info"));

  await expect.poll(() => tries).toBeGreaterThan(20);

  expect(lines.map((line) => (JSON.parse(line) as { chore: string }).chore).sort()).toEqual(["first", "second"]);
});

it("starts a job again whose run never ends, and logs that once", async () => {
  const lines: string[] = [];
  let tries = 0;
  const run = () => {
    tries += 1;
    return new Promise<boolean>(() => {});
  };
  const log = loggerTo({ write: (line) => void lines.push(line) }, "info");
  await using _chores = startChores([{ name: "stuck", intervalMs: 1, run }], log, { runMs: 20 });

  await expect.poll(() => tries).toBeGreaterThan(3);

  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain("has not ended after 20 ms");
});

it("lets a slow run end, and never starts another one beside it", async () => {
  const [events, lines]: [string[], string[]] = [[], []];
  const run = async () => {
    events.push("begun");
    await new Promise((done) => setTimeout(done, 50));
    events.push("ended");
    return events.length < 6;
  };
  const log = loggerTo({ write: (line) => void lines.push(line) }, "info");
  await using _chores = startChores([{ name: "slow", intervalMs: 60_000, run }], log, { runMs: 30_000 });

  await expect.poll(() => events.length).toBe(6);

  expect(events).toEqual(["begun", "ended", "begun", "ended", "begun", "ended"]);
  expect(lines).toEqual([]);
});
