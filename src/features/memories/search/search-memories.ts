import { ArgsType, Field, Int, ObjectType } from "type-graphql";
import { LIMITS } from "../../../limits.js";
import { Between, NotBlank, TextLength } from "../../../operation/bounds.js";
import type { Context } from "../../../operation/context.js";
import { Failure, InvalidInput } from "../../../operation/failure.js";
import { UUID } from "../../../operation/id.js";
import { defineOperation } from "../../../operation/operation.js";
import { withinPage } from "../../../operation/page.js";
import { isTimeout } from "../../../platform/database/database.js";
import { GRAPH_FOR_AGENTS, NoTeamGraph, chosenGraphId } from "../graph.js";
import { MEMORY_EXAMPLE } from "../memory-example.js";
import { findByMeaning } from "../meaning/find-by-meaning.js";
import { isMerged, mergeByRank } from "./merge-by-rank.js";
import { MemoryFilterInput, expiryFor } from "../memory-filter.js";
import type { Memory } from "../memory.js";
import { headOf } from "../memory-head.js";
import { setMakers, showsMakers } from "../read-makers.js";
import { withMemories } from "../memory-relations.js";
import { UnknownWord } from "../words/unknown-word.js";
import type { Concept } from "../words/concepts.js";
import { type Hit, type SearchWishes, TOTAL_MAX, findMemories } from "../words/find-memories.js";
import { SearchHit } from "./search-hit.js";
import { type Finder, finderOf } from "./occurrences.js";
import { snippetOf } from "./snippet.js";

const { mergedByWords } = LIMITS.embeddings;
const {
  explained,
  phraseBytes,
  queryLength,
  snippetBytes,
  snippetCharacters,
  unknownWords: UNKNOWN_MAX,
} = LIMITS.search;
const LIMIT_BOUND = `must be from 1 to ${TOTAL_MAX.toLocaleString("en")}, with \`explain\` to ${explained}`;

/** The relevance below which a hit has so few of the words that they may be there by chance. */
const WEAK = 0.2;

const FEW_WORDS =
  "These have few of the words, so it may be in none of them: try other or fewer words, or another language.";

/**
 * Asks for what memories do not say in words: which problems are open, or what changed. No "unresolved external symbol",
 * "host not resolved", "open error log" or "open tasks", which are not listed.
 */
const ASKS_FOR_STATE = new RegExp(
  [
    String.raw`\b(?:open|unsolved|unresolved|outstanding|remaining)\s+(?:problems|issues|errors|bugs|incidents)\b`,
    String.raw`\bstill\s+(?:open|unsolved|unresolved|broken)\b|\bnot (?:solved|yet (?:solved|resolved|fixed))\b`,
    String.raw`\bwhat(?:'?s|\u2019s| is| has| have)?\s+(?:changed|happened)\b`,
    String.raw`\bwhat(?:'?s|\u2019s| is)\s+new(?:\s*(?:$|[^\w\s])|\s+in\b)`,
    String.raw`\brecent(?:ly)? (?:changes?\b|changed\b|activit)`,
  ].join("|"),
  "i",
);
const WHERE_STATE_IS =
  `get_recent_activity with days ${LIMITS.views.days} lists what changed in that time and by whom, and which problems ` +
  "are open; with types only those.";

/**
 * How many snippets are made in one turn of the event loop: those of this many hits, or of texts with this many
 * characters.
 */
const PAUSE_AFTER = { hits: 20, characters: 50_000 };

@ArgsType()
export class SearchMemoriesInput extends MemoryFilterInput {
  @Field(() => String, {
    description:
      "The words to find, in any order; quotes hold a phrase together. Punctuation is text. A word may also name a type, " +
      "as in `kafka errors`. Where no memory has all the words, memories with similarly spelt words or with most of the " +
      "words are found.",
  })
  @NotBlank()
  @TextLength(1, queryLength)
  query!: string;

  @Field(() => Int, { defaultValue: 20, description: `How many hits to answer with at most, from 1 to ${TOTAL_MAX}.` })
  @Between(1, TOTAL_MAX, LIMIT_BOUND)
  limit!: number;

  @Field(() => Int, {
    defaultValue: 0,
    description:
      `How many of the best hits to leave out, from 0 to ${TOTAL_MAX}. The best ${TOTAL_MAX} hits are ranked: no page ` +
      "goes beyond them. Their order is the same on every page while the graph does not change.",
  })
  @Between(0, TOTAL_MAX)
  offset!: number;

  @Field(() => Boolean, {
    defaultValue: false,
    description: `Whether each hit says in \`matches\` why it was found. \`limit\` may be at most ${explained} then.`,
  })
  explain!: boolean;

  @Field(() => Boolean, { defaultValue: false, description: "Whether each hit has its whole `memory`, at every door." })
  full!: boolean;
}

@ObjectType({ description: "What a search found." })
export class SearchResult {
  @Field(() => [SearchHit], {
    description:
      "The hits, best first; fewer than `limit` where they are large. The next page's `offset` is this one's plus the " +
      "number of these hits.",
  })
  memories!: SearchHit[];

  @Field(() => Int, {
    description:
      "How many memories match the whole query, apart from words that a hit may lack, or any of it where none does, " +
      `counted up to ${TOTAL_MAX}.`,
  })
  total!: number;

  @Field(() => Boolean, { description: `Whether more than ${TOTAL_MAX} match.` })
  totalIsCapped!: boolean;

  @Field(() => [UnknownWord], {
    description:
      `The words of the query that no memory of the graph has, up to ${UNKNOWN_MAX}: hits have what was looked for ` +
      "instead.",
  })
  unknownWords!: UnknownWord[];

  @Field(() => Boolean, {
    description: "Whether fewer hits came than `limit` has room for, since they are too large for one answer.",
  })
  truncated!: boolean;

  @Field(() => Boolean, {
    description:
      `Whether hits were found by meaning, too: where the operator has a model for it, among the best ${mergedByWords}. ` +
      "False where it did not answer in time, or the query is only of numbers, hashes or signs: then this search was by " +
      "words alone.",
  })
  meaning!: boolean;
}

/** The search exceeded its time limit, so there is no result. */
export class SearchTooSlow extends Failure {
  readonly kind = "unavailable";
  override readonly reason = "search_too_slow";
  override readonly retryAfterSeconds = 2;

  constructor() {
    super(
      `The search took longer than ${LIMITS.database.searchTimeoutMs / 1_000} s and was ended. ` +
        "Search for fewer or rarer words, or narrow it by `types`, `tags` or dates.",
    );
  }
}

const { content, summary, tags, updatedAt } = MEMORY_EXAMPLE;
const HIT_EXAMPLE = {
  ...headOf(MEMORY_EXAMPLE),
  summary,
  tags,
  updatedAt,
  snippet: content,
  supersededBy: null,
  solvedBy: null,
  matches: null,
};

export const searchMemories = defineOperation({
  name: "searchMemories",
  effect: "reads",
  summary: "Finds memories by words, best first: titles count over tags, tags over content.",
  notes:
    "A query of punctuation alone, such as `%` or `--`, finds memories that have all of these characters. A " +
    'query of stop words alone, such as "the of", finds titles that have them all. A word that no memory has is ' +
    "taken as misspelt, as the beginning of others or as several in one, for up to " +
    `${LIMITS.search.misspelt} words of a query. A hit may lack common words, question words of several languages, and ` +
    'words such as "der" and "und" in a query that is in their language. Names ' +
    'such as "getUserById", "get_user_by_id" and "src/app.ts" are found whole, by their parts, and by the ' +
    "beginning of each part. Names with signs, such as `c++`, `.net`, `--no-cache` or `3.5%`, are found as they are written " +
    "first, then by their words. Full-width letters, ligatures, accents, digits of other scripts and invisible " +
    'characters make no difference. Stop words of a phrase only rank: "not found" finds all with "found", first those with ' +
    'both side by side. So do words that deny, "before", "after" and the like also without quotes: "invoice not paid" finds ' +
    "first what is not paid. Phrases are looked for in up to " +
    `${phraseBytes / 1_000_000} MB of words, less the more words a phrase has: where more memories pass the filters and ` +
    "have all words of a phrase, `total` counts those that were found. Snippets are looked for in the whole contents of " +
    `the best hits, up to ${snippetBytes / 1_000} kB in all, and in the first ` +
    `${snippetCharacters.toLocaleString("en")} characters of others; of long contents found by meaning, in the part ` +
    "that is nearest.",
  input: SearchMemoriesInput,
  output: SearchResult,
  isLarge: true,
  permission: "memories:read",
  failures: [NoTeamGraph, SearchTooSlow],
  rest: { method: "GET", path: "/v1/memories/search" },
  mcp: {
    name: "search_memories",
    alsoNamed: ["recall_memories"],
    description:
      "Finds memories by words, best first; words may be misspelt or missing. Call it before work on a task, an error " +
      "or a decision, and before storing. `total` counts hits with all words, else with any. get_memory reads a hit whole.",
    leftOut: ["minImportance", "createdBefore", "tagsMatch", "explain", "full", "includeExpired"],
    inputs: {
      query: "Words to find, in any order; quotes hold a phrase together.",
      types: "Only these types, such as solution.",
      tags: "Only with all of these tags.",
      project: "Only with exactly this project_path in context.",
      createdAfter: "Only stored since then.",
      limit: "How many at most.",
      offset: "How many to leave out.",
      graph: `Only one is searched. ${GRAPH_FOR_AGENTS}`,
    },
    most: { limit: 20 },
    usual: { limit: 10 },
    outputs: [
      ...[
        "id",
        "type",
        "title",
        "summary",
        "tags",
        "updatedAt",
        "author",
        "editor",
        "snippet",
        "relevance",
        "supersededBy",
        "solvedBy",
      ].map((name) => `memories.${name}`),
      "total",
      "totalIsCapped",
      "unknownWords",
    ],
    ifCut: "For the other hits, call search_memories with offset: how many came. More words give fewer hits.",
    narrowing: ["types", "tags", "project", "createdAfter"],
    whenEmpty: ({ query }) =>
      (UUID.test(String(query).trim()) ? "To read a memory by its id, call get_memory. " : "") +
      `Search goes by words: try other or fewer ones, or another language. ${WHERE_STATE_IS} ` +
      "If get_recent_activity lists nothing either, maybe nothing is stored yet, or it has expired.",
    hintOf: ({ memories, total }, { query }) => {
      const hits = memories as ReadonlyArray<{ relevance: number }>;
      if (hits.length === 0) return Number(total) > 0 ? "There are no more hits: give a smaller offset." : undefined;
      const hints = [
        ...(hits.some(({ relevance }) => relevance >= WEAK) ? [] : [FEW_WORDS]),
        ...(ASKS_FOR_STATE.test(String(query)) ? [WHERE_STATE_IS] : []),
      ];
      return hints.length > 0 ? hints.join(" ") : undefined;
    },
  },
  example: {
    input: { query: "retry backoff", types: [MEMORY_EXAMPLE.type], limit: 5, offset: 0 },
    output: {
      memories: [{ ...HIT_EXAMPLE, relevance: 0.93 }],
      total: 1,
      totalIsCapped: false,
      unknownWords: [],
      truncated: false,
      meaning: false,
    },
  },
  check(_context, { explain, limit }) {
    if (explain && limit > explained) throw InvalidInput.at("limit", LIMIT_BOUND);
  },
  async handle(context, input) {
    const graphId = chosenGraphId(context.caller, input);
    const withSnippets = context.selects("snippet", "memories");
    // Whole memories have their contents, which are then read once; except that what is near in meaning is cut elsewhere.
    const readsOnce = input.full && !isByMeaning(context, input);
    const withText = withSnippets && !readsOnce;
    const withLinks = context.selects("supersededBy", "memories") || context.selects("solvedBy", "memories");
    const withUnknownWords = context.selects("unknownWords");
    const withHits = withUnknownWords || context.selects("memories") || context.selects("truncated");
    const wishes = { ...input, withText, withLinks, withHits, withUnknownWords, expired: expiryFor(context, input) };
    const { meaning, total, unknownWords, ...found } = await searchBoth(context, graphId, wishes);
    const whole = input.full
      ? await withMemories(
          context,
          found.hits.map((hit) => ({ ...hit, graphId, memoryId: hit.id })),
        )
      : null;
    const hits = whole && readsOnce && withSnippets ? withTexts(whole) : (whole ?? found.hits);
    const wanted = await showHits(context, graphId, { ...found, hits });
    const memories = await withinPage(context, wanted);
    if (showsMakers(context, graphId)) await setMakers(context, memories, ({ memoryId: id }) => ({ graphId, id }));
    return {
      memories,
      total: Math.min(total, TOTAL_MAX),
      totalIsCapped: total > TOTAL_MAX,
      unknownWords: [...unknownWords],
      truncated: memories.length < wanted.length,
      meaning,
    };
  },
});

/** The hits as they are answered. Between their snippets, other requests get their turn. */
async function showHits(
  context: Context,
  graphId: string,
  { hits, concepts }: { readonly hits: Iterable<ShownHit>; readonly concepts: readonly Concept[] },
) {
  const find = finderOf(concepts);
  const shown: SearchHit[] = [];
  let [characters, pauseAt] = [0, PAUSE_AFTER.hits];
  for (const hit of hits) {
    if (shown.length >= pauseAt || characters >= PAUSE_AFTER.characters) {
      pauseAt = shown.length + PAUSE_AFTER.hits;
      characters = 0;
      await context.pause();
    }
    shown.push(showHit(hit, graphId, find));
    characters += hit.text?.length ?? 0;
  }
  return shown;
}

type ShownHit = Hit & Pick<SearchHit, "memory">;

function showHit(hit: ShownHit, graphId: string, find: Finder): SearchHit {
  const {
    id: memoryId,
    type,
    title,
    summary,
    tags,
    relevance,
    matches,
    text,
    continues,
    newer,
    solution,
    meantFrom,
    memory,
  } = hit;
  const goesOn = continues === true;
  const snippet = text === null ? {} : { snippet: snippetOf({ text, summary, goesOn, from: meantFrom }, find) };
  return {
    graphId,
    memoryId,
    type,
    title,
    summary,
    tags: [...tags],
    updatedAt: hit.updated,
    relevance,
    supersededBy: newer,
    solvedBy: solution,
    matches,
    ...snippet,
    ...(memory && { memory }),
  };
}

const isByMeaning = ({ meaning }: Context, page: Pick<SearchWishes, "query" | "limit" | "offset">): boolean =>
  meaning !== undefined && isMerged(page);

/** Hits with the texts that their snippets are cut from: one at a time, since cutting a thousand takes 30 ms. */
function* withTexts(hits: ReadonlyArray<Hit & { readonly memory: Memory }>): Generator<ShownHit> {
  let bytes = 0;
  for (const hit of hits) {
    const { content } = hit.memory;
    bytes += Buffer.byteLength(content);
    const text = bytes <= snippetBytes ? content : firstCharacters(content, snippetCharacters);
    yield { ...hit, text, continues: text.length < content.length };
  }
}

/** As PostgreSQL counts characters: a surrogate pair is one. */
const firstCharacters = (text: string, count: number): string =>
  Array.from(text.slice(0, 2 * count))
    .slice(0, count)
    .join("");

type Wishes = SearchWishes &
  SearchMemoriesInput & {
    /** Whether the hits are needed: an answer that only counts them needs none. */
    readonly withHits: boolean;
  };

/** Searches by words and, if the page lies within the merged hits, at the same time by meaning. */
async function searchBoth(context: Context, graphId: string, wishes: Wishes) {
  const { limit: asked, offset, query, withHits } = wishes;
  const limit = withHits ? asked : 0;
  const merges = isByMeaning(context, wishes);
  const byMeaning = merges ? findByMeaning(context, graphId, { text: query, use: "query" }, wishes) : null;
  const page = merges ? { limit: mergedByWords, offset: 0 } : { limit, offset };
  const found = await context.database
    .search((run) => findMemories(run, graphId, { ...wishes, ...page }))
    .catch((error: unknown) => {
      throw isTimeout(error) ? new SearchTooSlow() : error;
    });
  const nearest = await byMeaning;
  const merged = nearest ? await mergeByRank(context, graphId, { found, nearest }, wishes) : found;
  return {
    ...merged,
    meaning: nearest !== null,
    hits: merges ? merged.hits.slice(offset, offset + limit) : merged.hits,
  };
}
