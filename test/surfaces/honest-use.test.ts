import { expect, it } from "vitest";
import { startApp } from "../../src/app.js";
import { readConfig } from "../../src/config.js";
import { newReport, runImport } from "../../src/import/run-import.js";
import { ServiceClient } from "../../src/import/service-client.js";
import { LIMITS } from "../../src/limits.js";
import { loggerTo } from "../../src/platform/telemetry/logger.js";
import { ProcessBudgets } from "../../src/platform/rate-limit/rate-limiter.js";
import { readText } from "../support/imports.js";
import { PATIENT, PATIENT_DOORS } from "../support/patience.js";
import { roundsOf } from "../support/rounds.js";
import { createWorld } from "../support/world.js";

/** Half memories, half relationships. */
const ITEMS = 2 * roundsOf(10_000);
const ITEMS_OF_CALL = 500;

it(`lets an import of ${ITEMS} items through with every limit on`, async () => {
  await using world = await createWorld();
  const log: string[] = [];
  // No limit depends on time: the account's budget runs a thousand times faster than the clock, and waits may be long.
  const budgets = new ProcessBudgets(() => performance.now() * 1_000);
  const config = readConfig({ PORT: "0", NODE_ENV: "test" });
  const logger = loggerTo({ write: (line) => void log.push(line) }, "info");
  const patience = { http: { ...LIMITS.http, ...PATIENT_DOORS }, waits: PATIENT };
  await using app = await startApp(config, world.databaseUrl, logger, { budgets, ...patience });
  const ann = await world.user();
  const names = Array.from({ length: ITEMS / 2 }, (_, index) => `Entity ${index}`);
  const lines = [
    ...names.map((name) => ({ type: "entity", name, entityType: "thing", observations: [`About ${name}.`] })),
    ...names.map((from, index) => ({
      type: "relation",
      from,
      to: names[(index + 1) % names.length],
      relationType: "leads to",
    })),
  ];
  const graph = readText(lines.map((line) => JSON.stringify(line)).join("\n"));
  const pauses: string[] = [];
  const store = new ServiceClient({
    url: app.url,
    key: ann.key,
    signal: AbortSignal.timeout(600_000),
    onPause: (seconds, why) => void pauses.push(`${seconds} s: ${why}`),
  });
  const report = newReport(graph);

  await runImport(graph, { store, report, onStep: () => {} });

  expect(report).toMatchObject({
    memories: { created: ITEMS / 2 },
    relationships: { created: ITEMS / 2 },
    notTaken: [],
  });
  expect(pauses).toEqual([]);
  expect(log.filter((line) => line.includes('"status":201')).length).toBe(Math.ceil(ITEMS / ITEMS_OF_CALL));
});
