import { DOCUMENTS } from "./documents.js";
import { GRAPHS, MEMORIES, memoryAt, memoryId, userOf } from "./dataset.js";
import { type Chance, capital, chanceOf, oneOf, prose, rareWords, subjectWords, whole } from "./text.js";

export interface Ask {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly key: string;
  readonly body?: string;
}

export interface Case {
  readonly name: string;
  /** The lowest acceptable speed, as a share of the hand-written server's speed. */
  readonly target: number;
  readonly status: number;
  /** Whether each answer contains a new memory, with its own id and times. */
  readonly creates: boolean;
  readonly requests: readonly Ask[];
}

export const GRAPHQL_GET = "graphql-get";
const REQUESTS_OF_CASE = 2_000;
const KIND = 7;
/** Words this common match too many memories: nobody would search for one alone, or for two of them. */
const COMMON_ALONE = 40;
const COMMON_TOGETHER = 10;

const keys = Array.from({ length: GRAPHS }, (_, graph) => userOf(graph).key);
const keyOf = (memory: number): string => keys[memory % GRAPHS] ?? "";

/**
 * Every case uses memories drawn evenly from all graphs, the same in every run. Cases that write come last: what they
 * add makes searches slower until PostgreSQL has vacuumed its indexes.
 */
export const CASES: readonly Case[] = [
  rest("rest-get", 1, (memory) => ({ path: `/v1/memories/${memoryId(memory)}` })),
  rest("rest-related", 1, (memory) => ({ path: `/v1/memories/${memoryId(memory)}/related` })),
  rest("rest-search", 1, (memory, chance) => ({
    path: `/v1/memories/search?query=${encodeURIComponent(queryFor(memory, chance))}`,
  })),
  graphql(GRAPHQL_GET, 0.9, DOCUMENTS.get, (memory) => ({ id: memoryId(memory) })),
  graphql("graphql-related", 0.9, DOCUMENTS.related, (memory) => ({ id: memoryId(memory) })),
  graphql("graphql-search", 0.9, DOCUMENTS.search, (memory, chance) => ({ query: queryFor(memory, chance) })),
  graphql("graphql-nested", 0.85, DOCUMENTS.nested, (memory) => ({ id: memoryId(memory) })),
  rest("rest-create", 1, (_memory, chance) => ({ path: "/v1/memories", body: newMemory(chance) })),
  graphql("graphql-create", 0.9, DOCUMENTS.create, (_memory, chance) => ({ input: newMemory(chance) })),
];

function rest(
  name: string,
  target: number,
  make: (memory: number, chance: Chance) => { readonly path: string; readonly body?: object },
): Case {
  const creates = name.endsWith("create");
  const requests = drawn((memory, chance): Ask => {
    const { path, body } = make(memory, chance);
    if (!body) return { method: "GET", path, key: keyOf(memory) };
    return { method: "POST", path, key: keyOf(memory), body: JSON.stringify(body) };
  });
  return { name, target, status: creates ? 201 : 200, creates, requests };
}

function graphql(
  name: string,
  target: number,
  query: string,
  variablesFor: (memory: number, chance: Chance) => object,
): Case {
  const requests = drawn((memory, chance): Ask => ({
    method: "POST",
    path: "/graphql",
    key: keyOf(memory),
    body: JSON.stringify({ query, variables: variablesFor(memory, chance) }),
  }));
  return { name, target, status: 200, creates: name.endsWith("create"), requests };
}

function drawn(make: (memory: number, chance: Chance) => Ask): Ask[] {
  return Array.from({ length: REQUESTS_OF_CASE }, (_, index) => {
    const chance = chanceOf(KIND, index);
    return make(whole(chance, MEMORIES), chance);
  });
}

function newMemory(chance: Chance): object {
  return {
    type: "solution",
    title: capital(subjectWords(chance, 5).join(" ")),
    content: prose(chance, 40),
    tags: subjectWords(chance, 3),
    importance: 0.7,
  };
}

/** One or two words of the memory, so that the search finds something. */
function queryFor(memory: number, chance: Chance): string {
  const { title, content } = memoryAt(memory);
  const alone = rareWords(`${title} ${content}`, COMMON_ALONE);
  const together = rareWords(`${title} ${content}`, COMMON_TOGETHER);
  return chance() < 0.5 ? oneOf(chance, alone) : `${oneOf(chance, together)} ${oneOf(chance, together)}`;
}
