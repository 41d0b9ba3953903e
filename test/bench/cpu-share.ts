import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";

/** Read before the client is pinned to its core: afterwards this process may use only that one. */
export const CORES = availableParallelism();
const isAble = process.platform === "linux" && CORES > 1;
/** The cores of each pinned process. */
const pinned = new Map<number, string>();
let refused = !isAble;

const CLIENT = "0";

/** One core for the client, the others for the servers and the database, so that the client takes none of their CPU. */
export function pinClient(): void {
  pin(process.pid, CLIENT);
}

/**
 * Lets the database share the client's core, until it is pinned again. A profile of a server would else count what
 * PostgreSQL does on the same core as the server's own work, mostly as its writing.
 */
export function pinBesideClient(pids: readonly number[]): void {
  for (const pid of pids) pin(pid, CLIENT);
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
  if (!isAble || pinned.get(pid) === cores) return;
  pinned.set(pid, cores);
  if (spawnSync("taskset", ["-apc", cores, String(pid)]).status !== 0) refused = true;
}
