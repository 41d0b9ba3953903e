import { type ChildProcessByStdio, spawn } from "node:child_process";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";

const MODULE = JSON.stringify(
  pathToFileURL(resolve(import.meta.dirname, "../../dist/modules/platform/telemetry/report-pauses.js")).href,
);

/** Reports pauses of 400 ms and more, and is busy, or has its clock set forward, for 600 ms when it reads the word. */
const PROGRAM = `
  import { createInterface } from "node:readline";
  import { reportPauses } from ${MODULE};
  const write = (line) => process.stdout.write(JSON.stringify(line) + "\\n");
  const timeOfDay = Date.now;
  const { cpuUsage } = process;
  const faults = {
    busy() {
      const [before, end] = [cpuUsage(), performance.now() + 600];
      while (performance.now() < end);
      // As if other programs had taken nothing of it.
      const { user, system } = cpuUsage(before);
      process.cpuUsage = () => { const now = cpuUsage(); now.user += 600_000 - user - system; return now; };
    },
    clock() { Date.now = () => timeOfDay() + 600; },
  };
  createInterface({ input: process.stdin }).on("line", (word) => faults[word]());
  reportPauses({ warn: (fields, message) => write({ ...fields, message }) }, { lookMs: 20, reportMs: 400 });
  write("ready");
`;

interface Report {
  readonly seconds: number;
  readonly message: string;
}

// A machine that is busy with other tests may pause the process as well.
describe("the report of pauses", { retry: 3 }, () => {
  it.each<[string, string, (child: Child) => unknown]>([
    ["it was stopped", "did not run", stopFor600Ms],
    ["it was busy", "was busy", (child) => child.stdin.write("busy\n")],
    [
      "its clock was set forward, as after the sleep of a machine",
      "did not run",
      (child) => child.stdin.write("clock\n"),
    ],
  ])("says that %s", async (_name, said, fail) => {
    await using started = await start();

    await fail(started.child);
    const { message, seconds } = await started.nextLine<Report>();

    expect(message).toContain(said);
    expect(seconds).toBeGreaterThanOrEqual(0.4);
  });
});

type Child = ChildProcessByStdio<Writable, Readable, null>;

async function start() {
  const child = spawn(process.execPath, ["--input-type=module", "-e", PROGRAM], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async <T>() => JSON.parse((await lines.next()).value as string) as T;
  expect(await nextLine()).toBe("ready");
  return { child, nextLine, [Symbol.asyncDispose]: async () => void child.kill("SIGKILL") };
}

async function stopFor600Ms(child: Child): Promise<void> {
  child.kill("SIGSTOP");
  await sleep(600);
  child.kill("SIGCONT");
}
