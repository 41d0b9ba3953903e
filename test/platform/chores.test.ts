import { expect, it, onTestFinished, vi } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { Unavailable } from "../../src/operation/failure.js";
import { startChores } from "../../src/platform/chores.js";
import { DatabaseUnavailable, UNAVAILABLE } from "../../src/platform/database/database-errors.js";
import { readConfig } from "../../src/config.js";
import { choresOf } from "../../src/chores.js";
import { createMailer } from "../../src/platform/mailer.js";
import { loggerTo } from "../../src/platform/telemetry/logger.js";
import { warnSeldom } from "../../src/platform/telemetry/warn-seldom.js";
import { createWorld } from "../support/world.js";

it("runs the jobs of every subject", async () => {
  await using world = await createWorld();
  const config = readConfig({});
  const mailer = await createMailer(config, world.services.log);
  const names = choresOf(config, world.services, mailer).map(({ name }) => name);

  expect(names.sort()).toEqual([
    "count words",
    "empty graphs of deleted teams and users",
    "forget OAuth records",
    "forget audit",
    "forget billing accounts",
    "forget billing requests",
    "forget ended keys",
    "forget invitations",
    "forget mails",
    "forget payment events",
    "forget results",
    "forget sign-up codes",
    "forget who was invited",
    "forget words",
    "reconcile billing",
    "send mails",
  ]);
});

it("says with a warning how many of its kind were left out before", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const lines: string[] = [];
  const log = loggerTo({ write: (line) => void lines.push(line) }, "info");
  const warn = () => warnSeldom(log, "fault", {}, "it failed");

  for (let times = 0; times < 3; times++) warn();
  vi.advanceTimersByTime(LIMITS.log.noteEveryMs);
  warn();
  vi.advanceTimersByTime(LIMITS.log.noteEveryMs);
  warn();

  const left = lines.map((line) => (JSON.parse(line) as { suppressed?: number }).suppressed);
  expect(left).toEqual([undefined, 2, undefined]);
});

it("logs what to do where a job fails because of the database", async () => {
  const lines: string[] = [];
  const run = async () => {
    throw Object.assign(new Error("cannot execute INSERT in a read-only transaction"), { code: "25006" });
  };
  const log = loggerTo({ write: (line) => void lines.push(line) }, "info");
  await using _chores = startChores([{ name: "first", intervalMs: 1, run }], log);

  await expect.poll(() => lines.join("")).toContain(UNAVAILABLE.read_only);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ chore: "first", why: "read_only" });
});

it("logs once a minute why jobs fail because of the database: for all of them together, unless it is of one job", async () => {
  const lines: string[] = [];
  const errors = {
    // Jobs have one share of the connections.
    first: new Unavailable("share"),
    second: new DatabaseUnavailable("busy", "timeout"),
    third: new DatabaseUnavailable("lost", "timeout"),
    // Statements of one job may be slow where those of others are not.
    fourth: new DatabaseUnavailable("slow", "timeout"),
    fifth: new DatabaseUnavailable("slow", "timeout"),
  };
  const tries = new Map(Object.keys(errors).map((name) => [name, 0]));
  const log = loggerTo({ write: (line) => void lines.push(line) }, "info");
  const chores = Object.entries(errors).map(([name, error]) => ({
    name,
    intervalMs: 1,
    run: async () => {
      tries.set(name, (tries.get(name) ?? 0) + 1);
      throw error;
    },
  }));
  await using _chores = startChores(chores, log);

  await expect.poll(() => Math.min(...tries.values())).toBeGreaterThan(20);

  const logged = lines.map((line) => JSON.parse(line) as { chore: string; why: string; msg: string });
  expect(logged.map(({ chore, why }) => [chore, why])).toEqual([
    ["first", "busy"],
    ["third", "lost"],
    ["fourth", "slow"],
    ["fifth", "slow"],
  ]);
  expect(logged[0]?.msg).toContain(UNAVAILABLE.busy);
});

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

it("starts a job again if its run never ends, and logs that once", async () => {
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

it("lets a slow run finish, and never starts another one beside it", async () => {
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

it("waits at its end for the runs, not for the next ones, and has as many jobs as wanted without a warning", async () => {
  const warnings: string[] = [];
  const note = ({ name }: Error) => void warnings.push(name);
  process.on("warning", note);
  onTestFinished(() => void process.off("warning", note));
  let [ended, waiting] = [0, 0];
  const quick = async () => ++waiting < 0;
  const slow = async () => {
    await new Promise((done) => setTimeout(done, 50));
    return ++ended < 0;
  };
  const chores = Array.from({ length: 20 }, (_, index) => ({
    name: `job ${index}`,
    intervalMs: 86_400_000,
    run: index === 0 ? slow : quick,
  }));

  const running = startChores(chores, loggerTo({ write: () => {} }, "info"));
  // Now the quick ones wait, and Node has emitted its warnings.
  await new Promise(setImmediate);
  await running[Symbol.asyncDispose]();

  expect({ ended, waiting, warnings }).toEqual({ ended: 1, waiting: 19, warnings: [] });
});
