import type { Database } from "../platform/database.js";
import type { Replica } from "../platform/replica.js";
import type { Context } from "./context.js";
import { Failure } from "./failure.js";
import type { DatabaseShares } from "./shares.js";

/** What a caller says who takes answers that are a little old: how far they have seen, and where to tell them more. */
export interface ReadAfter {
  readonly position: bigint;
  tell(position: bigint): void;
}

/** A replica that all accounts share, and the primary's position. */
export interface OlderReads {
  readonly replica: Pick<Replica, "has" | "leaveAlone">;
  readonly shares: DatabaseShares;
  /** How far the primary has written. */
  position(): Promise<bigint>;
}

/** For one request of such a caller: the replica as its account may use it. */
export interface OlderRead extends ReadAfter {
  readonly database: Database;
}

/**
 * Runs a read: on the replica if the caller takes older answers and it has all that they have seen; on the primary
 * otherwise, and again there if the replica fails.
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
    if (error instanceof Failure && error.kind !== "unavailable") throw error;
    replica.leaveAlone(error);
    return read(context);
  }
}

/** No replica ever has it. */
const NEVER = (1n << 64n) - 1n;

/** Tells a caller who takes older answers after which position they see their own change. */
export async function tellPosition({ older, readAfter }: Context): Promise<void> {
  // The change is stored already, so it must not fail because of this.
  if (older && readAfter) readAfter.tell(await older.position().catch(() => NEVER));
}
