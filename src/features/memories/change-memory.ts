import { LIMITS } from "../../limits.js";
import type { Context } from "../../operation/context.js";
import { Failure } from "../../operation/failure.js";
import { refuseTakenId } from "./client-id-exists.js";
import { assertRoom, settle } from "./graph-room.js";
import type { Memory } from "./memory.js";
import { type Contents, SELECT_CONTENTS, UNREAD, bytesOf, jsonOf, memoryBytes } from "./memory-columns.js";
import { keepVersion, writeContext } from "./memory-statements.js";
import type { ResolvedPlace } from "./resolve-memory-id.js";
import type { Place } from "./read-memories.js";

export class VersionMismatch extends Failure {
  static readonly example = new VersionMismatch(4);
  readonly kind = "conflict";
  override readonly reason = "version_mismatch";
  override readonly details: { readonly version: number };

  constructor(version: number) {
    super(`The memory is at version ${version}. Read it again, then repeat the update on what it says now.`);
    this.details = { version };
  }
}

/** What to change in a memory, and the version that it must have; null accepts any version. */
export interface Change {
  readonly changes: Partial<Contents>;
  readonly expectedVersion: number | null;
}

/**
 * Changes a memory and keeps its previous state as a version. Call it in a transaction. Undefined if there is no such
 * memory.
 * @throws VersionMismatch, ClientIdExists, or what `settle` throws.
 */
export async function changeMemory(
  context: Context,
  place: ResolvedPlace,
  { changes, expectedVersion }: Change,
): Promise<Memory | undefined> {
  const { caller, database, now } = context;
  const { graphId, id, clientId = null } = place;
  const [kept] = await database.run(keepVersion, { graphId, id, clientId, expectedVersion });
  if (!kept) {
    if (expectedVersion !== null) await assertNotThere(context, place);
    return undefined;
  }
  // A lower bound: only the written row tells the exact number of bytes.
  await assertRoom(context, graphId, { bytes: bytesOf(Object.values(changes)) });
  const { context: changedContext, ...plain } = changes;
  if (changedContext !== undefined) {
    await database.run(writeContext, { graphId, id, context: jsonOf(changedContext) });
  }
  const [changed] = await database.models.memory
    .updateManyAndReturn({
      where: { graphId, id },
      data: { ...plain, version: { increment: 1 }, updatedBy: caller.userId, updatedAt: now() },
      omit: UNREAD,
    })
    .catch(refuseTakenId);
  if (!changed) return undefined;
  const freed = await dropOldVersions(context, place, kept.version - LIMITS.memory.versions);
  // The previous state is kept, so the graph grows by the whole new state, less the versions that were dropped.
  await settle(context, graphId, { bytes: memoryBytes(changed) - freed, written: [id] });
  return changed;
}

/** @throws VersionMismatch if the memory exists: then `keepVersion` skipped it for its version. */
async function assertNotThere({ database }: Context, place: ResolvedPlace): Promise<void> {
  const found = await database.models.memory.findFirst({ where: { ...place }, select: { version: true } });
  if (found) throw new VersionMismatch(found.version);
}

/** Deletes the versions up to `last`. Returns how many bytes that frees. */
async function dropOldVersions({ database }: Context, { graphId, id }: Place, last: number): Promise<number> {
  if (last < 1) return 0;
  const { memoryVersion } = database.models;
  const where = { graphId, memoryId: id, version: { lte: last } };
  const old = await memoryVersion.findMany({ where, select: SELECT_CONTENTS });
  await memoryVersion.deleteMany({ where });
  return old.reduce((sum, version) => sum + memoryBytes(version), 0);
}
