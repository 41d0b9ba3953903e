import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { lockRow } from "../../src/operation/lock-row-statement.js";
import { withSlashes } from "../support/folder.js";
import { createWorld } from "../support/world.js";

/** Prisma's models do everything else. A further statement must say in its file why it needs SQL. */
const STATEMENTS = [
  "features/access/caller-statement.ts: callersByKeys",
  "features/billing/claim-due-account-statement.ts: claimDueAccount",
  "features/bulk/bulk-statements.ts: relationshipsAlike",
  "features/bulk/bulk-statements.ts: storeMemories",
  "features/bulk/export-statement.ts: betweenStatement",
  "features/mail/mail-statements.ts: claimDueMails",
  "features/memories/graph-room-statements.ts: emptyGraph",
  "features/memories/graph-room-statements.ts: measureMemories",
  "features/memories/graph-room-statements.ts: settleChange",
  "features/memories/many-statements.ts: memoriesByIds",
  "features/memories/many-statements.ts: passingMemories",
  "features/memories/many-statements.ts: relationshipsOfAll",
  "features/memories/many-statements.ts: relationshipsOfEach",
  "features/memories/many-statements.ts: removeMemories",
  "features/memories/many-statements.ts: storeRelationships",
  "features/memories/meaning/embedding-statements.ts: fillEmbeddings",
  "features/memories/meaning/embedding-statements.ts: nearVectors",
  "features/memories/memory-statements.ts: addressesOfMembers",
  "features/memories/memory-statements.ts: copyStatement",
  "features/memories/memory-statements.ts: keepVersion",
  "features/memories/memory-statements.ts: makersOfMemories",
  "features/memories/memory-statements.ts: newestStatement",
  "features/memories/memory-statements.ts: readStatement",
  "features/memories/memory-statements.ts: storeMemory",
  "features/memories/memory-statements.ts: writeContext",
  "features/memories/related-statement.ts: walkStatement",
  "features/memories/words/narrowed-statement.ts: narrowedMemories",
  "features/memories/words/narrowed-statement.ts: rareMemories",
  "features/memories/words/search-statements.ts: likenesses",
  "features/memories/words/search-statements.ts: matchesOfHits",
  "features/memories/words/search-statements.ts: searchHits",
  "features/memories/words/search-statements.ts: searchWords",
  "features/memories/words/search-statements.ts: wordsAlike",
  "features/memories/words/word-statements.ts: countWords",
  "features/memories/words/word-statements.ts: forgetNextWords",
  "features/relationships/newest-statement.ts: newestAtMemory",
  "features/relationships/newest-statement.ts: newestOfTypes",
  "features/views/recent-statement.ts: recentActivityOf",
  "features/views/statistics-statement.ts: countGraph",
  "features/views/walk-statements.ts: drawing",
  "features/views/walk-statements.ts: stepFrom",
  "operation/clock-statement.ts: databaseClock",
  "operation/forget-statement.ts: forgetStatement",
  "operation/idempotency-statements.ts: keepResult",
  "operation/idempotency-statements.ts: lockResults",
  "operation/lock-row-statement.ts: lockStatement",
  "platform/database/idle-statement.ts: idleProcesses",
  "platform/database/position-statement.ts: databaseIdentity",
  "platform/database/position-statement.ts: walPosition",
];
const STATEMENTS_MAX = 49;

interface Source {
  readonly path: string;
  readonly text: string;
}

const sources: Source[] = readdirSync("src", { recursive: true, encoding: "utf8" })
  .map(withSlashes)
  .filter((path) => path.endsWith(".ts") && !path.startsWith("platform/prisma/"))
  .map((path) => ({ path, text: readFileSync(join("src", path), "utf8") }))
  .sort((one, other) => (one.path < other.path ? -1 : 1));
const isForStatements = ({ path }: Source): boolean => /-statements?\.ts$/.test(path);

const COMMENT = String.raw`(?:/\*\*(?<comment>(?:(?!\*/)[^])*)\*/\n)?`;
const DECLARATION = new RegExp(
  String.raw`${COMMENT}(?:export )?const (?<name>\w+)\b[^;]*?(?:=>?\s+defineStatement\(|: Statement =>? )`,
  "g",
);

/** Each declared statement, or function that makes statements, with the comment above it. */
const declaredIn = ({ path, text }: Source) =>
  Array.from(text.matchAll(DECLARATION), ({ groups }) => ({
    path,
    name: `${path}: ${groups?.["name"]}`,
    comment: groups?.["comment"] ?? "",
  }));
const declared = sources.flatMap(declaredIn);

it("are few, and all of them listed here", () => {
  const advice = "Add a new statement to STATEMENTS, and count it in STATEMENTS_MAX, only if no model can do the same.";
  expect(declared.map(({ name }) => name).sort(), advice).toEqual(STATEMENTS);
  expect(STATEMENTS.length).toBeLessThanOrEqual(STATEMENTS_MAX);
});

it("are in files of their own, each with a comment on why it is SQL", () => {
  const elsewhere = sources.filter((source) => !isForStatements(source));
  const advice = "Declare it in a file whose name ends with -statement.ts or -statements.ts.";
  expect(elsewhere.flatMap(declaredIn), advice).toEqual([]);
  // SQL outside of declared statements.
  const raw = elsewhere.filter(({ text }) => /\$(?:query|execute)Raw|\.run(?:<.*>)?\(\s*\{/.test(text));
  expect(raw.map(({ path }) => path)).toEqual(["platform/database/database.ts"]);

  const silent = declared.filter(({ comment }) => !comment.includes("SQL"));
  expect(silent, "Say in the comment above it why it is SQL.").toEqual([]);
});

it("are valid SQL if they are built only when they run", async () => {
  await using world = await createWorld();

  // `statement-types.test.ts` checks the declared ones.
  const locked = [
    await lockRow(world.database, "team", { id: world.services.newId() }),
    await lockRow(world.database, "graph", { id: world.services.newId() }, { strength: "KEY SHARE", skipLocked: true }),
  ];

  expect(locked).toEqual([false, false]);
});
