import { CONTENTS } from "../../src/features/memories/memory-columns.js";
import { LINK_CONTENTS } from "../../src/features/memories/relationship-columns.js";
import { createMemory } from "../../src/features/memories/create-memory.js";
import { searchMemories } from "../../src/features/memories/search/search-memories.js";
import type { Memory } from "../../src/features/memories/memory.js";
import { createRelationship } from "../../src/features/relationships/create-relationship.js";
import type { Relationship } from "../../src/features/relationships/relationship.js";
import type { Actor, World } from "./world.js";

/** Stores a memory for a user, with defaults for fields that the test does not need. */
export const aMemory = (actor: Actor, wishes: object = {}): Promise<Memory> =>
  actor.did(createMemory, { type: "general", title: "A note", content: "Something.", ...wishes });

/** Stores memories with these titles, in this order. */
export async function memoriesTitled<const Titles extends readonly string[]>(
  actor: Actor,
  ...titles: Titles
): Promise<{ [Place in keyof Titles]: Memory }> {
  const made: Memory[] = [];
  for (const title of titles) made.push(await aMemory(actor, { title }));
  return made as { [Place in keyof Titles]: Memory };
}

/** The titles of the memories that a search finds. */
export const findTitles = async (actor: Actor, query: string, wishes: object = {}): Promise<string[]> =>
  (await actor.did(searchMemories, { query, ...wishes })).memories.map(({ title }) => title);

/** JSON that could be changed on the way to the database and back. */
const CONTEXT = {
  $type: "DateTime",
  value: "x",
  z: 1,
  a: [1e21, 1e-7, 0.1, null, { "": [] }],
  é: '\u2028"',
  ["__proto__"]: 1,
};

/** A memory with every field set. Fields without a form of their own hold a text. */
export const everythingSaid = (word: string, importance: number) => ({
  ...Object.fromEntries(CONTENTS.map((name) => [name, `${word} ${name}`])),
  type: word,
  tags: [word, "more"],
  importance,
  confidence: 1 - importance,
  context: { ...CONTEXT, project_path: `/${word}` },
  clientId: `${word} clientId`,
  expiresAt: new Date(Date.UTC(2100, 0, 1 + 100 * importance)),
});

/** A relationship with every field set. */
export const everythingSaidOfLink = (word: string, strength: number): Readonly<Record<string, unknown>> => ({
  ...Object.fromEntries(LINK_CONTENTS.map((name) => [name, `${word} ${name}`])),
  strength,
  confidence: 1 - strength,
});

type End = Pick<Memory, "id">;

/** A relationship from one memory to another. */
export const aLink = (actor: Actor, from: End, to: End, wishes: object = {}): Promise<Relationship> =>
  actor.did(createRelationship, {
    fromMemoryId: from.id,
    toMemoryId: to.id,
    relationshipType: "RELATED_TO",
    ...wishes,
  });

/** Creates many memories at once by SQL: storing them one by one would take too long. */
export async function manyMemories(
  { database }: World,
  { caller }: Pick<Actor, "caller">,
  count: number,
  content = "Something.",
) {
  const { rows } = await database.pool.query<{ id: string }>(
    `INSERT INTO memory (graph_id, id, type, title, content, tags, created_by, created_at, updated_by, updated_at)
     SELECT $1, gen_random_uuid(), 'general', 'Note ' || n, $3, '{}', $2, now(), $2, now()
     FROM generate_series(1, $4::int) AS n RETURNING id`,
    [caller.personalGraphId, caller.userId, content, count],
  );
  await database.pool.query("SELECT learn_words_of($1, $2)", [caller.personalGraphId, rows.map(({ id }) => id)]);
  return rows;
}

/** Creates many relationships at once, each of strength 0.5, from the first to the second id of a pair. */
export async function manyLinks(
  { database }: World,
  { caller }: Pick<Actor, "caller">,
  pairs: ReadonlyArray<readonly [string, string]>,
  type = "RELATED_TO",
) {
  await database.pool.query(
    `INSERT INTO relationship (graph_id, id, from_id, to_id, type, created_by, created_at)
     SELECT $1, gen_random_uuid(), pair.from_id, pair.to_id, $5, $2, now()
     FROM unnest($3::uuid[], $4::uuid[]) AS pair(from_id, to_id)`,
    [caller.personalGraphId, caller.userId, pairs.map(([from]) => from), pairs.map(([, to]) => to), type],
  );
}

/** Graphs whose stored size is wrong; empty if all sizes are right. */
export async function miscounted({ database }: World) {
  const { rows } = await database.pool.query<{ id: string }>(
    `SELECT g.id, u.memories, u.bytes, measured.memories AS memories_held, measured.bytes AS bytes_held
     FROM graph g LEFT JOIN graph_usage u ON u.graph_id = g.id, measure_graph(g.id) measured
     WHERE (u.memories, u.bytes) IS DISTINCT FROM (measured.memories, measured.bytes)`,
  );
  return rows;
}
