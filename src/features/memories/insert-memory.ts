import type { Context } from "../../operation/context.js";
import { refuseWithoutRoom, roomIn } from "./graph-room.js";
import type { Memory } from "./memory.js";
import { type Contents, forStatement, memoryBytes } from "./memory-columns.js";
import { storeMemory } from "./memory-statements.js";

/**
 * Stores a memory by one statement. Undefined if another memory of the graph has its client id.
 * @throws what `refuseWithoutRoom` throws.
 */
export async function insertMemory(context: Context, graphId: string, contents: Contents): Promise<Memory | undefined> {
  const { caller, database, newId, now } = context;
  const [id, time] = [newId(), now()];
  const place = { graphId, id, ...forStatement(contents), userId: caller.userId, time };
  const [answer] = await database
    .run(storeMemory, { ...place, bytes: memoryBytes(contents), ...roomIn(context, graphId) })
    .catch((error: unknown) => refuseWithoutRoom(context, graphId, error));
  if (!answer?.stored) return undefined;
  return {
    graphId,
    id,
    ...contents,
    version: 1,
    createdBy: caller.userId,
    createdAt: time,
    updatedAt: time,
    relationships: [],
    relationshipsTotal: 0,
    supersededBy: null,
  };
}
