import { LIMITS } from "../../../limits.js";
import type { Context } from "../../../operation/context.js";
import type { NearMemory } from "../meaning/find-by-meaning.js";
import { placeOfPiece } from "../meaning/memory-pieces.js";
import { filterOf } from "../memory-filter.js";
import { readSolving, readSuperseding } from "../read-memories.js";
import type { Found, Hit, SearchWishes } from "../words/find-memories.js";
import { TUNING } from "../words/tuning.js";

const { mergedByWords } = LIMITS.embeddings;
const { snippetCharacters } = LIMITS.search;
const { clear, exact, likely, likelyShare, ranksBefore, nearness, superseded } = TUNING.meaning;

/**
 * So large that even the last hit with every word comes before the best hit without. That one has at most `likelyShare`
 * for its words, and the first place by meaning.
 */
const EXACT_SHARE = ((likelyShare + 1) * (ranksBefore + mergedByWords)) / ranksBefore;

const shareOf = (relevance: number, isClear: boolean): number => {
  if (relevance >= exact) return EXACT_SHARE;
  return isClear || relevance >= likely ? likelyShare : 1;
};

/** What a model understands, as opposed to numbers, hashes and signs. */
const WORDS = [
  // With digits behind it, too: `utf8`.
  /(?<![\p{L}\p{N}])\p{L}{3,}\p{N}*(?![\p{L}\p{N}])/u,
  // A short one, such as `k8s`.
  /(?<!\S)(?=\S*\p{L})\S{1,5}(?!\S)/u,
  /(?!\p{Script=Latin})\p{L}/u,
];

type Merging = Pick<Context, "caller" | "database" | "now">;

/**
 * Whether a search is by meaning as well: if its page lies within the merged hits, and the query has a word. For
 * numbers, hashes and signs, a model finds what only looks like them.
 */
export const isMerged = ({ query, limit, offset }: Pick<SearchWishes, "query" | "limit" | "offset">): boolean =>
  limit + offset <= mergedByWords && WORDS.some((word) => word.test(query));

/**
 * Merges the hits by words with those by meaning, by reciprocal rank fusion: a hit that is high in either list is high,
 * a hit in both lists is higher. Hits that match every word well come first.
 */
export async function mergeByRank(
  context: Merging,
  graphId: string,
  { found, nearest }: { readonly found: Found; readonly nearest: readonly NearMemory[] },
  wishes: SearchWishes,
): Promise<Found> {
  const near = nearest.filter(({ score }) => score >= nearness);
  const known = await readNearMemories(context, graphId, near, wishes);
  const words = new Map(found.hits.map((hit) => [hit.id, hit]));
  const scores = new Map<string, number>();
  const add = (id: string, rank: number, share: number) =>
    scores.set(id, (scores.get(id) ?? 0) + share / (ranksBefore + rank));
  const [first, second] = found.hits;
  const isClear = first !== undefined && first.relevance >= clear * (second?.relevance ?? 0);
  for (const [rank, { id, relevance }] of found.hits.entries())
    add(id, rank, shareOf(relevance, rank === 0 && isClear));
  const present = near.filter(({ owner }) => known.has(owner));
  for (const [rank, { owner }] of present.entries()) {
    add(owner, rank, known.get(owner)?.newer || words.get(owner)?.newer ? superseded : 1);
  }
  const hits = [...scores]
    .sort(([one, score], [other, otherScore]) => otherScore - score || (one < other ? 1 : -1))
    .flatMap(([id]) => {
      const [byWords, byMeaning] = [words.get(id), known.get(id)];
      if (!byWords || !byMeaning || byWords.relevance >= likely) return byWords ?? byMeaning ?? [];
      const { text, continues, meantFrom } = byMeaning;
      return { ...byWords, text, continues, ...(meantFrom !== undefined && { meantFrom }) };
    });
  return { ...found, hits, total: Math.max(found.total, hits.length) };
}

/** Reads the memories that are near in meaning, pass the filter, and have not changed since they were embedded. */
export async function readNearMemories(
  { caller, database, now }: Merging,
  graphId: string,
  near: readonly NearMemory[],
  wishes: SearchWishes,
): Promise<ReadonlyMap<string, Hit>> {
  const nearest = new Map(near.map((one) => [one.owner, one]));
  if (nearest.size === 0) return new Map();
  const rows = await database.models.memory.findMany({
    where: { graphId, id: { in: [...nearest.keys()] }, ...filterOf({ now }, wishes) },
    select: {
      id: true,
      type: true,
      title: true,
      summary: true,
      tags: true,
      updatedAt: true,
      content: wishes.withText,
      version: true,
    },
  });
  const current = rows.filter(({ id, version }) => nearest.get(id)?.version === version);
  const places = current.map(({ id }) => ({ graphId, id }));
  const newer = await readSuperseding({ caller, database }, places);
  const solutions = wishes.withLinks ? await readSolving({ caller, database }, places) : [];
  return new Map(
    current.map(({ version: _version, content, updatedAt: updated, ...memory }, index): [string, Hit] => [
      memory.id,
      {
        ...memory,
        updated,
        total: 0,
        concepts: null,
        weights: null,
        newer: newer[index] ?? null,
        solution: solutions[index] ?? null,
        ...meantPart({ ...memory, content }, nearest.get(memory.id)),
        relevance: Math.round((nearest.get(memory.id)?.score ?? 0) * 10_000) / 10_000,
        matches: wishes.explain ? [] : null,
      },
    ]),
  );
}

/** The content up to the end of the piece that is nearest in meaning, and where that begins. */
function meantPart(memory: { title: string; summary: string | null; content?: string }, near: NearMemory | undefined) {
  const { content } = memory;
  if (content === undefined) return { text: null, continues: false };
  const place = near && near.pieces > 1 ? placeOfPiece({ ...memory, content }, near) : undefined;
  const { start, end } = place ?? { start: 0, end: snippetCharacters };
  return { text: content.slice(0, end), continues: content.length > end, meantFrom: start };
}
