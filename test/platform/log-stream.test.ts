import { createHook } from "node:async_hooks";
import { execFileSync, spawn } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { LogStream } from "../../src/platform/telemetry/log-stream.js";
import { loggerTo } from "../../src/platform/telemetry/logger.js";

const { waitingLength, lineBytes, listed } = LIMITS.log;
const LINE = `${"x".repeat(1_023)}\n`;

it("writes every line once and in order, buffered or not", async () => {
  for (const buffered of [true, false]) {
    const path = join(folder(), "log");
    const descriptor = openFile(path, constants.O_WRONLY | constants.O_CREAT);
    {
      await using stream = new LogStream(descriptor, { buffered });
      for (let n = 0; n < 500; n++) stream.write(`${n} ${LINE}`);
      await new Promise(setImmediate);
      for (let n = 500; n < 600; n++) stream.write(`${n} ${LINE}`);
    }
    expect(linesIn(path)).toEqual(Array.from({ length: 600 }, (_, n) => `${n} ${LINE.trim()}`));
  }
});

it("writes lines together: buffered ones at once, others as soon as the first is written", async () => {
  const writesOf = async (buffered: boolean) => {
    let writes = 0;
    const hook = createHook({ init: (_id, type) => void (type === "FSREQCALLBACK" && writes++) });
    const descriptor = openFile(join(folder(), "log"), constants.O_WRONLY | constants.O_CREAT);
    {
      await using stream = new LogStream(descriptor, { buffered });
      hook.enable();
      for (let n = 0; n < 30; n++) stream.write(`${n}\n`);
    }
    hook.disable();
    return writes;
  };
  expect([await writesOf(true), await writesOf(false)]).toEqual([1, 2]);
});

/** Resolves when so many of the writes that begin from now on have ended. */
function writesEnd(count: number): Promise<void> {
  const begun = new Set<number>();
  let left = count;
  return new Promise((done) => {
    const hook = createHook({
      init: (id, type) => void (type === "FSREQCALLBACK" && begun.add(id)),
      after(id) {
        if (!begun.has(id) || --left > 0) return;
        hook.disable();
        done();
      },
    }).enable();
  });
}

it("keeps running on a full disk, with limited memory", async () => {
  await using stream = new LogStream(openFile("/dev/full", constants.O_WRONLY), { buffered: true });
  const startedAt = performance.now();
  const tried = writesEnd(1);
  for (let n = 0; n < 100; n++) stream.write(LINE);
  await tried;
  const before = process.memoryUsage().heapUsed;

  for (let n = 0; n < 100_000; n++) stream.write(`${n}${LINE}`);

  // A hundred times as much as may wait was written.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(20 * waitingLength);
  expect(performance.now() - startedAt).toBeLessThan(5_000);
});

it("keeps running when the reader of the log has ended", async () => {
  const { descriptor, reader } = pipe();
  await using stream = new LogStream(descriptor, { buffered: false });
  closeSync(reader);
  const tried = writesEnd(1);
  for (let n = 0; n < 1_000; n++) stream.write(LINE);
  await tried;
  for (let n = 0; n < 1_000; n++) stream.write(LINE);
});

it("never waits for a pipe that nobody reads, and later logs how many lines it dropped", async () => {
  const { descriptor, reader } = pipe();
  const stream = new LogStream(descriptor, { buffered: true });
  const lines = Math.ceil((waitingLength + 200_000) / LINE.length);

  // The first one fills the pipe, so the second one is refused.
  const tried = writesEnd(2);
  for (let n = 0; n < lines; n++) stream.write(LINE);
  await tried;
  for (let n = 0; n < lines; n++) stream.write(LINE);
  const said: string[] = [];
  const dropped = () => Array.from(said.join("").matchAll(/"dropped_lines":(\d+)/g), ([, count]) => Number(count));
  const read = () => {
    said.push(readAll(reader));
    return said.join("").split("\n").filter(Boolean);
  };
  const lost = () => dropped().reduce((sum, count) => sum + count, 0);

  // No line is torn, and each is either there or counted as dropped.
  const written = () => read().filter((line) => `${line}\n` === LINE).length;
  await expect.poll(() => written() + lost()).toBe(2 * lines);
  expect(read()).toHaveLength(written() + dropped().length);
  expect(lost()).toBeGreaterThan(0);
  // As much may wait again as before.
  const [before, more] = [lost(), Math.floor(waitingLength / LINE.length)];
  for (let n = 0; n < more; n++) stream.write(LINE);
  await expect.poll(written).toBe(2 * lines - before + more);
  await stream[Symbol.asyncDispose]();
});

it("delays the shutdown by a second at most", async () => {
  const { descriptor } = pipe();
  const stream = new LogStream(descriptor, { buffered: true });
  for (let n = 0; n < 300; n++) stream.write(LINE);

  const startedAt = performance.now();
  await stream[Symbol.asyncDispose]();
  expect(performance.now() - startedAt).toBeLessThan(5_000);
});

it.each([
  ["a socket that nobody reads", "pipe"],
  ["a full disk", "/dev/full"],
] as const)("lets a process go on and end whose output is %s", async (_what, output) => {
  const script = `
    const { createLogger } = await import("./dist/modules/platform/telemetry/logger.js");
    const log = createLogger("info", { buffered: false });
    for (let n = 0; n < 3_000; n++) log.info({ text: "x".repeat(500) });
    await new Promise((done) => setTimeout(done, 200));
    await log[Symbol.asyncDispose]();
    process.stderr.write("ended");`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", output === "pipe" ? output : openFile(output, constants.O_WRONLY), "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  child.stderr?.on("data", (bytes) => (said += String(bytes)));
  const ended = new Promise((done) => child.once("exit", done));

  expect(await ended).toBe(0);
  expect(said).toBe("ended");
});

it("limits the length of every line", () => {
  const lines: string[] = [];
  const log = loggerTo({ write: (line) => void lines.push(line) }, "info");
  const long = '"\u{1F600}\\'.repeat(100_000);

  log.info({ request_id: long, operations: Array.from({ length: 10_000 }, () => "createMemory") });
  log.error({ err: new Error(long) });
  log.error({ err: new Error("outer", { cause: new Error(long) }) });
  log.error({ err: Object.assign(new Error("short"), { code: long }) });
  log.error({ err: long });
  log.warn(long);
  log.info({ short: true });

  expect(lines).toHaveLength(7);
  for (const line of lines) {
    expect(Buffer.byteLength(line)).toBeLessThanOrEqual(lineBytes);
    expect(JSON.parse(line)).toHaveProperty("level");
  }
  expect(listed).toBeLessThan(100);
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "log-stream-"));
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
}

function openFile(path: string, flags: number): number {
  const descriptor = openSync(path, flags);
  onTestFinished(() => closeSync(descriptor));
  return descriptor;
}

/** A pipe whose reading end does not block. */
function pipe(): { descriptor: number; reader: number } {
  const path = join(folder(), "pipe");
  execFileSync("mkfifo", [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return { descriptor: openFile(path, constants.O_WRONLY), reader };
}

function readAll(reader: number): string {
  const bytes = Buffer.alloc(262_144);
  try {
    return bytes.toString("utf8", 0, readSync(reader, bytes));
  } catch {
    return "";
  }
}

const linesIn = (path: string): string[] => readFileSync(path, "utf8").trim().split("\n");
