import type { Actor, World } from "./world.js";

/** An id of the past, in SQL: exports and cursors take the order of ids for that of time, so random ones would be new. */
const PAST_ID = "('01900000-0000-7' || substr(gen_random_uuid()::text, 16))::uuid";

/** Stores `count` memories with this content, without a request for each. */
export async function storeMemories(
  { database }: Pick<World, "database">,
  { caller }: Pick<Actor, "caller">,
  count: number,
  content: string,
): Promise<void> {
  await database.pool.query(
    `INSERT INTO memory (graph_id, id, type, title, content, tags, created_by, created_at, updated_by, updated_at)
     SELECT $1, ${PAST_ID}, 'general', 'Memory ' || n, $2, '{}', $3, now(), $3, now()
     FROM generate_series(1, $4::int) n`,
    [caller.personalGraphId, content, caller.userId, count],
  );
}

/** Links every memory to the `each` memories after it, so that each leads on to others. */
export async function linkMemories(
  { database }: Pick<World, "database">,
  { caller }: Pick<Actor, "caller">,
  each: number,
): Promise<void> {
  await database.pool.query(
    `INSERT INTO relationship (graph_id, id, from_id, to_id, type, created_by, created_at)
     SELECT $1, ${PAST_ID}, a.id, b.id, 'LEADS_TO', $2, now()
     FROM (SELECT id, row_number() OVER (ORDER BY id) n FROM memory WHERE graph_id = $1) a
     JOIN (SELECT id, row_number() OVER (ORDER BY id) n FROM memory WHERE graph_id = $1) b
       ON b.n BETWEEN a.n + 1 AND a.n + $3`,
    [caller.personalGraphId, caller.userId, each],
  );
}
