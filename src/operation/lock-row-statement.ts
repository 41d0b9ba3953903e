import type { Database, Statement } from "../platform/database.js";

/** The names of columns and their values; each of them is a UUID. */
type Key = Readonly<Record<string, string>>;

interface Wishes {
  /** `KEY SHARE` keeps the row from being deleted or locked, and lets others hold it, too. */
  readonly strength?: "UPDATE" | "KEY SHARE";
  /** Answers at once where somebody else has locked the row: as if it were not there. */
  readonly skipLocked?: boolean;
}

/** SQL, since no model can lock a row. */
const lockStatement = (table: string, columns: readonly string[], { strength, skipLocked }: Wishes): Statement => ({
  name: ["lock", table, strength, skipLocked && "skip_locked"].filter(Boolean).join("_").toLowerCase(),
  text:
    `SELECT 1 AS locked FROM ${table} WHERE ${columns.map((name, at) => `${name} = $${at + 1}::uuid`).join(" AND ")} ` +
    `FOR ${strength ?? "UPDATE"}${skipLocked ? " SKIP LOCKED" : ""}`,
});

/** Locks a row until the transaction ends; answers with whether there is one. */
export async function lockRow(database: Database, table: string, key: Key, wishes: Wishes = {}): Promise<boolean> {
  const rows = await database.run(lockStatement(table, Object.keys(key), wishes), Object.values(key));
  return rows.length > 0;
}
