import { expect, it } from "vitest";
import { startChores } from "../../src/platform/chores.js";
import { loggerTo } from "../../src/platform/logger.js";

it("tells once a minute of a chore that fails, however often it is tried", async () => {
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
