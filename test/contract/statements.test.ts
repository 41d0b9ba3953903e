import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type pg from "pg";
import { expect, it } from "vitest";
import { DEPTH_MAX, relatedStatement } from "../../src/features/memories/related-statement.js";
import { lockRow } from "../../src/operation/lock-row-statement.js";
import type { Database } from "../../src/platform/database.js";
import { allStatements } from "../../src/platform/statement.js";
import { createWorld } from "../support/world.js";

/** Prisma's models say everything else. Whoever needs another statement tells there why it is SQL. */
const STATEMENTS = [
  "features/access/caller-statement.ts: callerByKey",
  "features/access/try-statement.ts: takeTry",
  "features/accounts/audit-statement.ts: forgetAddressInAudit",
  "features/billing/claim-due-account-statement.ts: claimDueAccount",
  "features/billing/take-lock-statement.ts: takeLock",
  "features/mail/mail-statements.ts: claimDueMails",
  "features/memories/graph-room-statements.ts: measureMemories",
  "features/memories/graph-room-statements.ts: settleChange",
  "features/memories/memory-statements.ts: keepVersion",
  "features/memories/memory-statements.ts: readStatement",
  "features/memories/memory-statements.ts: storeMemory",
  "features/memories/related-statement.ts: walkStatement",
  "features/memories/search-statements.ts: searchHits",
  "features/memories/search-statements.ts: searchWords",
  "features/memories/search-statements.ts: wordsAlike",
  "features/memories/word-statements.ts: countWords",
  "features/memories/word-statements.ts: forgetNextWords",
  "operation/clock-statement.ts: databaseClock",
  "operation/forget-statement.ts: forgetStatement",
  "operation/idempotency-statements.ts: keepResult",
  "operation/idempotency-statements.ts: resultsOfKey",
  "operation/idempotency-statements.ts: tryLock",
  "operation/key-statement.ts: keyById",
  "operation/lock-row-statement.ts: lockStatement",
  "platform/idle-statement.ts: idleProcesses",
];
const STATEMENTS_MAX = 25;

/** What every statement has, declared with its types or not. */
interface Sql {
  readonly name: string;
  readonly text: string;
}

interface Source {
  readonly path: string;
  readonly text: string;
}

const sources: Source[] = readdirSync("src", { recursive: true, encoding: "utf8" })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => path.endsWith(".ts") && !path.startsWith("platform/prisma/"))
  .map((path) => ({ path, text: readFileSync(join("src", path), "utf8") }))
  .sort((one, other) => (one.path < other.path ? -1 : 1));
const isForStatements = ({ path }: Source): boolean => /-statements?\.ts$/.test(path);

const COMMENT = String.raw`(?:/\*\*(?<comment>(?:(?!\*/)[^])*)\*/\n)?`;
const DECLARATION = new RegExp(
  String.raw`${COMMENT}(?:export )?const (?<name>\w+)\b[^;]*?(?:=>?\s+defineStatement\(|: Statement =>? )`,
  "g",
);

/** Each statement that is declared, or function that makes some, with the comment above it. */
const declaredIn = ({ path, text }: Source) =>
  Array.from(text.matchAll(DECLARATION), ({ groups }) => ({
    path,
    name: `${path}: ${groups?.["name"]}`,
    comment: groups?.["comment"] ?? "",
  }));
const declared = sources.flatMap(declaredIn);

it("are few, and all of them known", () => {
  expect(declared.map(({ name }) => name).sort()).toEqual(STATEMENTS);
  expect(STATEMENTS.length).toBeLessThanOrEqual(STATEMENTS_MAX);
});

it("stand in files of their own, each with a word on why it is SQL", () => {
  const elsewhere = sources.filter((source) => !isForStatements(source));
  expect(elsewhere.flatMap(declaredIn)).toEqual([]);
  // What is no declared statement, but SQL.
  const raw = elsewhere.filter(({ text }) => /\$(?:query|execute)Raw|\.run(?:<.*>)?\(\s*\{/.test(text));
  expect(raw.map(({ path }) => path)).toEqual(["platform/database.ts"]);

  expect(declared.filter(({ comment }) => !comment.includes("SQL"))).toEqual([]);
});

it("are understood by the database, with as many values as they are given", async () => {
  await using world = await createWorld();
  const client = await world.database.pool.connect();
  try {
    const statements = await exportedStatements();
    for (const { name, text } of await madeStatements()) statements.set(name, { name, text });
    expect(statements.size).toBeGreaterThanOrEqual(STATEMENTS.length);

    const given = sources.flatMap(callsIn).filter(({ name }) => name !== undefined && statements.has(name));
    const wrong: unknown[] = [];
    for (const [exportedAs, statement] of statements) {
      const takes = await countParameters(client, statement);
      for (const { values, path } of given.filter(({ name }) => name === exportedAs)) {
        if (values !== takes) wrong.push({ path, statement: statement.name, takes, values });
      }
    }
    expect(wrong).toEqual([]);
    expect(new Set(Array.from(statements.values(), ({ name }) => name)).size).toBe(statements.size);
  } finally {
    client.release();
  }
});

/** By the name of the export; of those that are not exported one by one, by their own. */
async function exportedStatements(): Promise<Map<string, Sql>> {
  const found = new Map<string, Sql>();
  for (const { path } of sources.filter(isForStatements)) {
    const exported = (await import(pathToFileURL(join("src", path)).href)) as Record<string, unknown>;
    for (const [name, value] of Object.entries(exported)) {
      if (isStatement(value)) found.set(name, value);
      else if (typeof value === "object" && value !== null) {
        for (const one of Object.values(value)) if (isStatement(one)) found.set(one.name, one);
      }
    }
  }
  const known = new Set<Sql>(found.values());
  for (const one of allStatements()) if (!known.has(one)) found.set(one.name, one);
  return found;
}

const isStatement = (value: unknown): value is Sql =>
  typeof value === "object" && value !== null && "name" in value && "text" in value;

/** What is made only when it is run. */
async function madeStatements(): Promise<Sql[]> {
  const made: Sql[] = Array.from({ length: DEPTH_MAX }, (_, index) => relatedStatement(index + 1));
  const run = async (statement: Sql) => {
    made.push(statement);
    return [];
  };
  const database = { run } as unknown as Database;
  await lockRow(database, "team", { id: "" });
  await lockRow(database, "user_account", { id: "" }, { strength: "KEY SHARE", skipLocked: true });
  return made;
}

/** Where a statement is run whose values come in a list. The compiler counts those that come by name. */
const callsIn = ({ path, text }: Source) =>
  Array.from(text.matchAll(/\brun(?:<[^()]*>)?\(\s*(\w+),\s*\[([^\]]*)\]\s*,?\s*\)/g), ([, name, list = ""]) => ({
    path,
    name,
    list,
  }))
    .filter(({ list }) => !list.includes("..."))
    .map(({ list, ...rest }) => ({ ...rest, values: topLevelItems(list) }));

const topLevelItems = (list: string): number =>
  list
    .replaceAll(/\([^()]*\)/g, "")
    .split(",")
    .filter((item) => item.trim() !== "").length;

async function countParameters(client: pg.PoolClient, { text }: Sql): Promise<number> {
  await client.query(`PREPARE looked_at AS ${text}`);
  const { rows } = await client.query<{ count: number }>(
    "SELECT cardinality(parameter_types) AS count FROM pg_prepared_statements WHERE name = 'looked_at'",
  );
  await client.query("DEALLOCATE looked_at");
  return rows[0]?.count ?? -1;
}
