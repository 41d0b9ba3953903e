import { LIMITS } from "../../limits.js";
import type { Context } from "../../operation/context.js";
import { ROW_BYTES } from "./memory-columns.js";

const BYTES_PER_REQUEST = LIMITS.views.countedPerRequest * ROW_BYTES;

/** What `chargeForCounting` charges for up to `most` rows, for documentation. */
export const costOfCounting = (most: number): string =>
  `counts as one request of the rate limit for each ${BYTES_PER_REQUEST / 1_000_000} MB that the graph holds, at most ` +
  `${most / LIMITS.views.countedPerRequest}`;

/**
 * Charges for counting up to `most` rows of a graph, by how many its bytes have room for. Not by how many were counted:
 * of requests that are sent at once, all would count before the first one is charged.
 * @returns how many memories the graph has
 * @throws RateLimited when fewer requests are left; then none is taken.
 */
export async function chargeForCounting(
  { charge, database: { models } }: Context,
  graphId: string,
  most: number,
): Promise<number> {
  const usage = await models.graphUsage.findUnique({ where: { graphId }, select: { memories: true, bytes: true } });
  const rows = Math.min(most, Number(usage?.bytes ?? 0) / ROW_BYTES);
  const cost = Math.ceil(rows / LIMITS.views.countedPerRequest);
  if (cost > 1) await charge(cost - 1);
  return usage?.memories ?? 0;
}
