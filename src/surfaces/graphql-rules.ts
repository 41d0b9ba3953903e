import { LIMITS } from "../limits.js";

/** Rules for every GraphQL request, in Markdown: shown in the schema's description and on its page. */
export const GRAPHQL_RULES: readonly string[] = [
  "A missing or wrong API key is HTTP 401. Introspection needs no key.",
  "A request costs one of the caller's budget for each root field. One that cannot be understood costs one request. " +
    "When the budget is used up, the request is HTTP 429. Without a key an address has " +
    `${LIMITS.budgets.keylessPerAddress} requests a minute, by GraphQL and REST together.`,
  "An operation's own limit, such as too many codes, is an error of its field, with HTTP 200 and `Retry-After`.",
  "Root fields can be null: where one of several fails, `errors` says why, and what the others did is still answered.",
  "Input is checked before scopes, so a wrong input is `BAD_REQUEST` even for a key that lacks the scope. " +
    "Roles in a team count as of the moment of the change.",
  "An empty list is refused; leave it out instead. An update needs at least one field to change.",
  "`Idempotency-Key` is a header of the request, and each change in it has a result of its own, kept for " +
    `${LIMITS.idempotency.keptHours} hours. A change that fails leaves the key free. One that needs no API key keeps none.`,
  "An `id` is always the object's own. What depends on from where one looks has none: a `SearchHit` and a " +
    "`RelatedMemory` say `memoryId` and lead to the `memory`, a `MemoryRelationship` says `relationshipId` and leads to the " +
    "`relationship`. So caches that keep objects by their id need no settings (Apollo Client, Relay), or only a list of " +
    "the types without one (`keys` of urql's Graphcache). REST says `id` instead.",
];
