import { expect, it } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { AnswerBudget, AnswerTooLarge } from "../../src/operation/answer-budget.js";
import { type Answer, ask } from "../support/http.js";
import { type Actor, type World, createWorld } from "../support/world.js";

const { restPageBytes, graphqlBytes, graphqlPlaces } = LIMITS.answer;

/** Stores memories with a content of so many characters, without a request for each. */
async function storeMemories({ database }: World, { caller }: Actor, count: number, content: string): Promise<void> {
  await database.pool.query(
    `INSERT INTO memory (graph_id, id, type, title, content, tags, created_by, created_at, updated_by, updated_at)
     SELECT $1, gen_random_uuid(), 'general', 'Memory ' || n, $2, '{}', $3, now(), $3, now()
     FROM generate_series(1, $4::int) n`,
    [caller.personalGraphId, content, caller.userId, count],
  );
}

/** Links every memory with the next so many, so that each leads on to others. */
async function linkMemories({ database }: World, { caller }: Actor, each: number): Promise<void> {
  await database.pool.query(
    `INSERT INTO relationship (graph_id, id, from_id, to_id, type, created_by, created_at)
     SELECT $1, gen_random_uuid(), a.id, b.id, 'LEADS_TO', $2, now()
     FROM (SELECT id, row_number() OVER (ORDER BY id) n FROM memory WHERE graph_id = $1) a
     JOIN (SELECT id, row_number() OVER (ORDER BY id) n FROM memory WHERE graph_id = $1) b
       ON b.n BETWEEN a.n + 1 AND a.n + $3`,
    [caller.personalGraphId, caller.userId, each],
  );
}

const bytesOf = ({ body }: Answer): number => Buffer.byteLength(JSON.stringify(body));

it.each([
  ["letters", "x"],
  ["characters of four bytes", "\u{1F600}"],
  ["characters that JSON writes as six", "\u0001"],
])("keeps a page by REST within its bytes and loses nothing of the list: %s", async (_what, character) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await storeMemories(world, ann, 101, character.repeat(50_000));

  const ids: string[] = [];
  let pages = 0;
  let cursor: string | null = "";
  while (cursor !== null) {
    const answer: Answer = await ask(`${url}/v1/memories?limit=100${cursor && `&cursor=${cursor}`}`, { key: ann.key });
    expect(answer.status).toBe(200);
    expect(bytesOf(answer)).toBeLessThanOrEqual(restPageBytes);
    const page = answer.body as { memories: Array<{ id: string }>; next_cursor: string | null };
    ids.push(...page.memories.map(({ id }) => id));
    pages++;
    cursor = page.next_cursor;
  }

  expect(new Set(ids).size).toBe(101);
  expect(ids.length).toBe(101);
  expect(pages).toBeGreaterThan(1);
});

it("refuses by GraphQL what followed fields would multiply, and says what to do", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await storeMemories(world, ann, 150, "Something.");
  await linkMemories(world, ann, 60);
  const query = `{ memories(limit: 20) { memories { relationships { memory { relationships { id } } } } } }`;

  const { status, body } = await ask(`${url}/graphql`, { key: ann.key, body: { query } });

  expect(status).toBe(200);
  const { data, errors } = body as { data: object; errors: Array<{ message: string; extensions: object }> };
  expect(data).toEqual({ memories: null });
  expect(errors[0]?.extensions).toMatchObject({ code: "BAD_REQUEST", reason: "answer_too_large" });
  expect(errors[0]?.message).toContain(graphqlPlaces.toLocaleString("en"));
  expect(errors.length).toBeLessThanOrEqual(20);
  expect(world.bugs).toEqual([]);
});

it.each([
  ["renamed again and again", `{ memories(limit: 50) { memories { ${aliases("content")} } } }`],
  [
    "in several lists",
    `{ ${["a", "b", "c", "d"].map((name) => `${name}: memories(limit: 50) { memories { content } }`).join(" ")} }`,
  ],
  ["of memories that are followed", `{ memories(limit: 5) { memories { relationships { memory { content } } } } }`],
])("refuses by GraphQL more bytes of contents than an answer has room for: %s", async (_what, query) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await storeMemories(world, ann, 100, "x".repeat(50_000));
  await linkMemories(world, ann, 50);

  const answer = await ask(`${url}/graphql`, { key: ann.key, body: { query } });

  expect(JSON.stringify(answer.body)).toContain("answer_too_large");
  expect(bytesOf(answer)).toBeLessThanOrEqual(graphqlBytes);
  expect(world.bugs).toEqual([]);
});

it("refuses an answer whose characters take more bytes than they count for", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await storeMemories(world, ann, 60, "\u0001".repeat(50_000));
  const page = "(limit: 100) { memories { content } }";

  const { status, body } = await ask(`${url}/graphql`, {
    key: ann.key,
    body: { query: `{ a: memories${page} b: memories${page} c: memories${page} }` },
  });

  expect(status).toBe(400);
  expect(JSON.stringify(body)).toContain("answer_too_large");
  expect(world.bugs).toEqual([]);
});

it("reads no content that nobody asked for", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await storeMemories(world, ann, 100, "x".repeat(50_000));
  await linkMemories(world, ann, 20);
  const query = `{ memories(limit: 10) { memories { relationships { memory { id title tags } } } } }`;

  const { body } = await ask(`${url}/graphql`, { key: ann.key, body: { query } });

  expect(JSON.stringify(body)).not.toContain("errors");
});

/** A field under fifteen names. */
function aliases(field: string): string {
  return Array.from({ length: 15 }, (_, index) => `a${index}: ${field}`).join(" ");
}

it("makes one failure of all that has no room, since it may be ten thousand fields", () => {
  const budget = new AnswerBudget();
  const failures = Array.from({ length: 3 }, () => {
    try {
      return budget.takeBytes(graphqlBytes + 1);
    } catch (error) {
      return error;
    }
  });

  expect(failures[0]).toBeInstanceOf(AnswerTooLarge);
  expect(new Set(failures).size).toBe(1);
});
