import { LIMITS } from "../../../limits.js";
import type { Context } from "../../../operation/context.js";
import { EmbeddingsFailed, type TextUse, type Vector } from "../../../platform/meaning/embeddings.js";
import type { Meaning } from "../../../platform/meaning/meaning.js";
import { bytesOfMatrix } from "../../../platform/meaning/vector-index.js";
import { DIMENSION_MAX } from "../../../platform/meaning/near-indexes.js";
import { NoRoomForVectors } from "../../../platform/meaning/vector-loads.js";
import type { NearVector } from "../../../platform/meaning/vector-messages.js";
import { warnSeldom } from "../../../platform/telemetry/warn-seldom.js";
import { withinTime } from "../../../within-time.js";
import { type Filter, chooseNear, findFewWithin, findLiving } from "./choose-near.js";
import { nearVectors } from "./embedding-statements.js";

const { indexed, indexedAmong, loaded } = LIMITS.embeddings;

/**
 * A memory whose text, in the given version, is near to the query in meaning. Its score is 1 for the same meaning, and
 * 0 if it is as near as unrelated texts are by the same model.
 */
export type NearMemory = NearVector;

type Finding = Pick<Context, "database" | "log" | "meter" | "now">;

/** A query, or the text of a memory to which others are compared. */
interface Meant {
  readonly text: string;
  readonly use: TextUse;
}

/**
 * The memories of a graph that pass a filter and are nearest to a text in meaning, nearest first. Null without an
 * embeddings server, before anything is embedded, after a failure or when time is up: then the search is by words
 * alone. Never throws.
 */
export async function findByMeaning(
  { meaning, ...context }: Finding & Pick<Context, "meaning">,
  graphId: string,
  meant: Meant,
  filter: Filter,
): Promise<readonly NearMemory[] | null> {
  if (!meaning) return null;
  const { searchMs } = meaning.bounds;
  const search = { graphId, ...meant, filter, isLate: false };
  const found = find(context, meaning, search).catch((error: unknown) => {
    // A locked table, or a graph without room, is no fault of the embeddings server.
    if (error instanceof EmbeddingsFailed) context.meter?.embeddingsFailed();
    const { message: reason } = error as Error;
    const kind = error instanceof NoRoomForVectors ? "vectors without room" : "search by meaning";
    warnSeldom(context.log, kind, { reason }, "a search was by words alone");
    return null;
  });
  return withinTime(found, searchMs, () => {
    search.isLate = true;
    warnSeldom(context.log, "late meaning", { waited_ms: searchMs }, "a search did not wait longer for its meaning");
    return null;
  });
}

interface Search extends Meant {
  readonly graphId: string;
  readonly filter: Filter;
  /** Whether nobody waits for it any more. */
  readonly isLate: boolean;
}

async function find(context: Finding, meaning: Meaning, search: Search) {
  const { graphId, text, use, filter } = search;
  const loading = await findLoading(context, meaning, graphId);
  if (!loading) return null;
  const [vector, few, unrelated, noRoom] = await Promise.all([
    meaning.vectorOf(text, use, loading.model),
    findFewWithin(context, graphId, filter),
    // Cosines are compared as they are until it is measured.
    meaning.unrelatedBy(loading.model, use).catch(() => 0),
    loadVectors(context, meaning, loading).then(() => undefined, asNoRoom),
  ]);
  // Many may have waited for a slow server to embed the same query. What they waited for is kept for later searches.
  if (search.isLate) return null;
  const matrix = matrixOf(graphId, loading.model);
  const load = meaning.loaded.get(matrix);
  const choose = (among: readonly string[] | undefined) =>
    chooseNear(context, graphId, filter, async (most) => {
      const near = await findNearest(context, meaning, { ...loading, vector, most, among, noRoom });
      return near?.map((one) => ({ ...one, score: (one.score - unrelated) / (1 - unrelated) }));
    });
  const first = await choose(few);
  // Too few of the nearest pass, for example since they have expired: others may be behind them. If only few memories
  // pass at all, these are compared.
  const left = first?.isCut ? await findLiving(context, graphId, filter) : undefined;
  const chosen = left ? await choose(left) : first;
  const isNewest = load !== undefined && meaning.loaded.get(matrix) === load;
  // The worker dropped the vectors to make room, or was restarted. The next search loads them again.
  if (!chosen && isNewest) meaning.loaded.delete(matrix);
  if (first?.isOutdated && isNewest) loadAnew(context, meaning, loading, load);
  return chosen?.isOutdated && chosen.nearest.length === 0 ? null : (chosen?.nearest ?? null);
}

/** Which vectors of a graph a search needs; null if nothing is embedded yet. */
async function findLoading({ database }: Finding, meaning: Meaning, graphId: string): Promise<Loading | null> {
  const { model } = meaning.server;
  const { graphVectors, embeddingModel } = database.models;
  const [stored, complete] = await Promise.all([
    graphVectors.findUnique({ where: { graphId } }),
    embeddingModel.findMany({ where: { complete: true }, select: { model: true }, orderBy: { usedAt: "desc" } }),
  ]);
  if (!stored) return null;
  // A new model serves searches only after it has embedded everything.
  const serving = complete.some((one) => one.model === model) ? model : (complete[0]?.model ?? model);
  return { graphId, model: serving, until: Number(stored.changes) };
}

/** The failure of a graph whose vectors have no room in memory, as a value; any other is thrown. */
const asNoRoom = (error: unknown): NoRoomForVectors => {
  if (error instanceof NoRoomForVectors) return error;
  throw error;
};

interface NearestSearch {
  readonly graphId: string;
  readonly model: string;
  readonly vector: Vector;
  /** How many to find. */
  readonly most: number;
  /** The memories to compare; undefined: all. */
  readonly among: readonly string[] | undefined;
}

/**
 * The nearest memories: in memory, or by an index where the vectors have no room there. Undefined if they are not in
 * memory any more. @throws NoRoomForVectors without an index.
 */
async function findNearest(
  context: Finding,
  meaning: Meaning,
  { noRoom, ...search }: NearestSearch & { readonly noRoom: NoRoomForVectors | undefined },
): Promise<readonly NearVector[] | undefined> {
  const { graphId, model, vector, most, among } = search;
  if (!noRoom) return meaning.index.find(matrixOf(graphId, model), vector, most, among);
  const found = await findIndexed(context, search);
  if (!found) throw noRoom;
  return found;
}

/**
 * The nearest memories by an index of pgvector; null without one. If `among` is too long for the index, it finds the
 * nearest of all: `chooseNear` leaves out those that do not pass the filter.
 */
async function findIndexed(
  { database }: Finding,
  { graphId, model, vector, most, among: few }: NearestSearch,
): Promise<NearVector[] | null> {
  const among = few && few.length <= indexedAmong ? few : null;
  // The index finds pieces, of which a memory may have many.
  for (let pieces = Math.min(most, indexed); ; pieces = indexed) {
    const values = { graphId, model, numbers: [...vector.values], among, most: pieces };
    const [row] = await database.run(nearVectors, values);
    if (!row?.near) return null;
    const owners = new Set<string>();
    const nearest = row.near.filter(({ owner }) => owners.size < owners.add(owner).size);
    if (nearest.length >= most || row.near.length < pieces || pieces === indexed) return nearest;
  }
}

const matrixOf = (graphId: string, model: string): string => `${graphId} ${model}`;

interface Loading {
  readonly graphId: string;
  readonly model: string;
  readonly until: number;
}

/** Loads the vectors that changed since the last load. Concurrent searches wait for the same load. */
async function loadVectors(context: Finding, meaning: Meaning, loading: Loading): Promise<void> {
  const matrix = matrixOf(loading.graphId, loading.model);
  for (;;) {
    const known = meaning.loaded.get(matrix);
    const change = await (known ?? 0);
    if (meaning.loaded.get(matrix) !== known) continue;
    if (change >= loading.until) return known && meaning.keepLoaded(matrix, known);
    const load = loadAfter(context, meaning, loading, change);
    meaning.keepLoaded(matrix, load);
    await load;
    return;
  }
}

/**
 * Loads all vectors again, for which later searches wait. If there is no room for that now, they use the ones that are
 * loaded.
 */
function loadAnew(context: Finding, meaning: Meaning, loading: Loading, present: Promise<number>): void {
  const load = loadAfter(context, meaning, loading, 0).catch((error: unknown) => {
    if (error instanceof NoRoomForVectors) return present;
    throw error;
  });
  meaning.keepLoaded(matrixOf(loading.graphId, loading.model), load);
}

/** Returns the number of the change up to which all vectors are loaded. */
async function loadAfter(context: Finding, meaning: Meaning, loading: Loading, change: number): Promise<number> {
  const { graphId, model, until } = loading;
  const matrix = matrixOf(graphId, model);
  if (change === 0) meaning.loads.check(matrix, context.now().getTime());
  for (let after = change; ;) {
    const { rows, isLast } = await readVectors(context, { graphId, model, after });
    if (rows.length > 0) {
      const begins = after === 0 ? await takeRoom(context, meaning, loading, { rows, isLast }) : undefined;
      if (!(await meaning.index.add(matrix, rows, begins))) {
        throw new NoRoomForVectors("others took their place in memory");
      }
    }
    after = rows.at(-1)?.change ?? after;
    if (isLast) return Math.max(after, until);
  }
}

/** Returns how many vectors a graph has, if there is room for them. @throws NoRoomForVectors */
async function takeRoom(
  { database, now }: Finding,
  meaning: Meaning,
  { graphId, model }: Loading,
  { rows, isLast }: Awaited<ReturnType<typeof readVectors>>,
): Promise<number> {
  const count = isLast ? rows.length : await database.models.memoryVector.count({ where: { graphId, model } });
  const dimension = rows[0]?.values.length ?? 0;
  const [matrix, bytes] = [matrixOf(graphId, model), bytesOfMatrix(dimension, count)];
  const { loads } = meaning;
  if (bytes > loads.bytesMax && dimension <= DIMENSION_MAX) meaning.noteUnfit(matrix, { graphId, model, dimension });
  loads.take(matrix, bytes, now().getTime());
  return count;
}

/** Reads the next vectors that were stored after a change, and tells whether they are the last. */
async function readVectors(
  { database: { models } }: Finding,
  { graphId, model, after }: { readonly graphId: string; readonly model: string; readonly after: number },
) {
  const found = await models.memoryVector.findMany({
    where: { graphId, model, change: { gt: after } },
    orderBy: { change: "asc" },
    take: loaded,
  });
  const rows = found.map(({ memoryId: owner, change, vector: values, piece, version, scale }) => ({
    owner,
    piece,
    version,
    scale,
    values,
    change: Number(change),
  }));
  if (rows.length < loaded) return { rows, isLast: true };
  // The page may end in the middle of its last change, so that change is left to the next page.
  const last = rows.at(-1)?.change;
  return { rows: rows.filter(({ change }) => change !== last), isLast: false };
}
