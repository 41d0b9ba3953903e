import DataLoader from "dataloader";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { exportGraph } from "../../src/features/bulk/export-graph.js";
import { memories } from "../../src/features/memories/list-memories.js";
import { memoryVersions } from "../../src/features/memories/list-memory-versions.js";
import { updateMemory } from "../../src/features/memories/update-memory.js";
import { LIMITS } from "../../src/limits.js";
import { AnswerBudget, AnswerTooLarge } from "../../src/operation/answer-budget.js";
import { pageOf, readForPage, withinPage } from "../../src/operation/page.js";
import { type Answer, ask } from "../support/http.js";
import { linkMemories, storeMemories } from "../support/hubs.js";
import { rowsRead } from "../support/rows-read.js";
import { listenTo } from "../support/statements.js";
import { PATIENT, PATIENT_DOORS } from "../support/patience.js";
import { type World, createWorld } from "../support/world.js";

const { restPageBytes, graphqlBytes, graphqlPlaces } = LIMITS.answer;

/** Work that waits for no turn of the event loop. */
const AT_ONCE = { pause: async () => {} };

const bytesOf = ({ body }: Answer): number => Buffer.byteLength(JSON.stringify(body));

it.each([
  ["letters", "x", 101],
  ["characters of four bytes", "\u{1F600}", 31],
  ["characters that JSON writes as six", "\u0001", 31],
])("keeps a REST page within its size limit, and loses no item of the list: %s", async (_what, character, count) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await storeMemories(world, ann, count, character.repeat(50_000));

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

  expect(new Set(ids).size).toBe(count);
  expect(ids.length).toBe(count);
  expect(pages).toBeGreaterThan(1);
});

it("reads the values of large items only twice to compute how many fit into a page", async () => {
  let read = 0;
  const count: ProxyHandler<object> = {
    get(target, name) {
      read++;
      return Reflect.get(target, name);
    },
  };
  const values = Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`key${n}`, n]));
  const items = Array.from({ length: 100 }, () => ({ context: new Proxy(values, count) }));

  expect(await withinPage(AT_ONCE, items)).toHaveLength(100);

  expect(read / items.length).toBeLessThan(4_500);
});

it.each([
  ["past Apollo", {}],
  ["through Apollo", { extensions: {} }],
])(
  "loses no rejection when an answer is full in the middle of an object whose relation waits: %s",
  async (_way, more) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    await storeMemories(world, ann, 40, "x".repeat(50_000));
    // It would end the process.
    const lost = vi.fn();
    process.on("unhandledRejection", lost);
    onTestFinished(() => void process.off("unhandledRejection", lost));
    const contents = Array.from({ length: 15 }, (_, number) => `c${number}: content`).join(" ");
    const query = `{ memories(limit: 40) { memories { supersededBy { title } ${contents} } } }`;

    for (let times = 0; times < 2; times++) {
      const { status, body } = await ask(`${url}/graphql`, { key: ann.key, body: { query, ...more } });
      expect(status).toBe(200);
      const errors = [{ extensions: { reason: "answer_too_large" } }];
      expect(body).toMatchObject({ data: { memories: null }, errors });
    }

    expect(lost).not.toHaveBeenCalled();
  },
);

it("refuses a GraphQL answer whose relations multiply it, and says what to do", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await storeMemories(world, ann, 150, "Something.");
  await linkMemories(world, ann, 60);
  const query = `{ memories(limit: 20) { memories { relationships { memory { relationships { relationshipId } } } } } }`;

  const { status, body } = await ask(`${url}/graphql`, { key: ann.key, body: { query } });

  expect(status).toBe(200);
  const { data, errors } = body as { data: object; errors: Array<{ message: string; extensions: object }> };
  expect(data).toEqual({ memories: null });
  expect(errors[0]?.extensions).toMatchObject({ code: "BAD_REQUEST", reason: "answer_too_large" });
  expect(errors[0]?.message).toContain(graphqlPlaces.toLocaleString("en"));
  expect(errors[0]?.message).toContain("If the request was a mutation, its changes were made");
  expect(errors.length).toBeLessThanOrEqual(20);
  expect(world.bugs).toEqual([]);
});

it("reads no more contexts of relationships than an answer has room for", async () => {
  await using world = await createWorld();
  using ear = listenTo(world);
  // One piece in each turn, however fast the machine is: what waits for its turn is read together all the same.
  const { url } = await world.serve({}, world.databaseUrl, { turnMs: 0 }, { ...PATIENT });
  const ann = await world.user();
  await storeMemories(world, ann, 70, "Something.");
  await linkMemories(world, ann, 69);
  await world.database.pool.query("UPDATE relationship SET context = repeat('x', 10000)");
  ear.heard(/./);

  const query = "{ memories(limit: 70) { memories { relationships { context } } } }";
  const { body } = await ask(`${url}/graphql`, { key: ann.key, body: { query } });

  expect(JSON.stringify(body)).toContain("answer_too_large");
  // Of ten, each of 250 relationships with 2.5 MB of contexts.
  expect(ear.heard(/FROM "public"."relationship"/)).toHaveLength(4);
});

it("asks for no more items of lists than an answer has room for, however many lists there are", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await storeMemories(world, ann, 70, "Something.");
  await linkMemories(world, ann, 60);
  using load = vi.spyOn(DataLoader.prototype, "load");

  const memory = "relationships { memory { relationships { memory { relationships { memory { content } } } } } }";
  const query = `{ memories(limit: 1) { memories { ${memory} } } }`;
  const { body } = await ask(`${url}/graphql`, { key: ann.key, body: { query } });

  expect(JSON.stringify(body)).toContain("answer_too_large");
  const asked = load.mock.calls.reduce((sum, [key]) => sum + (Array.isArray(key) ? key.length : 0), 0);
  expect(asked).toBeGreaterThan(graphqlPlaces / 2);
  expect(asked).toBeLessThanOrEqual(graphqlPlaces);
});

describe("a hundred linked memories of 50,000 characters", () => {
  // The tests only read them: storing them for each test took PostgreSQL a second.
  let world: World;
  let answerTo: (query: string, variables?: object) => Promise<Answer>;
  beforeAll(async () => {
    world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    await storeMemories(world, ann, 100, "x".repeat(50_000));
    await linkMemories(world, ann, 50);
    answerTo = (query, variables) => ask(`${url}/graphql`, { key: ann.key, body: { query, variables } });
  });
  afterAll(() => world[Symbol.asyncDispose]());

  it.each([
    ["renamed again and again", `{ memories(limit: 50) { memories { ${aliases("content")} } } }`],
    [
      "in several lists",
      `{ ${["a", "b", "c", "d"].map((name) => `${name}: memories(limit: 50) { memories { content } }`).join(" ")} }`,
    ],
    ["of memories that are followed", `{ memories(limit: 5) { memories { relationships { memory { content } } } } }`],
  ])("refuses a GraphQL answer with too many bytes of contents: %s", async (_what, query) => {
    const answer = await answerTo(query);

    expect(JSON.stringify(answer.body)).toContain("answer_too_large");
    expect(bytesOf(answer)).toBeLessThanOrEqual(graphqlBytes);
    expect(world.bugs).toEqual([]);
  });

  it("reads only requested contents", async () => {
    const { body } = await answerTo(
      `{ memories(limit: 10) { memories { relationships { memory { id title tags } } } } }`,
    );

    expect(JSON.stringify(body)).not.toContain("errors");
  });

  it("counts no content that a variable leaves out", async () => {
    const query = `query($whole: Boolean!) {
      memories(limit: 5) { memories { relationships { memory { title ...whole @include(if: $whole) } } } }
    } fragment whole on Memory { content }`;

    expect(JSON.stringify((await answerTo(query, { whole: false })).body)).not.toContain("errors");
    expect(JSON.stringify((await answerTo(query, { whole: true })).body)).toContain("answer_too_large");
  });
});

it("refuses an answer whose characters need more bytes than estimated", async () => {
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

it("reads only a few lists of a request at a time, and stops when the answer is full", async () => {
  await using world = await createWorld();
  const { url, services } = await world.serve();
  const ann = await world.user();
  await storeMemories(world, ann, 30, "x".repeat(50_000));
  const lists = Array.from({ length: 15 }, (_, index) => `a${index}: memories(limit: 30) { memories { content } }`);
  const reading = vi.spyOn(services.database, "readPages");

  const { body } = await ask(`${url}/graphql`, { key: ann.key, body: { query: `{ ${lists.join(" ")} }` } });

  expect(JSON.stringify(body)).toContain("answer_too_large");
  const read = reading.mock.calls.length;
  // Five of 1.5 MB fit; before the sixth is found not to fit, the next reads have begun.
  expect(read).toBeGreaterThan(5);
  expect(read).toBeLessThan(lists.length);
});

it("reads no more pages of an export than an answer has room for", async () => {
  await using world = await createWorld();
  using ear = listenTo(world);
  const { url } = await ear.serve();
  const ann = await world.user();
  await world.database.pool.query(
    `INSERT INTO memory (graph_id, id, type, title, content, tags, created_by, created_at, updated_by, updated_at)
     SELECT $1, lpad(n::text, 32, '0')::uuid, 'general', 'Note', repeat('x', 50000), '{}', $2, now(), $2, now()
     FROM generate_series(1, 30) n`,
    [ann.caller.personalGraphId, ann.caller.userId],
  );
  const pages = Array.from({ length: 15 }, (_, index) => `a${index}: exportGraph(limit: 30) { records }`);
  const body = { query: `{ ${pages.join(" ")} }` };

  // The first time Apollo answers a document, then it is plain.
  for (const way of ["Apollo", "plain"]) {
    const answer = await ask(`${url}/graphql`, { key: ann.key, body });

    expect([way, answer.status]).toEqual([way, 200]);
    expect(JSON.stringify(answer.body)).toContain("answer_too_large");
    const read = ear.heard(/FROM memory WHERE graph_id = \S+ AND id > /).length;
    // Each takes two statements. Five of 1.5 MB fit; before the sixth is found not to fit, the next reads have begun.
    expect(read).toBeGreaterThan(10);
    expect(read).toBeLessThan(2 * pages.length);
  }
});

it.each([
  ["numbers", Array.from({ length: 1_500 }, (_, index) => index + 0.25)],
  ["fields", Object.fromEntries(Array.from({ length: 800 }, (_, index) => [`field${index}`, true]))],
])("counts a context of %s as its JSON, so that what fits is answered", async (_what, values) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await storeMemories(world, ann, 100, "words");
  await world.database.pool.query("UPDATE memory SET context = $1", [{ values }]);
  const lists = Array.from({ length: 15 }, (_, index) => `a${index}: memories(limit: 100) { memories { context } }`);

  const { status, body } = await ask(`${url}/graphql`, { key: ann.key, body: { query: `{ ${lists.join(" ")} }` } });

  expect(status).toBe(200);
  expect(JSON.stringify(body)).toContain("answer_too_large");
  expect(Buffer.byteLength(JSON.stringify(body))).toBeGreaterThan(graphqlBytes / 2);
});

it("serves as many contents as fit into an answer, and one more level of relationships", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await storeMemories(world, ann, 60, "some words ".repeat(100));
  await linkMemories(world, ann, 59);
  const query = `{ memories(limit: 100) { memories { relationshipsTotal
    relationships { relationshipId memory { title content } other: memory { title } } } } }`;

  const { body } = await ask(`${url}/graphql`, { key: ann.key, body: { query } });

  const { data, errors } = body as { data: { memories: { memories: Followed[] } }; errors?: unknown };
  expect(errors).toBeUndefined();
  const ends = data.memories.memories.flatMap(({ relationships }) => relationships);
  expect(ends.length).toBe(60 * 59);
  expect(ends.every(({ memory, other }) => memory.content.length === 1_100 && memory.title === other.title)).toBe(true);
});

interface Followed {
  readonly relationshipsTotal: number;
  readonly relationships: Array<{
    readonly memory: { readonly title: string; readonly content: string };
    readonly other: { readonly title: string };
  }>;
}

/** The same field under fifteen aliases. */
function aliases(field: string): string {
  return Array.from({ length: 15 }, (_, index) => `a${index}: ${field}`).join(" ");
}

it("has room for exactly as many places and bytes as the limits say", () => {
  const full = (places: number, bytes: number) => {
    const budget = new AnswerBudget();
    budget.take(Array(places - 1).fill(null));
    budget.take({});
    budget.take("x".repeat(bytes - 10));
    budget.take(["xxxx", "xxxxxx"].slice(0, graphqlPlaces - places));
    return budget;
  };

  const [places, bytes] = [full(graphqlPlaces, 10), full(graphqlPlaces - 2, graphqlBytes)];
  for (const value of [null, 1, true, ""]) for (const budget of [places, bytes]) budget.take(value);
  expect(() => places.take({})).toThrow(AnswerTooLarge);
  expect(() => places.take([1])).toThrow(AnswerTooLarge);
  expect(() => bytes.assertRoom(1)).toThrow(AnswerTooLarge);
  expect(() => bytes.take("x")).toThrow(AnswerTooLarge);
});

it("has room for nothing more once a list was expected that has no room", () => {
  const budget = new AnswerBudget();
  budget.expect(graphqlPlaces);
  budget.assertRoom(1);

  expect(() => budget.expect(1)).toThrow(AnswerTooLarge);
  expect(() => budget.assertRoom(0)).toThrow(AnswerTooLarge);
});

it("creates one error for all fields that do not fit, since there may be ten thousand", () => {
  const budget = new AnswerBudget();
  const failures = Array.from({ length: 3 }, () => {
    try {
      return budget.assertRoom(graphqlBytes + 1);
    } catch (error) {
      return error;
    }
  });

  expect(failures[0]).toBeInstanceOf(AnswerTooLarge);
  expect(new Set(failures).size).toBe(1);
});

it("reads hardly more of large items than fit into a page, and still every item", async () => {
  await using world = await createWorld({ fresh: true });
  const ann = await world.user();
  const count = 60;
  const { pool } = world.database;
  // Of the past, as the ids of exports must be.
  const { rows } = await pool.query<{ id: string }>(
    `INSERT INTO memory (graph_id, id, type, title, content, tags, created_by, created_at, updated_by, updated_at)
     SELECT $1, ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'general', 'Note ' || n, $3, '{large}',
       $2, now(), $2, now()
     FROM generate_series(1, $4::int) AS n RETURNING id`,
    [ann.caller.personalGraphId, ann.caller.userId, "\u{1F600}".repeat(50_000), count],
  );
  const [first] = rows;
  for (let version = 1; version < count; version++)
    await ann.did(updateMemory, { id: first?.id, title: `v${version}` });
  const reads = {
    list: async (cursor?: string) => {
      const page = await ann.did(memories, { limit: 100, cursor });
      return { ...page, items: page.memories.map(({ id }) => id) };
    },
    filtered: async (cursor?: string) => {
      const page = await ann.did(memories, { limit: 100, cursor, tags: ["large"] });
      return { ...page, items: page.memories.map(({ id }) => id) };
    },
    versions: async (cursor?: string) => {
      const page = await ann.did(memoryVersions, { id: first?.id, limit: 100, cursor });
      return { ...page, items: page.versions.map(({ version }) => version) };
    },
    export: async (cursor?: string) => {
      const page = await ann.did(exportGraph, { limit: 100, cursor });
      return { ...page, items: page.records.flatMap(({ record, id }) => (record === "memory" ? [id] : [])) };
    },
  };
  for (const [name, read] of Object.entries(reads)) {
    const items: unknown[] = [];
    let cursor: string | null | undefined;
    let pages = 0;
    const before = await rowsRead(world);
    do {
      const page = await read(cursor ?? undefined);
      items.push(...page.items);
      cursor = page.nextCursor;
      pages++;
    } while (cursor !== null);
    // A filter also reads the ids of all.
    const rowsPerPage = ((await rowsRead(world)) - before) / pages - (name === "filtered" ? 80 : 0);
    expect({ name, items: items.length, distinct: new Set(items).size }).toEqual({
      name,
      items: count,
      distinct: count,
    });
    expect(rowsPerPage, name).toBeLessThan(LARGEST_READ);
  }
});

it("reads for a page at most twice its bytes, and says whether rows are left, whatever their sizes", async () => {
  for (const size of [1, 1_000, 40_000, 170_000, 200_000]) {
    for (const count of [0, 1, 24, 25, 26, 60, 101, 150]) {
      // Some rows are small, so that the average of the first ones is wrong.
      const length = (index: number) => (index % 3 === 0 ? Math.ceil(size / 10) : size);
      const all = Array.from({ length: count }, (_, id) => ({ id, content: "x".repeat(length(id)) }));
      for (const limit of [1, 24, 25, 100]) {
        let bytes = 0;
        const rows = await readForPage(limit, async (last: { id: number; content: string } | undefined, take) => {
          const next = all.slice(last ? last.id + 1 : 0).slice(0, take);
          bytes += next.reduce((sum, { content }) => sum + content.length, 0);
          return next;
        });
        const { items, nextCursor } = await pageOf(AT_ONCE, rows, { limit, list: "numbers" }, ({ id }) => String(id));
        expect(items.map(({ id }) => id)).toEqual(all.slice(0, items.length).map(({ id }) => id));
        expect(items.length).toBeGreaterThanOrEqual(Math.min(1, count));
        expect(nextCursor === null).toBe(items.length === count);
        expect(bytes).toBeLessThan(2 * restPageBytes);
      }
    }
  }
});

it("reads small rows after large ones in few statements", async () => {
  const all = Array.from({ length: 101 }, (_, id) => ({ content: "x".repeat(id < 25 ? 164_900 : 10), id }));
  let reads = 0;
  const rows = await readForPage(100, async (last: { id: number } | undefined, take) => {
    reads++;
    return all.slice(last ? last.id + 1 : 0).slice(0, take);
  });

  expect(rows).toHaveLength(101);
  expect(reads).toBeLessThanOrEqual(17);
});

it("makes no page of ordinary memories shorter than its limit, however many tags and relationships they have", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await storeMemories(world, ann, 201, "some words ".repeat(500));
  await linkMemories(world, ann, 50);
  const tags = Array.from({ length: LIMITS.memory.tags }, (_, number) => `an ordinary tag ${number}`);
  const context = { branch: "main", files: ["a.ts", "b.ts"], author: { name: "Ann" } };
  await world.database.pool.query("UPDATE memory SET tags = $1, context = $2", [tags, context]);

  const { rows } = await world.database.pool.query<{ id: string }>(
    "SELECT id FROM memory ORDER BY id OFFSET 100 LIMIT 1",
  );
  for (const [path, field] of [
    ["/v1/memories?limit=100", "memories"],
    ["/v1/memories/search?query=words&limit=100&full=true", "memories"],
    ["/v1/export/records?limit=100", "records"],
    ["/v1/relationships?limit=100", "relationships"],
    [`/v1/memories/${rows[0]?.id}`, "relationships"],
    [`/v1/memories/${rows[0]?.id}/related?limit=100&full=true`, "memories"],
  ] as const) {
    const { body } = await ask(url + path, { key: ann.key });
    const { length } = (body as Record<typeof field, readonly object[]>)[field];
    // The first record of an export describes it.
    expect([path, length]).toEqual([path, field === "records" ? 101 : 100]);
  }
});

/** Items of 200 kB that fit into a page, and as many that are read before their size is known. */
const LARGEST_READ = 30;

describe("objects in contexts, of which each takes twenty times the memory of its text", () => {
  const MEMORIES = 150;
  const OBJECTS = 5_000;
  const whole = (limit: number) => `memories(limit: ${limit}) { memories { context } nextCursor }`;
  const fifteen = (field: string) => ({
    query: `{ ${Array.from({ length: 15 }, (_, index) => `a${index}: ${field}`).join(" ")} }`,
  });
  let world: World;
  let send: (path: string, body?: object) => Promise<Answer>;
  let changed: string;
  beforeAll(async () => {
    world = await createWorld();
    const { url } = await world.serve({}, undefined, PATIENT_DOORS, PATIENT);
    const ann = await world.user();
    await storeMemories(world, ann, MEMORIES, "words");
    const { pool } = world.database;
    await pool.query("UPDATE memory SET context = $1", [{ values: Array.from({ length: OBJECTS }, () => ({})) }]);
    const { rows } = await pool.query<{ id: string }>(
      "UPDATE memory SET version = 61 WHERE id = (SELECT id FROM memory LIMIT 1) RETURNING id",
    );
    changed = rows[0]?.id ?? "";
    await pool.query(
      `INSERT INTO memory_version (graph_id, memory_id, version, type, title, content, context, tags, importance,
         confidence, changed_by, changed_at)
       SELECT graph_id, id, n, type, title, content, context, tags, importance, confidence, updated_by, now()
       FROM memory, generate_series(1, 60) n WHERE id = $1`,
      [changed],
    );
    send = (path, body) => ask(url + path, { key: ann.key, ...(body && { body }) });
  });
  afterAll(() => world[Symbol.asyncDispose]());

  it.each([
    ["a list by REST", () => send("/v1/memories?limit=100"), restPageBytes],
    ["a search by REST", () => send("/v1/memories/search?query=words&limit=150&full=true"), restPageBytes],
    ["versions by REST", () => send(`/v1/memories/${changed}/versions?limit=60`), restPageBytes],
    ["an export by REST", () => send("/v1/export/records?limit=100"), restPageBytes],
    ["an account's export", () => send("/users/me/export?limit=100"), restPageBytes],
    ["a list of an earlier client", () => send("/api/v1/memories?limit=40"), graphqlBytes],
    ["lists by GraphQL", () => send("/graphql", fifteen(whole(20))), graphqlBytes],
    [
      "searches by GraphQL",
      () => send("/graphql", fifteen('searchMemories(query: "words", limit: 20) { memories { memory { context } } }')),
      graphqlBytes,
    ],
    ["exports by GraphQL", () => send("/graphql", fifteen("exportGraph(limit: 20) { records }")), graphqlBytes],
  ])("keep an answer within a share of the memory: %s", async (_what, request, bytes) => {
    const { status, body } = await request();

    const objects = JSON.stringify(body).split("{}").length - 1;
    expect(status).toBe(200);
    expect(objects * LIMITS.answer.nestedBytes).toBeLessThanOrEqual(bytes);
    // And what has room is answered: 20 memories of each page.
    expect(objects).toBeGreaterThanOrEqual(20 * OBJECTS);
  });

  it("are refused in a list of an earlier client that has no room for them", async () => {
    const { status, body } = await send("/api/v1/memories?limit=150");

    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain("ask for fewer");
  });

  it("lose no memory of a list", async () => {
    const ids = new Set<string>();
    let pages = 0;
    for (let cursor: string | null = ""; cursor !== null; pages++) {
      const { body } = await send(`/v1/memories?limit=100${cursor && `&cursor=${cursor}`}`);
      const page = body as { memories: Array<{ id: string }>; next_cursor: string | null };
      for (const { id } of page.memories) ids.add(id);
      cursor = page.next_cursor;
    }

    expect(ids.size).toBe(MEMORIES);
    expect(pages).toBeGreaterThan(MEMORIES / 25);
  });
});
