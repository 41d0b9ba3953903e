import type { BudgetState, Budgets, Charge } from "../../src/platform/rate-limit/rate-limiter.js";
import { built } from "./built.js";
import { type Order, serve } from "./child.js";

const { startApp } = await built<typeof import("../../src/app.js")>("app.js");
const { readConfig } = await built<typeof import("../../src/config.js")>("config.js");
const { createLogger } =
  await built<typeof import("../../src/platform/telemetry/logger.js")>("platform/telemetry/logger.js");
const { ProcessBudgets } = await built<typeof import("../../src/platform/rate-limit/rate-limiter.js")>(
  "platform/rate-limit/rate-limiter.js",
);

/**
 * The limits are those of production, and every request is counted. But whoever has used up a budget gets a new one:
 * the load is that of many users who each use all that their plan allows.
 */
class RenewedBudgets implements Budgets {
  readonly #budgets = new ProcessBudgets();
  readonly #renewals = new Map<string, number>();

  async take(name: string, charge: Charge): Promise<BudgetState> {
    const renewals = this.#renewals.get(name) ?? 0;
    const taken = await this.#budgets.take(`${name}/${renewals}`, charge);
    if (taken.used + Math.max(1, charge.cost) <= charge.limit) return taken;
    this.#renewals.set(name, renewals + 1);
    return this.#budgets.take(`${name}/${renewals + 1}`, charge);
  }

  /** The requests of the benchmark have no use limits. */
  use: Budgets["use"] = (name, allowance) => this.#budgets.use(name, allowance);
  close = (): Promise<void> => this.#budgets.close();
}

/** The service as production starts it, except for the budgets. */
serve(async ({ databaseUrl }: Order) => {
  const log = createLogger("info", { buffered: true });
  const config = readConfig({ NODE_ENV: "production", PORT: "0" });
  const { url } = await startApp(config, databaseUrl, log, { budgets: new RenewedBudgets() });
  return Number(new URL(url).port);
});
