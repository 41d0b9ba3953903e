import { expect, it } from "vitest";
import { UNAVAILABLE } from "../../src/platform/database/database-errors.js";
import { ask } from "../support/http.js";
import { createWorld } from "../support/world.js";

const memory = { type: "fix", title: "Retry", content: "Wait longer each time." };
const search = { path: "/v1/memories/search?query=retry" };
const list = { path: "/v1/memories" };
const create = { path: "/v1/memories", body: memory };

const AS_MIGRATED = `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at)
  VALUES ('newer', '', '99990101000000_newer', now())`;

it.each([
  ["a function", "ALTER FUNCTION search_hits RENAME TO newer_hits", search],
  ["a column", "ALTER TABLE memory RENAME COLUMN title TO heading", list],
  [
    "a table in a transaction",
    "ALTER TABLE audit_entry RENAME TO newer_entry",
    { path: "/keys", body: { name: "Mine" } },
  ],
  ["the type of a column", "ALTER TABLE memory ALTER COLUMN importance TYPE real", list],
  [
    "what a row needs",
    "ALTER TABLE memory ADD colour text NOT NULL DEFAULT 'red'; ALTER TABLE memory ALTER colour DROP DEFAULT",
    create,
  ],
])(
  "answers 503, and says what to do, where a newer version has changed %s",
  async (_what, change, { path, ...sent }) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const say = () => ask(url + path, { key: ann.key, ...sent });
    // By each connection that may answer later: it then has prepared statements.
    let answer = await say();
    expect(answer.status).toBeLessThan(300);
    await world.database.pool.query(change);

    await world.database.pool.query(AS_MIGRATED);
    // A new connection, opened beside a background job, takes the new type of a column.
    await expect.poll(async () => (answer = await say()).status).toBe(503);

    expect(answer).toMatchObject({ body: { error: { code: "unavailable" } } });
    expect(answer.headers.get("retry-after")).toBe("2");
    expect(world.log.join("\n")).toContain(UNAVAILABLE.outdated);
    expect((await ask(`${url}/me`, { key: ann.key })).status).toBe(200);
    expect((await ask(`${url}/readyz`)).status).toBe(200);
    expect(world.bugs).toEqual([]);
  },
);

it("answers 503 where a newer version has changed what the look-up of a key reads", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const say = () => ask(`${url}/me`, { key: ann.key });
  expect((await say()).status).toBe(200);
  await world.database.pool.query("ALTER TABLE api_key RENAME COLUMN scopes TO rights");

  expect((await say()).status).toBe(500);
  await world.database.pool.query(AS_MIGRATED);
  const answer = await say();

  expect(answer).toMatchObject({ status: 503, body: { error: { code: "unavailable" } } });
  expect(world.log.join("\n")).toContain(UNAVAILABLE.outdated);
});

it("answers 503 by GraphQL, too", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await world.database.pool.query("ALTER TABLE memory RENAME COLUMN title TO heading");
  await world.database.pool.query(AS_MIGRATED);

  const { body } = await ask(`${url}/graphql`, {
    key: ann.key,
    body: { query: "{ memories { memories { title } } }" },
  });

  expect(body).toMatchObject({ errors: [{ extensions: { code: "UNAVAILABLE" } }] });
  expect(world.bugs).toEqual([]);
});
