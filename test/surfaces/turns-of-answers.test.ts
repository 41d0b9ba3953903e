import { expect, it, vi } from "vitest";
import { FieldErrors } from "../../src/surfaces/graphql/field-errors.js";
import { ask } from "../support/http.js";
import { manyLinks, manyMemories } from "../support/memories.js";
import { type Actor, type World, createWorld } from "../support/world.js";

const COUNT = 80;
/** A page has 4 million characters, 1 million of them contexts. A model converts the contexts of up to 25 rows at once. */
const MOST = 400_000;

const FIELDS = "type title content tags context createdAt";

/** A graph of large memories, each linked with the first, which has as many versions. */
async function largeGraph(world: World, { caller }: Actor): Promise<string> {
  const { pool } = world.database;
  const context = JSON.stringify(Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`key${n}`, n])));
  const values = [caller.personalGraphId, caller.userId, context, COUNT];
  // An export ends at the id that its time would have, so random ones would be too high.
  const { rows } = await pool.query<{ id: string }>(
    `INSERT INTO memory (graph_id, id, type, title, content, tags, context, version, created_by, created_at, updated_by,
       updated_at)
     SELECT $1, lpad(n::text, 32, '0')::uuid, CASE WHEN n % 2 = 0 THEN 'problem' ELSE 'general' END, 'Note ' || n,
       repeat('x', 40000), '{}', $3, $4 + 1, $2, now(), $2, now()
     FROM generate_series(1, $4::int) n RETURNING id`,
    values,
  );
  const ids = rows.map(({ id }) => id);
  const [first = "", ...others] = ids;
  await pool.query("SELECT learn_words_of($1, $2)", [caller.personalGraphId, ids]);
  const links = others.map((id) => [first, id] as const);
  await manyLinks(world, { caller }, links);
  await pool.query(
    `INSERT INTO memory_version (graph_id, memory_id, version, type, title, content, tags, importance, context,
       changed_by, changed_at)
     SELECT graph_id, id, n, type, title, content, tags, importance, context, created_by, created_at
     FROM memory, generate_series(1, $2::int) n WHERE id = $1`,
    [first, COUNT],
  );
  return first;
}

/** Counts the characters of JSON that are written and parsed in each turn of the event loop, and returns the most. */
async function mostInOneTurn(work: () => Promise<void>): Promise<number> {
  const [stringify, parse] = [JSON.stringify, JSON.parse];
  let [most, now, isOver] = [0, 0, false];
  const add = (length: number) => (most = Math.max(most, (now += length)));
  using _written = vi.spyOn(JSON, "stringify").mockImplementation(((...args: Parameters<typeof stringify>) => {
    const text = stringify(...args) as string | undefined;
    add(text?.length ?? 0);
    return text;
  }) as typeof stringify);
  using _parsed = vi.spyOn(JSON, "parse").mockImplementation((text, revive) => {
    add(text.length);
    return parse(text, revive) as unknown;
  });
  const endTurn = () => {
    now = 0;
    if (!isOver) setImmediate(endTurn);
  };
  setImmediate(endTurn);
  await work().finally(() => (isOver = true));
  return most;
}

it("works on a part of a large answer in each turn of the event loop, whatever the operation and the door", async () => {
  await using world = await createWorld();
  // One piece in each turn, however fast the machine is.
  const { url } = await world.serve({}, undefined, { turnMs: 0 });
  const ann = await world.user();
  const id = await largeGraph(world, ann);
  const graphql = (query: string) => ({ path: "/graphql", body: JSON.stringify({ query: `{ ${query} }` }) });
  const memories = `memories { ${FIELDS} }`;
  const requests: Readonly<Record<string, { path: string; body?: string }>> = {
    list: { path: "/v1/memories?limit=100" },
    "filtered list": { path: "/v1/memories?limit=100&types=problem,general" },
    versions: { path: `/v1/memories/${id}/versions?limit=100` },
    search: { path: "/v1/memories/search?query=note&limit=100&full=true" },
    related: { path: `/v1/memories/${id}/related?limit=100&full=true` },
    activity: { path: "/v1/activity" },
    "list for other clients": { path: "/api/v1/memories?limit=100" },
    "page of an export": { path: "/v1/export/records?limit=100" },
    "page of an export by GraphQL": graphql("exportGraph(limit: 100) { records }"),
    "page of an account's export": { path: "/users/me/export?limit=100" },
    "list by GraphQL": graphql(`memories(limit: 100) { ${memories} }`),
    "versions by GraphQL": graphql(`memoryVersions(id: "${id}", limit: 100) { versions { content context } }`),
    "search by GraphQL": graphql(`searchMemories(query: "note", limit: 100) { memories { memory { ${FIELDS} } } }`),
    "related by GraphQL": graphql(`relatedMemories(id: "${id}", limit: 100) { memories { memory { ${FIELDS} } } }`),
    "relationships by GraphQL": graphql(`memory(id: "${id}") { relationships { memory { ${FIELDS} } } }`),
    "activity by GraphQL": graphql(`recentActivity { ${memories} unresolvedProblems { ${FIELDS} } }`),
  };
  const headers = { authorization: `Bearer ${ann.key}`, "content-type": "application/json" };
  const found: Record<string, number> = {};
  for (const [name, { path, body }] of Object.entries(requests)) {
    const init = body === undefined ? { headers } : { method: "POST", headers, body };
    // The first time Apollo answers a document, then it is plain.
    for (const time of body === undefined ? [""] : [" by Apollo", ""]) {
      let text = "";
      const most = await mostInOneTurn(async () => {
        const answer = await fetch(url + path, init);
        text = await answer.text();
        expect([name, answer.status]).toEqual([name, 200]);
      });
      // A short answer tells why it is short.
      expect(text.length > MOST ? "large" : text, name).toBe("large");
      if (most > MOST) found[`${name}${time}`] = most;
    }
  }
  expect(found).toEqual({});
});

it("continues the fields that fail by the same read in several turns, too", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, { turnMs: 0 });
  const ann = await world.user();
  const ids = (await manyMemories(world, ann, 1_100))
    .map(({ id }) => id)
    .toSorted()
    .toReversed();
  const [hubs, others] = [ids.slice(0, 12), ids.slice(12)];
  await manyLinks(
    world,
    ann,
    others.map((id, place) => [hubs[place % hubs.length] ?? "", id]),
  );
  const query = "{ memories(limit: 12) { memories { relationships { memory { relationshipsTotal } } } } }";
  let [most, now, isOver] = [0, 0, false];
  const { locate } = FieldErrors.prototype;
  using failing = vi.spyOn(FieldErrors.prototype, "locate").mockImplementation(function (this: FieldErrors, ...given) {
    most = Math.max(most, ++now);
    return locate.apply(this, given);
  });
  const endTurn = () => {
    now = 0;
    if (!isOver) setImmediate(endTurn);
  };
  setImmediate(endTurn);

  const { body } = await ask(`${url}/graphql`, { key: ann.key, body: { query } });

  isOver = true;
  expect(JSON.stringify(body)).toContain("too_many_followed");
  expect(failing.mock.calls.length).toBeGreaterThan(1_000);
  expect(most).toBeLessThan(100);
});
