import { LIMITS } from "../limits.js";

/** Rules for every GraphQL request, in Markdown: shown in the schema's description and on its page. */
export const GRAPHQL_RULES: readonly string[] = [
  "A missing or wrong API key is HTTP 401. Introspection needs no key.",
  "A request runs one operation, by POST; a query also by GET. Both can be automatic persisted queries (APQ). There are " +
    "no batches, subscriptions, uploads or `@defer`.",
  "Each root field costs one request of the caller's budget, even if `@skip` or `@include` leaves it out. A malformed " +
    "request or an invalid document costs one. The header `RateLimit` says how many are left (`r`), and in how many " +
    "seconds the budget is full again (`t`). When the budget is used up, the request is HTTP 429 with `Retry-After`. " +
    `Without a key an address has ${LIMITS.budgets.keylessPerAddress} requests a minute, by GraphQL and REST together; ` +
    "an introspection that nobody has sent before counts as up to " +
    `${1 + LIMITS.graphql.introspectionCost / LIMITS.graphql.introspectionPerRequest}.`,
  "An operation's own limit, such as too many codes, is an error of its field, with HTTP 200. So is a payment provider " +
    "that does not answer, or one that refuses.",
  "Where waiting helps, `retryAfterSeconds` in the error's `extensions` says how many whole seconds: clients seldom pass " +
    "on the header `Retry-After`, and of several errors it tells the wait of one. A payment provider that refuses has " +
    "neither.",
  "Root fields can be null, and so can most fields that lead to other objects: if one of several fails, `errors` says " +
    'why, and the results of the others are returned. Apollo Client keeps them only with `errorPolicy: "all"`.',
  "Input is checked before scopes, so a wrong input is `BAD_REQUEST` even for a key that lacks the scope. " +
    "Roles in a team count as of the moment of the change.",
  "An id is a string; a number is refused. An empty list of ids, scopes or a filter's values is refused, too; leave it " +
    "out instead. An update needs at least one field to change; `tags: []` removes all tags.",
  "`Idempotency-Key` is a header of the request, and each change in it has a result of its own, kept for " +
    `${LIMITS.idempotency.keptHours} hours. A change that fails leaves the key free, and a result that ` +
    "is returned again counts as one request. A change that needs no API key keeps no result.",
  "An `id` is always the object's own. Objects that depend on the query have none: a `SearchHit` and a `RelatedMemory` " +
    "have `memoryId` and lead to the `memory`, a `MemoryRelationship` has `relationshipId` and leads to the " +
    "`relationship`. So caches that keep objects by their type and id need no settings (Apollo Client), or only a list " +
    "of the types without an id or with one that can be null (`keys` of urql's Graphcache). An id is unique in its type: " +
    "a user is a `Viewer` and a `User`, a deleted memory a `Deletion`. Relay, which keeps objects by their id alone, " +
    "needs `getDataID: ({ id }, type) => id && type + id` in its `Environment`. A graph that was restored from the export " +
    "of another has the same ids: give each of the two a cache of its own. REST calls these fields `id`.",
  "Later versions may add types, fields, optional arguments, values of enums and reasons of errors: clients should " +
    "expect ones that they do not know.",
];
