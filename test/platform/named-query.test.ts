import type { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { openDatabase } from "../../src/platform/database/database.js";
import { sqlStateOf } from "../../src/platform/database/database-errors.js";
import { defineStatement } from "../../src/platform/database/statement.js";
import { createWorld } from "../support/world.js";

const everyKind = defineStatement({
  name: "test_every_kind",
  values: { number: "int4", words: "text[]?" },
  row: { number: "int4", words: "text[]?", time: "timestamptz", json: "json", big: "int8" },
  text: `SELECT 100 / :number AS number, :words AS words, '2026-03-02T09:14:31Z'::timestamptz AS time,
           '{"a": [1]}'::json AS json, 1::int8 AS big
         FROM generate_series(1, 2)`,
});
const time = new Date("2026-03-02T09:14:31Z");
const rowOf = (number: number, words: string[] | null) => ({ number, words, time, json: { a: [1] }, big: "1" });

it("lets PostgreSQL describe a statement's rows once on each connection, and reads all rows alike", async () => {
  await using world = await createWorld();
  await using database = openDatabase(world.databaseUrl);
  let [connections, descriptions] = [0, 0];
  database.pool.on("connect", (client) => {
    connections++;
    const { connection } = client as unknown as { connection: EventEmitter };
    connection.on("rowDescription", () => descriptions++);
  });
  const ask = (number: number, words: string[] | null) => database.run(everyKind, { number, words });

  expect(await ask(1, ["one", 'a "quoted" one'])).toEqual(Array(2).fill(rowOf(100, ["one", 'a "quoted" one'])));
  expect(await ask(2, null)).toEqual(Array(2).fill(rowOf(50, null)));
  expect([connections, descriptions]).toEqual([1, 1]);
  // The pool closes a connection on which a statement failed.
  expect(sqlStateOf(await ask(0, []).catch((error: unknown) => error))).toBe("22012");
  expect(await ask(4, [])).toEqual(Array(2).fill(rowOf(25, [])));
  expect(await Promise.all([ask(1, []), ask(1, [])])).toEqual(Array(2).fill(Array(2).fill(rowOf(100, []))));
  expect(descriptions).toBe(connections);
});
