import { LIMITS } from "../../limits.js";
import type { Database } from "../../platform/database/database.js";
import type { RowOf } from "../../platform/database/statement.js";
import type { FollowDirection } from "../memories/index.js";
import { idsIn, stepFrom } from "./walk-statements.js";

interface Search {
  readonly graphId: string;
  readonly from: string;
  readonly to: string;
  readonly types: readonly string[] | null;
  readonly direction: `${FollowDirection}`;
  readonly maxDepth: number;
}

interface Found {
  /** The ids of the relationships of a shortest path, in order from its start; undefined if none was found. */
  readonly relationshipIds: readonly string[] | undefined;
  /** Whether the search ended at its limit, so it may have missed a path. */
  readonly isCapped: boolean;
}

type Step = RowOf<typeof stepFrom>;

/** The memories reached from one of the two ends. */
interface Side {
  /** By which step each was reached first; null for the end itself. */
  readonly known: Map<string, Step | null>;
  /** The memories that the last step reached for the first time. */
  frontier: string[];
  readonly direction: string;
}

const OPPOSITE = { any: "any", out: "in", in: "out" } as const;

/**
 * Searches from both ends in breadth, so each side walks about half the path. Each step extends the side with the
 * smaller frontier, by all of its relationships. So the memory where the sides first meet is on a shortest path.
 * Each step is a statement. The search ends after `maxDepth` steps, or `LIMITS.views.pathRelationships` relationships.
 */
export async function findPath(database: Database, search: Search): Promise<Found> {
  const { graphId, from, to, types, direction, maxDepth } = search;
  if (from === to) return { relationshipIds: [], isCapped: false };
  const start: Side = { known: new Map([[from, null]]), frontier: [from], direction };
  const end: Side = { known: new Map([[to, null]]), frontier: [to], direction: OPPOSITE[direction] };
  let relationshipsLeft: number = LIMITS.views.pathRelationships;
  for (let depth = 0; depth < maxDepth; depth++) {
    const [side, other] = start.frontier.length <= end.frontier.length ? [start, end] : [end, start];
    const wanted = { types, direction: side.direction, limit: relationshipsLeft + 1, strongest: null };
    const [step = null] = await database.run(stepFrom, { graphId, ids: side.frontier.join(), ...wanted });
    relationshipsLeft -= step?.looked ?? 0;
    side.frontier = idsIn(step?.ids).filter((id) => !side.known.has(id));
    for (const id of side.frontier) side.known.set(id, step);
    const met = side.frontier.find((id) => other.known.has(id));
    const isCapped = relationshipsLeft < 0;
    if (met !== undefined) {
      const relationshipIds = [...wayTo(start, met).reverse(), ...wayTo(end, met)];
      return { relationshipIds, isCapped };
    }
    if (isCapped || side.frontier.length === 0) return { relationshipIds: undefined, isCapped };
  }
  return { relationshipIds: undefined, isCapped: false };
}

/** The relationships from a memory back to the beginning of the side. */
function wayTo({ known }: Side, id: string): string[] {
  const relationshipIds: string[] = [];
  let here = id;
  for (let step = known.get(here); step; step = known.get(here)) {
    const at = step.ids.indexOf(here);
    const there = at + here.length;
    relationshipIds.push(step.relationshipIds.slice(at, there));
    here = step.vias.slice(at, there);
  }
  return relationshipIds;
}
