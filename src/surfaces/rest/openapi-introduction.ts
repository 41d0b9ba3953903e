import { LIMITS } from "../../limits.js";

const { requestsByPlan, keylessPerAddress, failedKeysPerAddress, networksPer48 } = LIMITS.budgets;
const { keptHours, smallResultBytes } = LIMITS.idempotency;
const count = (number: number): string => number.toLocaleString("en");
const budgets = Object.entries(requestsByPlan).map(([plan, limit]) => `${count(limit)} (plan \`${plan}\`)`);

/** What applies to all paths of the REST interface, in Markdown. */
export const INTRODUCTION = `
Requests carry an API key: \`Authorization: Bearer <key>\`; \`POST /signup\` is how to get a first one. Bodies are JSON in
UTF-8, of up to ${LIMITS.http.bodyBytes / 1_048_576} MiB.

- **Errors** have one format, \`{"error": {"code", "message", "reason"?, "details"?}}\`. Each \`code\` has one status;
  \`reason\` is more precise where a client could act on it. A method that a path does not accept is answered 405
  (\`method_not_allowed\`) with the header \`Allow\`.
- **Input**: fields that are not in the path are in the query string or in the body, but not in both. Unknown fields
  and query parameters are refused (400), and so is a query parameter that is given twice, unless it is a list. Lists
  are written as \`types=A,B\` or as \`types=A&types=B\`; no item can contain a comma there; in GraphQL it can. An empty
  list of ids, scopes or a filter's values is refused; leave it out instead. \`types\` filters by any of the types,
  \`tags\` by all of the tags unless \`tags_match\` says otherwise.
- **JSON**: numbers have the range and the precision of IEEE 754 doubles: write longer ones, such as ids of 64 bits in a
  \`context\`, as strings. If an object has a name twice, the last one counts.
- **Ids** are strings, also in JSON: a number is refused (400). A malformed id is not found (404). A memory whose
  client id is a word of these paths, such as \`search\`, is found by its \`id\`, or at \`/v1/memories/%73earch\`.
- **Order of checks**: input is checked before scopes, so a wrong input is 400 even for a key that lacks the scope.
  Roles in a team count as of the moment of the change.
- **Pages**: send \`next_cursor\` of one answer as \`cursor\` of the next request, until it is null.
- **Updates** keep fields that they do not contain; null clears a field that can be null, and \`[]\` the tags. An update
  without any field to change is refused (400). \`PUT\` and \`PATCH\` are the same partial update, and so are
  \`If-Match: "3"\` and \`expected_version: 3\`. A change that cannot check \`If-Match\` or \`If-None-Match\` refuses it
  (400).
- **Idempotency-Key**: the header works on every change that lists it, with any method. For ${keptHours} hours
  the same key returns the first result again, with any API key of the user that has the same scopes; that counts as
  one request. After a failed request the key can be used again. A result is stored encrypted with its
  \`Idempotency-Key\`, of which only the hash is stored, so a new API key cannot be read from the database. Changes
  that need no API key store no result: results belong to users. A user's results of more than ${count(smallResultBytes)} bytes take together at most as many bytes as
  a graph of the user's plan; then a request with the header is refused with 429.
- **Rate limits**: a user has ${budgets.join(", ")} requests a minute, over all keys and doors together;
  an address has ${keylessPerAddress} without a key, and ${failedKeysPerAddress} with a wrong one, at all doors together; a /48 of
  IPv6 has ${networksPer48} times as much. The headers \`RateLimit\`
  and \`RateLimit-Policy\` say what is left; beyond that the answer is 429 with \`Retry-After\`. At most
  ${LIMITS.http.connectionsPerAddress} requests of one address are served at a time, and ${LIMITS.http.connectionsPerKey} of one key.
- **Head**: a request line and headers that are too large are 413; malformed or too slow ones are 400. The service does
  not answer 408, 414, 417 or 431.
- **X-Read-After**: a client that accepts answers which may be a little old sends this header with each request: first
  \`0/0\`, then its latest value among the answers. Answers to changes have it. So the client sees all of its own
  changes, even if a copy of the database answers. Services without such a copy ignore the header.
- **Overload**: 503 with \`Retry-After\` says when to retry. Where the database failed, a change may have been made all
  the same: sent both times with one \`Idempotency-Key\`, it is made only once.
- **Later versions** may add paths, fields of answers, optional parameters, values of enums and reasons of errors:
  clients should expect ones that they do not know.
- **Payments**: a request that got 502 with \`Retry-After\` can be sent again then, and nothing is charged twice. A 502
  without it stays until somebody does what its message says.
`.trim();
