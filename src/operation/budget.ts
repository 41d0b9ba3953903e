import { isIP, isIPv6 } from "node:net";
import { LIMITS } from "../limits.js";
import type { Context } from "./context.js";
import { CommonFailure } from "./failure.js";

/** How much of something there may be within a time that begins with the first of it. */
export interface Allowance {
  readonly limit: number;
  readonly windowMs: number;
}

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
export async function spendAsClient(
  context: Pick<Context, "budgets" | "clientAddress">,
  name: string,
  { limit, windowMs }: Allowance,
): Promise<void> {
  for (const { network, shares } of networksOf(context.clientAddress)) {
    await spend(context, `${name}:from:${network}`, { limit: limit * shares, windowMs });
  }
}

/** Addresses that are counted together, and how many times the budget of one address they have. */
export interface Network {
  readonly network: string;
  readonly shares: number;
}

/**
 * What an address is counted by, smallest first: who is refused as the smaller has taken nothing from the larger. An
 * address of IPv6 counts as the 2^64 of its network, and with the 2^16 such networks that a customer of a provider has.
 */
export function networksOf(address: string): Network[] {
  const network = networkOf(address);
  if (!isIPv6(address) || isIP(network) === 4) return [{ network, shares: 1 }];
  const customer = `${network.split(":").slice(0, 3).join(":")}::/48`;
  return [
    { network, shares: 1 },
    { network: customer, shares: LIMITS.budgets.networksPer48 },
  ];
}

/** The address itself for IPv4, the first 64 bits for IPv6, in one spelling. What is no address is all counted as one. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return isIP(address) ? address : "unknown";
  const groups = groupsOf(address);
  const [high = 0, low = 0] = groups.slice(6);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return [high >> 8, high & 255, low >> 8, low & 255].join(".");
  return groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(":");
}

/** The eight groups of 16 bits of an IPv6 address. */
function groupsOf(address: string): number[] {
  const [plain = ""] = address.split("%", 1);
  const [head = "", tail] = plain.replace(/[\d.]+\.[\d.]+$/, groupsOfIPv4).split("::");
  const read = (part: string) => part.split(":").flatMap((group) => (group ? [Number.parseInt(group, 16)] : []));
  const [before, after] = [read(head), read(tail ?? "")];
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after];
}

/** IPv6 may spell its last two groups as IPv4 does. */
function groupsOfIPv4(text: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = text.split(".").map(Number);
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}
