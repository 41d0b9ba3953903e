import { ArgsType, Field, Int, ObjectType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Between, NotBlank, TextLength } from "../../operation/bounds.js";
import { Failure } from "../../operation/failure.js";
import { defineOperation } from "../../operation/operation.js";
import { isTimeout } from "../../platform/database.js";
import { NoTeamGraph, chosenGraphId } from "./graph.js";
import { MEMORY_EXAMPLE } from "./memory-example.js";
import { MemoryFilterInput } from "./memory-filter.js";
import { TOTAL_MAX, findMemories } from "./search.js";
import { SearchHit } from "./search-hit.js";

const LIMIT_MAX = 1_000;

@ArgsType()
export class SearchMemoriesInput extends MemoryFilterInput {
  @Field(() => String, {
    description:
      "The words to find, in any order, 1 to 1,000 characters; quotes hold a phrase together. Punctuation is text. " +
      "Where no memory has all the words, those with words spelt nearly alike, or with most of the words, are found.",
  })
  @NotBlank()
  @TextLength(1, 1_000)
  query!: string;

  @Field(() => Int, { defaultValue: 20, description: `How many hits to answer with at most, from 1 to ${LIMIT_MAX}.` })
  @Between(1, LIMIT_MAX)
  limit!: number;
}

@ObjectType({ description: "What a search found." })
export class SearchResult {
  @Field(() => [SearchHit], { description: "The hits, best first." })
  memories!: SearchHit[];

  @Field(() => Int, { description: `How many memories match, counted up to ${TOTAL_MAX}.` })
  total!: number;

  @Field(() => Boolean, { description: `Whether more than ${TOTAL_MAX} match.` })
  totalIsCapped!: boolean;
}

/** The search took longer than it may, and found nothing in its time. */
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

const { graphId, id, type, title } = MEMORY_EXAMPLE;
const HIT_EXAMPLE = { graphId, memoryId: id, type, title };

export const searchMemories = defineOperation({
  name: "searchMemories",
  effect: "reads",
  summary: "Finds memories by words, best first: titles count over tags, tags over content.",
  notes:
    "A query of punctuation alone, such as `%` or `--`, finds memories that have all of these characters. A " +
    'query of stop words alone, such as "the of", finds titles that have them all. A word that no memory has is ' +
    `taken as misspelt, for up to ${LIMITS.search.misspelt} words of a query. A hit may lack common words. Names ` +
    'such as "getUserById", "get_user_by_id" and "src/app.ts" are found whole, by their parts, and by the ' +
    "beginning of each part.",
  input: SearchMemoriesInput,
  output: SearchResult,
  permission: "memories:read",
  failures: [NoTeamGraph, SearchTooSlow],
  rest: { method: "GET", path: "/v1/memories/search" },
  example: {
    input: { query: "retry backoff", types: [MEMORY_EXAMPLE.type], limit: 5 },
    output: { memories: [{ ...HIT_EXAMPLE, relevance: 0.93 }], total: 1, totalIsCapped: false },
  },
  async handle({ caller, database }, input) {
    const graphId = chosenGraphId(caller, input);
    const rows = await database
      .search((run) => findMemories(run, graphId, input))
      .catch((error: unknown) => {
        throw isTimeout(error) ? new SearchTooSlow() : error;
      });
    const total = rows[0]?.total ?? 0;
    return {
      memories: rows.map(({ id: memoryId, type, title, relevance }) => ({ graphId, memoryId, type, title, relevance })),
      total: Math.min(total, TOTAL_MAX),
      totalIsCapped: total > TOTAL_MAX,
    };
  },
});
