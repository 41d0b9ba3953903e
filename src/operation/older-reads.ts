import type { Database } from "../platform/database/database.js";
import type { Replica } from "../platform/database/replica.js";
import type { Context } from "./context.js";
import { Failure, Unavailable } from "./failure.js";
import type { DatabaseShares } from "./shares.js";

/** Of a caller who accepts answers that are a little old. */
export interface ReadAfter {
  /** The position up to which the caller has seen the database. */
  readonly position: bigint;
  /** Tells the caller a later position. */
  tell(position: bigint): void;
}

/** The replica, each account's share of it, and the primary's position. */
export interface OlderReads {
  readonly replica: Pick<Replica, "has" | "leaveAlone">;
  readonly shares: DatabaseShares;
  /** How far the primary has written. */
  position(): Promise<bigint>;
}

/** For one request of such a caller. `database` is the account's share of the replica. */
export interface OlderRead extends ReadAfter {
  readonly database: Database;
}

/**
 * Runs a read on the replica, if the caller accepts older answers and the replica has everything that the caller has
 * seen. Otherwise, and again after a failure of the replica, runs it on the primary.
 */
export const readOlder = <T>(context: Context, read: (context: Context) => Promise<T>): Promise<T> =>
  context.older && context.readAfter ? readOnReplica(context, context.older, context.readAfter, read) : read(context);

async function readOnReplica<T>(
  context: Context,
  { replica }: OlderReads,
  { position, database }: OlderRead,
  read: (context: Context) => Promise<T>,
): Promise<T> {
  if (!(await replica.has(position))) return read(context);
  try {
    return await read({ ...context, database });
  } catch (error) {
    // The primary would refuse the same, and a search that is too slow here is so there.
    if (error instanceof Failure && !(error instanceof Unavailable)) throw error;
    // Of a caller whose share is in use, the replica is not to blame: others read there.
    if (!(error instanceof Unavailable && ["busy", "share"].includes(error.why))) replica.leaveAlone(error);
    return read(context);
  }
}

/** A position that no replica ever reaches. */
const NEVER = (1n << 64n) - 1n;

/** Tells a caller who accepts older answers the position from which on a replica has their change. */
export async function tellPosition({ older, readAfter }: Context): Promise<void> {
  // The change is stored already, so it must not fail because of this.
  if (older && readAfter) readAfter.tell(await older.position().catch(() => NEVER));
}
