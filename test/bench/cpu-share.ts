import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";

/** Read before the client is pinned to its core: afterwards this process may use only that one. */
export const CORES = availableParallelism();
const isAble = process.platform === "linux" && CORES > 1;
const pinned = new Set<number>();
let refused = !isAble;

/** One core for the client, the others for the servers and the database, so that the client takes none of their CPU. */
export function pinClient(): void {
  pin(process.pid, "0");
}

/** Pins processes of servers or of the database; those that are pinned already stay so. */
export function pinServer(pids: readonly number[]): void {
  for (const pid of pids) pin(pid, CORES === 2 ? "1" : `1-${CORES - 1}`);
}

/** A sentence about what the numbers depend on. */
export const saysShares = (): string =>
  refused
    ? "The client shares the cores with the servers."
    : "The client has one core to itself, the servers and PostgreSQL have the rest.";

/** Only root may choose the cores of other users' processes. */
function pin(pid: number, cores: string): void {
  if (!isAble || pinned.has(pid)) return;
  pinned.add(pid);
  if (spawnSync("taskset", ["-apc", cores, String(pid)]).status !== 0) refused = true;
}
