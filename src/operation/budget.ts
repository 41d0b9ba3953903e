import { isIPv6 } from "node:net";
import type { Context } from "./context.js";
import { CommonFailure } from "./failure.js";

/** How much of something there may be within a time that begins with the first of it. */
export interface Allowance {
  readonly limit: number;
  readonly windowMs: number;
}

export const HOUR_MS = 3_600_000;

export class RateLimited extends CommonFailure {
  static readonly example = new RateLimited(12);
  readonly kind = "rate_limited";
  override readonly retryAfterSeconds: number;

  constructor(retryAfterSeconds: number) {
    super(`Too many requests. Try again in ${retryAfterSeconds} s.`);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/**
 * Takes one from the budget of this name.
 * @throws RateLimited when there is none left; then nothing is taken.
 */
export async function spend({ budgets }: Pick<Context, "budgets">, name: string, allowance: Allowance): Promise<void> {
  const { used, resetMs } = await budgets.take(name, { ...allowance, cost: 1 });
  if (used + 1 > allowance.limit) throw new RateLimited(Math.max(1, Math.ceil(resetMs / 1_000)));
}

/** Takes one from the budget that whoever asks from this address has for something, with a key or without. */
export const spendAsClient = (
  context: Pick<Context, "budgets" | "clientAddress">,
  name: string,
  allowance: Allowance,
): Promise<void> => spend(context, `${name}:from:${networkOf(context.clientAddress)}`, allowance);

/** What an address is counted by: who has one IPv6 address has the 2^64 of its network, so they count as one. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped) return mapped;
  if (!isIPv6(address)) return address;
  const [head = "", tail] = address.split("%", 1).join("").split("::");
  const [before, after] = [head.split(":").filter(Boolean), (tail ?? "").split(":").filter(Boolean)];
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  return [...before, ...Array.from({ length: zeros }, () => "0"), ...after].slice(0, 4).join(":");
}
