import { expect, it, onTestFinished, vi } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { SharedClock, idsBy } from "../../src/platform/database/shared-clock.js";
import { loggerTo } from "../../src/platform/telemetry/logger.js";

const { differenceMs, roundTripMs } = LIMITS.clock;
const DAY_MS = 86_400_000;

it.each([
  ["takes the middle of the round trip as the time of an answer", roundTripMs, DAY_MS, DAY_MS + roundTripMs / 2],
  ["takes no time from an answer that is late", roundTripMs + 1, DAY_MS, 0],
  ["leaves a clock as it is that hardly differs", 0, differenceMs, 0],
  ["corrects a clock that differs more", 0, differenceMs + 1, differenceMs + 1],
])("%s", async (_name, tookMs, aheadMs, correctedMs) => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const readTime = async () => {
    vi.advanceTimersByTime(tookMs);
    return new Date(Date.now() + aheadMs);
  };
  const clock = new SharedClock({ readTime, log: loggerTo({ write: () => {} }, "info") });

  await clock.read();

  expect(clock.now().getTime() - Date.now()).toBe(correctedMs);
});

it("compares the clocks anew each time it is asked", async () => {
  let aheadMs = DAY_MS;
  const readTime = async () => new Date(Date.now() + aheadMs);
  const clock = new SharedClock({ readTime, log: loggerTo({ write: () => {} }, "info") });
  await clock.read();
  aheadMs = 0;
  await clock.read();

  expect(clock.now().getTime() - Date.now()).toBeLessThan(DAY_MS / 2);
});

it("reads the database's clock once for all who ask for the time after somebody has set this machine's clock", async () => {
  let reads = 0;
  const readTime = async () => {
    reads++;
    return new Date();
  };
  const clock = new SharedClock({ readTime, log: loggerTo({ write: () => {} }, "info") });
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  vi.setSystemTime(Date.now() + DAY_MS);

  for (let times = 0; times < 10; times++) clock.now();
  await clock.read();

  expect(reads).toBe(1);
});

it.each([
  ["goes back with a clock that was far ahead, and agrees with this machine's", 0, true],
  ["goes on where a clock is far behind this machine's", LIMITS.clock.contradictionMs + 1, false],
])("%s", (_name, machineAheadMs, goesBack) => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  let time = DAY_MS;
  const newId = idsBy(() => new Date(time));
  const first = newId();
  time -= LIMITS.clock.contradictionMs + 1;
  vi.setSystemTime(time + machineAheadMs);
  const ids = [0, 0, 1].map((stepMs) => {
    time += stepMs;
    return newId();
  });

  expect(ids).toEqual([...new Set(ids)].sort());
  const times = ids.map((id) => Number.parseInt(id.replace("-", "").slice(0, 12), 16));
  expect(times).toEqual(goesBack ? [time - 1, time - 1, time] : ids.map(() => DAY_MS));
  expect(ids.every((id) => id > first)).toBe(!goesBack);
});

it("makes ids that sort after the earlier ones, even if the clock goes back", () => {
  let time = DAY_MS;
  const newId = idsBy(() => new Date(time));
  const ids = [0, 0, -1, 1].map((stepMs) => {
    time += stepMs;
    return newId();
  });

  expect(ids).toEqual([...new Set(ids)].sort());
});
