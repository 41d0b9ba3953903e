import { LIMITS } from "../../../limits.js";
import type { Context } from "../../../operation/context.js";
import { type Database, isTimeout } from "../../../platform/database/database.js";
import { warnSeldom } from "../../../platform/telemetry/warn-seldom.js";
import { withinTime } from "../../../within-time.js";
import { type MemoryText, piecesOf } from "../meaning/memory-pieces.js";
import { findByMeaning } from "../meaning/find-by-meaning.js";
import { readNearMemories } from "./merge-by-rank.js";
import { type Hit, type SearchWishes, findMemories } from "../words/find-memories.js";
import { likenesses } from "../words/search-statements.js";
import { TUNING } from "../words/tuning.js";
import { isLasting } from "../memory-types.js";
import type { SimilarMemory } from "../similar-memory.js";

const { most, scoreMin, scoreMinOfReplaced, compared, comparedCharacters, queryLength, ...bounds } = LIMITS.similar;

type TypedText = MemoryText & { readonly type: string };

/**
 * Finds memories that may say the same as this one: by the words of its whole text, and by meaning if there is an
 * embeddings server. Null after a failure or when time is up: storing a memory never fails because of this search.
 */
export const findSimilar = (context: Context, graphId: string, memory: TypedText): Promise<SimilarMemory[] | null> =>
  withinTime(search(context, graphId, memory), LIMITS.similar.waitMs, () => null);

async function search(context: Context, graphId: string, memory: TypedText): Promise<SimilarMemory[] | null> {
  const wishes = {
    query: wordsOf(memory),
    limit: compared,
    offset: 0,
    explain: false,
    withText: false,
    withLinks: false,
    expired: context.now(),
  };
  try {
    const [byWords, byMeaning] = await Promise.all([
      context.database.search((run) => findSimilarByWords(run, graphId, memory, wishes)),
      findSimilarByMeaning(context, graphId, memory, wishes),
    ]);
    // What shares only some words may mean the same: the higher score counts.
    const rising = [...byWords, ...byMeaning].toSorted((one, other) => one.relevance - other.relevance);
    return [...new Map(rising.map((hit) => [hit.id, hit])).values()]
      .map(({ id: memoryId, title, relevance }) => ({
        memoryId,
        title,
        score: Math.round(relevance * 10_000) / 10_000,
      }))
      .toSorted((one, other) => other.score - one.score)
      .slice(0, most);
  } catch (err) {
    if (!isTimeout(err))
      warnSeldom(context.log, "similar memories", { err }, "similar memories could not be looked for");
    return null;
  }
}

/** The first words of a memory, without signs, which would be searched for as phrases and names. */
const wordsOf = ({ title, summary, content }: MemoryText): string =>
  `${title} ${summary ?? ""} ${content}`.replace(/[^\p{L}\p{N}\p{M}]+/gu, " ").slice(0, queryLength);

/**
 * Searches for the rarest words of the memory, and compares the texts of the best hits with its own: relevance tells
 * what share of the searched words a hit has, not what else it says. A decision may share few words with the one that
 * it replaces.
 */
async function findSimilarByWords(
  run: Database["run"],
  graphId: string,
  { type, title, summary, content }: TypedText,
  wishes: SearchWishes,
): Promise<Hit[]> {
  const { hits } = await findMemories(run, graphId, wishes, bounds);
  if (hits.length === 0) return [];
  const rows = await run(likenesses, {
    graphId,
    title,
    summary: summary ?? "",
    content,
    ids: hits.map(({ id }) => id),
    characters: comparedCharacters,
  });
  const scores = new Map(rows.map(({ id, likeness }) => [id, likeness]));
  return hits
    .map((hit) => ({ ...hit, relevance: scores.get(hit.id) ?? 0 }))
    .filter((hit) => hit.relevance >= (hit.type === type && isLasting(type) ? scoreMinOfReplaced : scoreMin));
}

/** Finds memories whose text means the same as the beginning of this one. */
async function findSimilarByMeaning(
  context: Context,
  graphId: string,
  memory: MemoryText,
  wishes: SearchWishes,
): Promise<Hit[]> {
  const [beginning = memory.title] = piecesOf(memory);
  const nearest = (await findByMeaning(context, graphId, { text: beginning, use: "document" }, wishes)) ?? [];
  const near = nearest.filter(({ score }) => score >= TUNING.similarNearness).slice(0, most);
  return [...(await readNearMemories(context, graphId, near, wishes)).values()];
}
