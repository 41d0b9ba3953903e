import { LIMITS } from "../../limits.js";
import type { Caller, Context, GraphBounds, Plan } from "../../operation/context.js";
import { Failure, Unauthorized } from "../../operation/failure.js";
import { FOREIGN_KEY_VIOLATION, sqlStateOf } from "../../platform/database/database-errors.js";
import { NoTeamGraph } from "./graph.js";
import { measureMemories, settleChange } from "./graph-room-statements.js";

/** SQLSTATEs of the functions that count what a graph holds; see the migration `graph_usage`. */
const TOO_MANY_MEMORIES = "GF001";
const TOO_MANY_BYTES = "GF002";

/** What a caller can do about the plan that counts. */
interface LargerPlan {
  readonly isThere: boolean;
  /** Whether the plan is that of the team's owner, and not the caller's. */
  readonly isOwners: boolean;
  /** Whether the service sells plans. */
  readonly isSold: boolean;
}

const SOLD = "The owner of a team buys the plan Team for all of its members with `createTeamCheckout`.";
const SET = "The operator of this service sets it.";

/** The graph holds as much as its plan allows. Nothing was stored. */
export class GraphFull extends Failure {
  static readonly example = new GraphFull(LIMITS.storage.free, { isThere: true, isOwners: false, isSold: true });
  readonly kind = "conflict";
  override readonly reason = "graph_full";
  override readonly details: { readonly memoriesMax: number; readonly bytesMax: number };

  constructor({ memories, bytes }: GraphBounds, { isThere, isOwners, isSold }: LargerPlan) {
    const plan = isOwners ? "the plan of the team's owner" : "your plan";
    const larger = isThere
      ? `, or ${isOwners ? "let the owner take" : "take"} a larger plan. ${isSold ? SOLD : SET}`
      : ": there is no larger plan.";
    super(
      `This graph is full: by ${isThere ? plan : "its plan"} it holds at most ${memories.toLocaleString("en")} ` +
        `memories and ${bytes.toLocaleString("en")} bytes, with earlier versions and relationships. Delete memories ` +
        `that nobody needs${larger}`,
    );
    this.details = { memoriesMax: memories, bytesMax: bytes };
  }
}

/** The plan that counts for a graph of the caller. */
const planOf = ({ team, plan }: Caller, graphId: string): Plan => (graphId === team?.graphId ? team.plan : plan);

/** How much a graph of the caller may hold: the team's by the team's plan, the personal one by the caller's plan. */
export const boundsOf = ({ caller, storage }: Pick<Context, "caller" | "storage">, graphId: string): GraphBounds =>
  storage[planOf(caller, graphId)];

function graphFull({ caller, storage, billing }: Asked, graphId: string): GraphFull {
  const { team } = caller;
  const plan = planOf(caller, graphId);
  const isSold = billing.payments !== undefined;
  return new GraphFull(storage[plan], {
    // The plan Team is only sold.
    isThere: isSold ? plan !== "team" : plan === "free",
    isOwners: graphId === team?.graphId && team.role !== "owner",
    isSold,
  });
}

/** What a refusal depends on. */
type Asked = Pick<Context, "caller" | "storage" | "billing">;

/** The same bounds, as values for the statements that add to a graph. */
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
 * Refuses a change that cannot fit, before any work is done and without a lock. `settle` decides in the end.
 * @throws what `refuseWithoutRoom` throws.
 */
export async function assertRoom(
  context: Asked & Pick<Context, "database">,
  graphId: string,
  { memories = 0, bytes }: Growth,
): Promise<void> {
  const held = await context.database.models.graphUsage.findUnique({ where: { graphId } });
  if (!held) throw deletedGraphFailure(context.caller, graphId);
  const bounds = boundsOf(context, graphId);
  const isFull =
    (memories > 0 && held.memories + memories > bounds.memories) ||
    (bytes > 0 && Number(held.bytes) + bytes > bounds.bytes);
  if (isFull) throw graphFull(context, graphId);
}

/**
 * Adds a change to the graph's counts, exactly even under concurrent changes, and adds the words of written memories to
 * the lexicon. The last step of a change: from here on, other changes of the graph wait for the end of its transaction.
 * @throws what `refuseWithoutRoom` throws.
 */
export async function settle(
  context: Asked & Pick<Context, "database">,
  graphId: string,
  { memories = 0, bytes, written = [] }: Growth & { readonly written?: readonly string[] },
): Promise<void> {
  await context.database
    .run(settleChange, { graphId, written, memories, bytes, ...roomIn(context, graphId) })
    .catch((error: unknown) => refuseWithoutRoom(context, graphId, error));
}

/**
 * Locks memories and their relationships until the end of the transaction, and measures them with their versions. Null
 * measures the whole graph, locks nothing, and counts no versions.
 */
export async function measure(
  { database }: Pick<Context, "database">,
  graphId: string,
  ids: readonly string[] | null,
): Promise<Required<Growth> & { readonly versions: number }> {
  const [held] = await database.run(measureMemories, { graphId, ids });
  return { memories: held?.memories ?? 0, bytes: held?.bytes ?? 0, versions: held?.versions ?? 0 };
}

/**
 * Translates the database's error.
 * @throws GraphFull if there is no room left; NoTeamGraph or Unauthorized if the graph was deleted with its team or
 * user since this request began; else the error itself.
 */
export function refuseWithoutRoom(context: Asked, graphId: string, error: unknown): never {
  const state = sqlStateOf(error);
  if (state === TOO_MANY_MEMORIES || state === TOO_MANY_BYTES) throw graphFull(context, graphId);
  if (state === FOREIGN_KEY_VIOLATION) throw deletedGraphFailure(context.caller, graphId);
  throw error;
}

/** The failure for a graph that was deleted with its team or user. */
const deletedGraphFailure = ({ personalGraphId }: Caller, graphId: string): Failure =>
  graphId === personalGraphId ? new Unauthorized() : new NoTeamGraph();
