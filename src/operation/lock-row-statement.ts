import type { Database } from "../platform/database/database.js";
import type { Statement } from "../platform/database/statement.js";

/** The names of columns, each with its value, a UUID. */
type Key = Readonly<Record<string, string>>;

interface LockOptions {
  /**
   * `KEY SHARE` prevents a deletion or an UPDATE lock, but other transactions can hold `KEY SHARE`, too. Only one can
   * hold `NO KEY UPDATE`, while others store rows that refer to this one.
   */
  readonly strength?: "UPDATE" | "NO KEY UPDATE" | "KEY SHARE";
  /** Does not wait: a row that is locked by another transaction counts as missing. */
  readonly skipLocked?: boolean;
}

/** SQL, because no model can lock a row. */
const lockStatement = (
  table: string,
  columns: readonly string[],
  { strength, skipLocked }: LockOptions,
): Statement => ({
  name: ["lock", table, strength, skipLocked && "skip_locked"].filter(Boolean).join("_").toLowerCase(),
  text:
    `SELECT 1 AS locked FROM ${table} WHERE ${columns.map((name, at) => `${name} = $${at + 1}::uuid`).join(" AND ")} ` +
    `FOR ${strength ?? "UPDATE"}${skipLocked ? " SKIP LOCKED" : ""}`,
});

/** Locks a row until the transaction ends; returns whether there is one. */
export async function lockRow(
  database: Database,
  table: string,
  key: Key,
  options: LockOptions = {},
): Promise<boolean> {
  const rows = await database.run(lockStatement(table, Object.keys(key), options), Object.values(key));
  return rows.length > 0;
}
