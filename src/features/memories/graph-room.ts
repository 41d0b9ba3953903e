import { LIMITS } from "../../limits.js";
import type { Caller, Context, GraphBounds } from "../../operation/context.js";
import { Failure, Unauthorized } from "../../operation/failure.js";
import { FOREIGN_KEY_VIOLATION, sqlStateOf } from "../../platform/database.js";
import { NoTeamGraph } from "./graph.js";
import { measureMemories, settleChange } from "./graph-room-statements.js";

/** SQLSTATEs of the functions that count what a graph holds; see the migration `graph_usage`. */
const TOO_MANY_MEMORIES = "GF001";
const TOO_MANY_BYTES = "GF002";

/** A graph holds as much as the plan that counts for it allows: nothing was stored. */
export class GraphFull extends Failure {
  static readonly example = new GraphFull(LIMITS.storage.free);
  readonly kind = "conflict";
  override readonly reason = "graph_full";
  override readonly details: { readonly memoriesMax: number; readonly bytesMax: number };

  constructor({ memories, bytes }: GraphBounds) {
    super(
      `This graph is full: by its plan it holds at most ${memories.toLocaleString("en")} memories and ` +
        `${bytes.toLocaleString("en")} bytes, with earlier versions and relationships. Delete memories that nobody ` +
        "needs, or take a larger plan.",
    );
    this.details = { memoriesMax: memories, bytesMax: bytes };
  }
}

/** What a graph of the caller's may hold: the team's by the team's plan, their own by the one that counts for them. */
export function boundsOf({ caller, storage }: Pick<Context, "caller" | "storage">, graphId: string): GraphBounds {
  return storage[graphId === caller.team?.graphId ? caller.team.plan : caller.plan];
}

/** How far a graph may grow, as the statements that make it grow take it. */
export function roomIn(context: Pick<Context, "caller" | "storage">, graphId: string) {
  const { memories: memoriesMax, bytes: bytesMax } = boundsOf(context, graphId);
  return { memoriesMax, bytesMax };
}

/** How much a change adds to a graph, or frees where it is negative. */
export interface Growth {
  readonly memories?: number;
  readonly bytes: number;
}

/**
 * Refuses what cannot fit before any work is done and without waiting for anybody; `settle` decides.
 * @throws what `refuseWithoutRoom` does.
 */
export async function assertRoom(
  context: Pick<Context, "caller" | "storage" | "database">,
  graphId: string,
  { memories = 0, bytes }: Growth,
): Promise<void> {
  const held = await context.database.models.graphUsage.findUnique({ where: { graphId } });
  if (!held) throw goneWith(context.caller, graphId);
  const bounds = boundsOf(context, graphId);
  const isFull =
    (memories > 0 && held.memories + memories > bounds.memories) ||
    (bytes > 0 && Number(held.bytes) + bytes > bounds.bytes);
  if (isFull) throw new GraphFull(bounds);
}

/**
 * Counts a change, exactly, also while others change the graph, and lets the words of the memories that it wrote be
 * found. The last step of a change: from here on, others wait for the end of its transaction.
 * @throws what `refuseWithoutRoom` does.
 */
export async function settle(
  context: Pick<Context, "caller" | "storage" | "database">,
  graphId: string,
  { memories = 0, bytes, written = [] }: Growth & { readonly written?: readonly string[] },
): Promise<void> {
  await context.database
    .run(settleChange, { graphId, written, memories, bytes, ...roomIn(context, graphId) })
    .catch((error: unknown) => refuseWithoutRoom(context, graphId, error));
}

/** What memories take with all that hangs on them; none of it changes until the end of the transaction. */
export async function measure(
  { database }: Pick<Context, "database">,
  graphId: string,
  ids: readonly string[] | null,
): Promise<Required<Growth> & { readonly versions: number }> {
  const [held] = await database.run(measureMemories, { graphId, ids });
  return { memories: held?.memories ?? 0, bytes: held?.bytes ?? 0, versions: held?.versions ?? 0 };
}

/**
 * Says what the database refused.
 * @throws GraphFull when there is no room left; NoTeamGraph or Unauthorized when the graph was deleted, with its team
 * or its user, since this request began.
 */
export function refuseWithoutRoom(
  context: Pick<Context, "caller" | "storage">,
  graphId: string,
  error: unknown,
): never {
  const state = sqlStateOf(error);
  if (state === TOO_MANY_MEMORIES || state === TOO_MANY_BYTES) throw new GraphFull(boundsOf(context, graphId));
  if (state === FOREIGN_KEY_VIOLATION) throw goneWith(context.caller, graphId);
  throw error;
}

/** What is asked for in a graph that was deleted, with its team or its user. */
export const goneWith = ({ personalGraphId }: Caller, graphId: string): Failure =>
  graphId === personalGraphId ? new Unauthorized() : new NoTeamGraph();
