import { createHash } from "node:crypto";
import { searchMemories } from "../../src/features/memories/search/search-memories.js";
import type { Actor, World } from "../support/world.js";
import type { LabelledMemory, LabelledQuery } from "./labelled.js";

export interface Quality {
  readonly queries: number;
  /** The share of the right memories that are among the first five hits. */
  readonly recall: number;
  /** The mean of 1 / position of the first right hit; 0 for a query without one among the first ten. */
  readonly reciprocalRank: number;
  /** Queries that found nothing. */
  readonly empty: readonly string[];
}

export interface Outcome {
  readonly query: LabelledQuery;
  readonly recall: number;
  readonly reciprocalRank: number;
  readonly isEmpty: boolean;
  /** Whether it was searched by meaning as well. */
  readonly meaning: boolean;
  /** The position of each right memory, from 1; 0 if it is not among the first `FOUND_MAX`. */
  readonly places: readonly number[];
}

/** The same for a label in every run, because ids decide between hits of equal relevance. */
const idOf = (label: string): string =>
  createHash("md5")
    .update(label)
    .digest("hex")
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");

/** Stores memories in a user's graph as the service would, many at a time. Returns their labels by their ids. */
export async function storeMemories({ database }: World, { caller }: Actor, memories: readonly LabelledMemory[]) {
  const labels = new Map<string, string>();
  for (let first = 0; first < memories.length; first += 500) {
    const rows = memories
      .slice(first, first + 500)
      .map((memory) => ({ ...memory, label: memory.id, id: idOf(memory.id) }));
    for (const { id, label } of rows) labels.set(id, label);
    await database.pool.query(
      `INSERT INTO memory (graph_id, id, type, title, content, tags, importance, created_by, created_at, updated_by, updated_at)
       SELECT $1, id, type, title, content, tags, importance, $2, now(), $2, now()
       FROM json_to_recordset($3) AS given (id uuid, type text, title text, content text, tags text[], importance float8)`,
      [caller.personalGraphId, caller.userId, JSON.stringify(rows)],
    );
    await database.pool.query("SELECT note_for_embedding($1, $2)", [caller.personalGraphId, rows.map(({ id }) => id)]);
  }
  await database.pool.query("SELECT count_words($1, 10000)", [caller.personalGraphId]);
  await database.pool.query("VACUUM ANALYZE memory, lexicon");
  return labels;
}

/** How many hits are read, to see how far the right ones are from the first five. */
const FOUND_MAX = 100;

/** Runs every query and compares the hits with its labels. */
export async function measureQuality(
  actor: Actor,
  labels: ReadonlyMap<string, string>,
  queries: readonly LabelledQuery[],
) {
  const outcomes: Outcome[] = [];
  for (const query of queries) {
    const { memories, meaning } = await actor.did(searchMemories, {
      ...query.filters,
      query: query.query,
      limit: FOUND_MAX,
    });
    const found = memories.map(({ memoryId }) => labels.get(memoryId) ?? "");
    const place = found.slice(0, 10).findIndex((label) => query.relevant.includes(label));
    const expected = Math.min(5, query.relevant.length);
    outcomes.push({
      query,
      recall: found.slice(0, 5).filter((label) => query.relevant.includes(label)).length / expected,
      reciprocalRank: place < 0 ? 0 : 1 / (place + 1),
      isEmpty: found.length === 0,
      meaning,
      places: query.relevant.map((label) => found.indexOf(label) + 1),
    });
  }
  return outcomes;
}

const mean = (numbers: readonly number[]): number =>
  numbers.length === 0 ? 0 : numbers.reduce((sum, number) => sum + number, 0) / numbers.length;

const summarize = (outcomes: readonly Outcome[]): Quality => ({
  queries: outcomes.length,
  recall: mean(outcomes.map(({ recall }) => recall)),
  reciprocalRank: mean(outcomes.map(({ reciprocalRank }) => reciprocalRank)),
  empty: outcomes.filter(({ isEmpty }) => isEmpty).map(({ query }) => query.query),
});

/** By class, and in total. */
export function summarizeByClass(outcomes: readonly Outcome[]): ReadonlyMap<string, Quality> {
  const classes = [...new Set(outcomes.map(({ query }) => query.class))];
  const each = classes.map((name): [string, Quality] => [
    name,
    summarize(outcomes.filter(({ query }) => query.class === name)),
  ]);
  return new Map([...each, ["all", summarize(outcomes)]]);
}
