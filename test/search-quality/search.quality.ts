import { expect, it } from "vitest";
import { readConfig } from "../../src/config.js";
import { embedDueMemories } from "../../src/features/memories/meaning/embed-memories.js";
import { fillModel } from "../../src/features/memories/meaning/embedding-models.js";
import { isMerged } from "../../src/features/memories/search/merge-by-rank.js";
import { EmbeddingsServer } from "../../src/platform/meaning/embeddings.js";
import { Meaning } from "../../src/platform/meaning/meaning.js";
import { type World, createWorld } from "../support/world.js";
import { type LabelledMemory, type LabelledSet, labelledFolder, labelledSet } from "./labelled.js";
import { type Outcome, type Quality, measureQuality, storeMemories, summarizeByClass } from "./measure.js";
import { stranger } from "./strangers.js";

const STRANGERS = Array.from({ length: 6_000 }, (_, index) => stranger(index));

// A model may take hours for all the texts.
it("finds the labelled memories among other users' memories", { timeout: 0 }, async () => {
  const { embeddings } = process.env["EMBEDDINGS_URL"] ? readConfig(process.env) : {};
  const meaning = embeddings && new Meaning(new EmbeddingsServer(embeddings), undefined, { searchMs: 60_000 });
  await using world = await createWorld(meaning && { meaning });
  const folder = process.env["SEARCH_LABELS"];
  if (folder) {
    const outcomes = await measure(world, labelledFolder(folder));
    print(folder, outcomes);
    if (process.env["SEARCH_MISSES"]) listMisses(outcomes);
    return;
  }
  const [first, own] = [labelledSet("first"), labelledSet("own")];
  // Both sets are about the same topics, so in one graph each would have answers to the other's queries.
  const measuredFirst = await measure(world, first);
  const measuredOwn = await measure(world, own);
  const measuredLanguages = await measure(world, labelledSet("languages"));
  const measuredThemes = await measure(world, labelledSet("themes"));
  const [open, held] = halvesOf(measuredOwn);
  const [openLanguages, heldLanguages] = halvesOf(measuredLanguages);

  const all = print("first set", measuredFirst);
  print("own set", open);
  const unseen = print("own set, held half", held);
  const languages = print("languages", openLanguages);
  const unseenLanguages = print("languages, held half", heldLanguages);
  const themes = print("themes", measuredThemes);
  if (process.env["SEARCH_MISSES"]) listMisses([...measuredFirst, ...open, ...openLanguages, ...measuredThemes]);

  const outcomes = [...measuredFirst, ...measuredOwn];
  const memories = [...first.memories, ...own.memories];
  const wantsMeaning = (query: string) => meaning !== undefined && isMerged({ query, limit: 1, offset: 0 });
  const measuredOtherwise = outcomes.filter((outcome) => outcome.meaning !== wantsMeaning(outcome.query.query));
  expect(measuredOtherwise.map(({ query }) => query.query)).toEqual([]);
  expect(
    await sharingWords(
      world,
      outcomes.filter(({ isEmpty }) => isEmpty),
      memories,
    ),
  ).toEqual([]);
  expect(of(all, "all").recall).toBeGreaterThanOrEqual(0.83);
  expect(of(all, "all").reciprocalRank).toBeGreaterThanOrEqual(0.8);
  for (const name of ["exact", "ident"]) expect(of(all, name).reciprocalRank, name).toBeGreaterThanOrEqual(0.98);
  expect(of(all, "typo").recall).toBeGreaterThanOrEqual(0.93);
  expect(of(unseen, "all").recall).toBeGreaterThanOrEqual(0.88);
  expect(of(unseen, "all").reciprocalRank).toBeGreaterThanOrEqual(0.84);
  expect(of(unseen, "prefix").reciprocalRank).toBeGreaterThanOrEqual(0.8);
  expect(of(languages, "all").recall).toBeGreaterThanOrEqual(0.91);
  expect(of(unseenLanguages, "all").recall).toBeGreaterThanOrEqual(0.85);
  expect(of(themes, "all").reciprocalRank).toBeGreaterThanOrEqual(0.85);
});

/** The outcomes of the queries that may be looked at, and of those that are held back. */
const halvesOf = (outcomes: readonly Outcome[]) =>
  [outcomes.filter(({ query }) => !query.held), outcomes.filter(({ query }) => query.held)] as const;

/** In a graph of its own, with 6,000 unrelated memories. */
async function measure(world: World, { memories, queries }: LabelledSet): Promise<Outcome[]> {
  const actor = await world.user();
  const labels = await storeMemories(world, actor, [...memories, ...STRANGERS]);
  await embedAll(world);
  return measureQuality(actor, labels, queries);
}

/** Does the work of the background jobs if an embeddings server is given. */
async function embedAll({ services }: World): Promise<void> {
  const { meaning } = services;
  if (!meaning) return;
  const context = { ...services, meaning };
  for (let more = true; more;) {
    more = await fillModel(context);
    while (await embedDueMemories(context));
  }
  expect(await services.database.models.embeddingDue.count(), "memories that could not be embedded").toBe(0);
}

const NOTHING = { recall: 0, reciprocalRank: 0 };
const of = (quality: ReadonlyMap<string, Quality>, name: string) => quality.get(name) ?? NOTHING;

function print(title: string, outcomes: readonly Outcome[]): ReadonlyMap<string, Quality> {
  const qualities = summarizeByClass(outcomes);
  const lines = Array.from(qualities, ([name, { queries, recall, reciprocalRank, empty }]) => {
    const numbers = `recall@5 ${recall.toFixed(3)}  MRR@10 ${reciprocalRank.toFixed(3)}`;
    return `${name.padEnd(10)} ${String(queries).padStart(4)} queries  ${numbers}  ${empty.length} without a hit`;
  });
  console.log([`${title}:`, ...lines].join("\n"));
  return qualities;
}

/** The misses to look at when search is improved; never those of the held-back half. */
function listMisses(outcomes: readonly Outcome[]): void {
  for (const { query, recall, reciprocalRank, places } of outcomes) {
    if (recall < 1 || reciprocalRank < 1) console.log(query.class, JSON.stringify(query.query), query.relevant, places);
  }
}

/** The queries that share a word, in any form, with a memory that answers them. */
async function sharingWords(
  { database }: World,
  outcomes: readonly Outcome[],
  memories: readonly LabelledMemory[],
): Promise<string[]> {
  const sharing: string[] = [];
  for (const { query } of outcomes) {
    const relevant = memories.filter(({ id }) => query.relevant.includes(id));
    const texts = relevant.map(({ title, content, tags }) => [title, content, ...tags].join(" "));
    const { rows } = await database.pool.query(
      `SELECT FROM unnest(tsvector_to_array(to_tsvector('english', $1))) AS word
       WHERE word = ANY (tsvector_to_array(to_tsvector('english', $2)))`,
      [query.query, texts.join(" ")],
    );
    if (rows.length > 0) sharing.push(query.query);
  }
  return sharing;
}
