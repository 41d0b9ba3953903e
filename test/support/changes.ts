import { tablesOf } from "./tables.js";
import type { World } from "./world.js";

interface Counted {
  readonly name: string;
  readonly rows: number;
  /** Rows that were written since. */
  readonly written: number;
}

/** What requests change in the tables of a world, and whether they leave something running. */
export class Changes {
  readonly #world: World;
  readonly #since: string;
  readonly #before: ReadonlyMap<string, number>;
  #last = { transaction: "", changes: "" };

  private constructor(world: World, since: string, before: readonly Counted[]) {
    this.#world = world;
    this.#since = since;
    this.#before = new Map(before.map(({ name, rows }) => [name, rows]));
    this.#last = { transaction: since, changes: "" };
  }

  static async from(world: World): Promise<Changes> {
    const since = await settle(world);
    return new Changes(world, since, await count(world, since));
  }

  /**
   * For each table that has changed, by how many rows, and how many of its rows were written: "memory +1 (1)". Waits
   * until PostgreSQL runs no statement and holds no transaction of others.
   */
  async soFar(): Promise<string> {
    const transaction = await settle(this.#world);
    // Whatever writes is a transaction with a number of its own.
    if (transaction === this.#last.transaction) return this.#last.changes;
    const counted = await count(this.#world, this.#since);
    const changes = counted
      .map(({ name, rows, written }) => ({ name, by: rows - (this.#before.get(name) ?? 0), written }))
      .filter(({ by, written }) => by !== 0 || written > 0)
      .map(({ name, by, written }) => `${name} ${by < 0 ? by : `+${by}`} (${written})`)
      .sort()
      .join(", ");
    this.#last = { transaction, changes };
    return changes;
  }
}

/** Waits until PostgreSQL does nothing else in this database. Returns the number of its next transaction. */
async function settle({ database: { pool } }: World): Promise<string> {
  for (;;) {
    const { rows } = await pool.query<{ next: string; busy: number }>({
      name: "settle",
      text: `SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS next, count(*)::int AS busy
             FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
               AND backend_type = 'client backend' AND state <> 'idle'`,
    });
    if (rows[0]?.busy === 0) return rows[0].next;
    await new Promise((done) => setTimeout(done, 1));
  }
}

const counts = new WeakMap<World, string>();

async function count(world: World, since: string): Promise<Counted[]> {
  const { pool } = world.database;
  const text = counts.get(world) ?? (await countingText(world));
  counts.set(world, text);
  return (await pool.query<Counted>({ name: "count", text, values: [since] })).rows;
}

async function countingText({ database: { pool } }: World): Promise<string> {
  const each = (await tablesOf(pool)).map(
    (name) => `SELECT '${name}' AS name, count(*)::int AS rows,
                     count(*) FILTER (WHERE xmin::text::bigint >= $1)::int AS written FROM ${name}`,
  );
  return each.join(" UNION ALL ");
}
