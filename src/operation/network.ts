import { isIP, isIPv6 } from "node:net";
import { LIMITS } from "../limits.js";

/** Addresses that are counted together, and how many times the budget of one address they have. */
export interface Network {
  readonly network: string;
  readonly shares: number;
}

/**
 * The networks for which an address is counted, smallest first: a request that the smaller one refuses takes nothing
 * from the larger one. An IPv6 address counts for its /64, and for its /48, which one customer of a provider may have.
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

/** The address itself for IPv4, the first 64 bits for IPv6, in one spelling. Anything else is `unknown`. */
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

/** Rewrites the last 32 bits, which IPv6 allows to be written as an IPv4 address, as two groups. */
function groupsOfIPv4(text: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = text.split(".").map(Number);
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}
