import { Field, ID } from "type-graphql";
import { type Mark, Marked } from "./bounds.js";
import { combine } from "./combine.js";

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A UUID that no row has, and that is below all others. */
export const NIL_ID = "00000000-0000-0000-0000-000000000000";
/** A UUID that no row has, and that is above all others. */
export const MAX_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** The lowest UUIDv7 of a time, or of 1970 if that is later. */
export function lowestIdAt(time: Date): string {
  const digits = Math.max(0, time.getTime()).toString(16).padStart(12, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-000000000000`;
}

/** Longest id that a client may give a memory. */
export const CLIENT_ID_MAX = 200;

/**
 * A field of an input that holds an id, or a list of ids. `withinBounds` replaces a malformed id by one that no row
 * has, so the answer is the same as for an unknown id, and converts others to lower case, as ids are stored.
 */
export const IdField = (description: string): PropertyDecorator => MarkedId(description, "id");

/** The same for the id of a memory: ours, or the one that a client has given it. */
export const MemoryIdField = (description: string): PropertyDecorator => MarkedId(description, "memoryId");

const MarkedId = (description: string, mark: Mark): PropertyDecorator =>
  combine(
    Field(() => ID, { description }),
    Marked(mark),
  );
