import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";

/** Asked before the client is given its core: afterwards this process may use only that one. */
export const CORES = availableParallelism();
const isAble = process.platform === "linux" && CORES > 1;
const pinned = new Set<number>();
let refused = !isAble;

/** One core for the client, the others for whom it asks: else what the client costs would be the servers' loss. */
export function pinClient(): void {
  pin(process.pid, "0");
}

/** Processes of servers, or of the database; those that are pinned already stay so. */
export function pinServer(pids: readonly number[]): void {
  for (const pid of pids) pin(pid, CORES === 2 ? "1" : `1-${CORES - 1}`);
}

/** What the numbers depend on, as a sentence. */
export const saysShares = (): string =>
  refused
    ? "The client shares the cores with the servers."
    : "The client has one core to itself, the servers and PostgreSQL have the rest.";

/** Of processes that belong to others, only root may choose the cores. */
function pin(pid: number, cores: string): void {
  if (!isAble || pinned.has(pid)) return;
  pinned.add(pid);
  if (spawnSync("taskset", ["-apc", cores, String(pid)]).status !== 0) refused = true;
}
