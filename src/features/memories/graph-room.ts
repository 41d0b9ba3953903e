import { LIMITS } from "../../limits.js";
import type { Caller, Context, GraphBounds } from "../../operation/context.js";
import { Failure, Unauthorized } from "../../operation/failure.js";
import { FOREIGN_KEY_VIOLATION, sqlStateOf } from "../../platform/database.js";
import { NoTeamGraph } from "./graph.js";

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

/** The last two values of every statement that may make a graph grow. */
export function roomIn(context: Pick<Context, "caller" | "storage">, graphId: string): [number, number] {
  const { memories, bytes } = boundsOf(context, graphId);
  return [memories, bytes];
}

/**
 * Says what the database refused.
 * @throws GraphFull when there is no room left; NoTeamGraph or Unauthorized when the graph was deleted, with its team or
 * its user, since this request began.
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

const goneWith = ({ personalGraphId }: Caller, graphId: string): Failure =>
  graphId === personalGraphId ? new Unauthorized() : new NoTeamGraph();
