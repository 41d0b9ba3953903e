import { hash } from "node:crypto";
import { LIMITS } from "../../limits.js";
import { UseLog } from "./use-log.js";

/** The state of a budget when it was charged. */
export interface BudgetState {
  /** How much of the window's budget was used before. */
  readonly used: number;
  /** In how many milliseconds the window ends; at most its length. */
  readonly resetMs: number;
}

export interface Charge {
  readonly limit: number;
  readonly cost: number;
  /** The length of the window; always the same for one name. */
  readonly windowMs?: number;
}

/** Budgets by name, each for a window that begins with its first use; a minute by default. */
export interface Budgets {
  /**
   * Takes `cost` if the budget has enough left, otherwise nothing, in one atomic step. The cost was taken if, and only
   * if, `used + cost <= limit`.
   */
  take(name: string, charge: Charge): Promise<BudgetState>;
  /**
   * How many milliseconds ago each use of the last `windowMs` was, oldest first. Notes another use, in the same atomic
   * step, if there were fewer than `limit`.
   */
  use(name: string, allowance: { limit: number; windowMs: number }): Promise<readonly number[]>;
  close(): Promise<void>;
}

const { windowMs: WINDOW_MS } = LIMITS.budgets;
/**
 * How many budgets of one window length a process keeps, about 200 bytes each. Ended ones are deleted; beyond this
 * number, the oldest are, too.
 */
const REMEMBERED_MAX = 100_000;
const NAME_MAX_LENGTH = 64;

/** A longer name, such as one with a long e-mail address, is stored as its hash. */
const shortName = (name: string): string => (name.length <= NAME_MAX_LENGTH ? name : hash("sha256", name, "base64"));

/** Budgets in this process: exact if it is the only one. */
export class ProcessBudgets implements Budgets {
  /** By window length, so that in each map the windows that end first come first. */
  readonly #windowsByLength = new Map<number, Map<string, Window>>();
  readonly #uses = new UseLog();

  /** `clock` returns milliseconds since any fixed moment. */
  constructor(private readonly clock: () => number = () => performance.now()) {}

  async take(name: string, { limit, cost, windowMs = WINDOW_MS }: Charge): Promise<BudgetState> {
    // Whole milliseconds: with fractions, rounding could make a window longer than it is.
    const now = Math.floor(this.clock());
    const windows = this.#windowsByLength.get(windowMs) ?? new Map<string, Window>();
    this.#windowsByLength.set(windowMs, windows);
    const key = shortName(name);
    let window = windows.get(key);
    if (!window || window.endsAt <= now) {
      // Deleted and added again, so that the oldest come first.
      windows.delete(key);
      window = { used: 0, endsAt: now + windowMs };
      windows.set(key, window);
      removeOld(windows, now);
    }
    const { used, endsAt } = window;
    if (used + cost <= limit) window.used += cost;
    return { used, resetMs: endsAt - now };
  }

  async use(name: string, allowance: { limit: number; windowMs: number }): Promise<readonly number[]> {
    return this.#uses.use(shortName(name), allowance, this.clock());
  }

  async close(): Promise<void> {}
}

interface Window {
  used: number;
  readonly endsAt: number;
}

function removeOld(windows: Map<string, Window>, now: number): void {
  for (const [name, { endsAt }] of windows) {
    if (endsAt > now && windows.size <= REMEMBERED_MAX) return;
    windows.delete(name);
  }
}
