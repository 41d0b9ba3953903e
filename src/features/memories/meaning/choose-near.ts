import { LIMITS } from "../../../limits.js";
import type { Context } from "../../../operation/context.js";
import type { NearVector } from "../../../platform/meaning/vector-messages.js";
import { findPassing, indexQueryOf } from "../words/find-narrowed.js";
import { type MemoryFilterInput, filterOf, needsRows } from "../memory-filter.js";
import { rareMemories } from "../words/narrowed-statement.js";
import { TUNING } from "../words/tuning.js";

const { filtered, mergedByMeaning } = LIMITS.embeddings;

type Choosing = Pick<Context, "database" | "now">;
export type Filter = Partial<MemoryFilterInput>;

/**
 * The memories to which a filter narrows a graph, or some more; undefined if it does not narrow it to few. They are
 * read while the query is embedded. Of 100,000 memories, 1,000 of a tag took 2 ms, 5,000 of a tag or type 11 ms, of a
 * project or an importance 17 ms, with other work on two cores. Among 5,000, the nearest are found in 8 ms, among all
 * in 4.
 */
export async function findFewWithin(
  context: Choosing,
  graphId: string,
  filter: Filter,
  readsRows = needsRows(filter),
): Promise<string[] | undefined> {
  const words = indexQueryOf(filter);
  const { tags: _tags, ...listed } = filter;
  const [[worded], rows] = await Promise.all([
    words === null ? [] : context.database.run(rareMemories, { graphId, words, most: filtered }),
    // No index has both tags and these.
    readsRows &&
      context.database.readPages(({ memory }) =>
        memory.findMany({
          where: { graphId, ...filterOf(context, listed) },
          select: { id: true },
          take: filtered + 1,
        }),
      ),
  ]);
  const ids = worded?.ids?.split(",").filter((id) => id !== "");
  if (!rows || rows.length > filtered || (ids && ids.length <= rows.length)) return ids;
  return rows.map(({ id }) => id);
}

/** In a larger graph the memories that have not expired are not looked for: no index has them. */
const LOOKED_THROUGH_MAX = 4 * filtered;

/** The memories that pass the filter and have not expired, if they are few and the graph is not large. */
export async function findLiving(context: Choosing, graphId: string, filter: Filter): Promise<string[] | undefined> {
  const usage = await context.database.models.graphUsage.findUnique({ where: { graphId }, select: { memories: true } });
  if (!usage || usage.memories > LOOKED_THROUGH_MAX) return undefined;
  return findFewWithin(context, graphId, filter, true);
}

export interface Chosen {
  readonly nearest: readonly NearVector[];
  /** Whether as many were looked at as may be, and too few of them pass: others may be behind them. */
  readonly isCut: boolean;
  /** Whether most of those are of deleted memories. */
  readonly isOutdated: boolean;
}

/**
 * The nearest memories that pass the filter and have not changed since they were embedded. As long as there are too
 * few, more are looked at: up to `filtered`, which takes 60 ms. `find` finds the nearest of all, or of the few that the
 * filter narrows them to. Undefined if the vectors are not in memory.
 */
export async function chooseNear(
  context: Choosing,
  graphId: string,
  filter: Filter,
  find: (most: number) => Promise<readonly NearVector[] | undefined>,
): Promise<Chosen | undefined> {
  const chosen: NearVector[] = [];
  const looked = new Set<string>();
  for (let most = 2 * mergedByMeaning; ; most = Math.min(filtered, most * 10)) {
    const near = await find(most);
    if (!near) return undefined;
    const others = near.filter(({ owner }) => !looked.has(owner));
    const ids = others.map(({ owner }) => owner);
    for (const id of ids) looked.add(id);
    const passing = await findPassing(context, graphId, filter, ids);
    const versions = new Map(passing.map(({ id, version }) => [id, version]));
    chosen.push(...others.filter(({ owner, version }) => versions.get(owner) === version));
    const isLast = near.length < most || most >= filtered || (near.at(-1)?.score ?? 0) < TUNING.meaning.nearness;
    const isFull = chosen.length >= mergedByMeaning;
    if (!isFull && !isLast) continue;
    const isCut = !isFull && looked.size >= filtered;
    const isOutdated = isCut && (await areMostGone(context, graphId, looked));
    return { nearest: chosen.slice(0, mergedByMeaning), isCut, isOutdated };
  }
}

async function areMostGone(context: Choosing, graphId: string, ids: ReadonlySet<string>): Promise<boolean> {
  const present = await findPassing(context, graphId, { includeExpired: true }, [...ids]);
  return 2 * present.length < ids.size;
}
