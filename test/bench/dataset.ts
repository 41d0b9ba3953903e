import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type pg from "pg";
import { built } from "./built.js";
import { databaseOn, onServer } from "./on-server.js";
import { type Chance, capital, chanceOf, oneOf, prose, subjectWords, whole } from "./text.js";

const { PROJECT } = await built<typeof import("../../src/platform/project.js")>("platform/project.js");
const { migrate } = await built<typeof import("../../src/platform/database/migrations.js")>(
  "platform/database/migrations.js",
);
const { apiKeyPrefix } =
  await built<typeof import("../../src/features/access/key-text.js")>("features/access/key-text.js");
const { sha256 } = await built<typeof import("../../src/operation/sha256.js")>("operation/sha256.js");
const { SCOPES } = await built<typeof import("../../src/operation/permission.js")>("operation/permission.js");

export const GRAPHS = 50;
/** A multiple of GRAPHS. */
export const MEMORIES = Number(process.env["BENCH_MEMORIES"] ?? 100_000);
const RELATIONSHIPS_OF_MEMORY = 3;
export const RELATIONSHIPS = MEMORIES * RELATIONSHIPS_OF_MEMORY;
const MEMORIES_OF_GRAPH = MEMORIES / GRAPHS;
const ROWS_OF_BATCH = 2_000;
/** How many memories are made between two reports of progress: a minute or two. */
const ROWS_BETWEEN_REPORTS = 100_000;

const FIRST_TIME = Date.parse("2026-01-01T00:00:00Z");
const STEP_MS = 250_000;

/** The purposes of random numbers; each has its own sequence. */
const KIND = { user: 2, graph: 3, key: 4, memory: 5, relationship: 6 } as const;

const MEMORY_TYPES = ["solution", "problem", "error", "fix", "code_pattern", "task", "general", "command"] as const;
const RELATIONSHIP_TYPES = [
  "SOLVES",
  "CAUSES",
  "RELATED_TO",
  "DEPENDS_ON",
  "REQUIRES",
  "BUILDS_ON",
  "FOLLOWS",
] as const;

/** A UUIDv7 with this time. */
function idAt(time: number, chance: Chance): string {
  const digits = (count: number) => Array.from({ length: count }, () => whole(chance, 16).toString(16)).join("");
  const stamp = time.toString(16).padStart(12, "0");
  return `${stamp.slice(0, 8)}-${stamp.slice(8)}-7${digits(3)}-${oneOf(chance, ["8", "9", "a", "b"])}${digits(3)}-${digits(12)}`;
}

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** The only user of a graph. */
export function userOf(graph: number) {
  const letters = chanceOf(KIND.key, graph);
  const key = `mg_live_${Array.from({ length: 38 }, () => oneOf(letters, [...BASE62])).join("")}`;
  return {
    id: idAt(FIRST_TIME, chanceOf(KIND.user, graph)),
    graphId: idAt(FIRST_TIME, chanceOf(KIND.graph, graph)),
    keyId: idAt(FIRST_TIME + 1, chanceOf(KIND.key, graph)),
    email: `user${graph}@example.com`,
    key,
  };
}

/** A memory by its number; the numbers in one graph are GRAPHS apart. */
export function memoryAt(index: number) {
  const graph = index % GRAPHS;
  const chance = chanceOf(KIND.memory, index);
  const time = FIRST_TIME + index * STEP_MS;
  return {
    graph,
    id: idAt(time, chance),
    type: oneOf(chance, MEMORY_TYPES),
    title: capital(subjectWords(chance, 3 + whole(chance, 5)).join(" ")),
    content: prose(chance, 25 + whole(chance, 80)),
    summary: chance() < 0.3 ? prose(chance, 12) : null,
    tags: [...new Set(subjectWords(chance, 1 + whole(chance, 4)))],
    importance: Math.round(chance() * 100) / 100,
    time: new Date(time).toISOString(),
  };
}

/** Every memory has the same number of outgoing relationships; many lead to a few hubs. */
function relationshipAt(index: number) {
  const chance = chanceOf(KIND.relationship, index);
  const from = Math.floor(index / RELATIONSHIPS_OF_MEMORY);
  const graph = from % GRAPHS;
  const place = Math.floor(MEMORIES_OF_GRAPH * chance() ** 2);
  const wanted = place * GRAPHS + graph;
  const to = wanted === from ? (wanted + GRAPHS) % MEMORIES : wanted;
  const time = FIRST_TIME + MEMORIES * STEP_MS + index;
  return {
    graph,
    id: idAt(time, chance),
    from: memoryId(from),
    to: memoryId(to),
    // A different type for each relationship of a memory: a second one of the same type to the same memory is refused.
    type: RELATIONSHIP_TYPES[index % RELATIONSHIP_TYPES.length],
    strength: Math.round(chance() * 100) / 100,
    confidence: Math.round(chance() * 100) / 100,
    context: chance() < 0.2 ? prose(chance, 8) : null,
    time: new Date(time).toISOString(),
  };
}

export const memoryId = (index: number): string => idAt(FIRST_TIME + index * STEP_MS, chanceOf(KIND.memory, index));

const TEMPLATE_PREFIX = `mg_bench_data_${MEMORIES}_`;
const RUN_PREFIX = "mg_bench_run_";

/**
 * A fresh copy of the data, in a database of its own. The template is made once for each state of the code that makes
 * it, and kept. Dispose of the copy to drop it.
 */
export async function openDataset(serverUrl: string, say: (message: string) => void) {
  const name = `${RUN_PREFIX}${process.pid}`;
  const template = `${TEMPLATE_PREFIX}${hashOfMakers()}`;
  await onServer(serverUrl, async (server) => {
    await dropUnused(server, (known) => known.startsWith(RUN_PREFIX));
    if (!(await databases(server)).includes(template)) {
      say(`Making the data: ${MEMORIES} memories, ${RELATIONSHIPS} relationships, ${GRAPHS} graphs (once, minutes) …`);
      await dropUnused(server, (known) => known.startsWith(TEMPLATE_PREFIX));
      // Under another name until it is complete, so that an interrupted run leaves no incomplete template.
      await server.query(`CREATE DATABASE ${template}_new`);
      await fill(databaseOn(serverUrl, `${template}_new`));
      await server.query(`ALTER DATABASE ${template}_new RENAME TO ${template}`);
    }
    await server.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`);
  });
  return {
    url: databaseOn(serverUrl, name),
    [Symbol.asyncDispose]: () =>
      onServer(serverUrl, async (server) => void (await server.query(`DROP DATABASE ${name} WITH (FORCE)`))),
  };
}

/** The migrations and the built code that makes the data. */
export function hashOfMakers(): string {
  const hash = createHash("sha256");
  for (const name of ["./dataset.js", "./text.js"]) hash.update(readFileSync(new URL(name, import.meta.url)));
  const migrations = join(PROJECT, "prisma", "migrations");
  for (const name of readdirSync(migrations, { recursive: true, encoding: "utf8" }).sort()) {
    if (name.endsWith(".sql")) hash.update(name).update(readFileSync(`${migrations}/${name}`));
  }
  return hash.digest("hex").slice(0, 12);
}

export async function databases(server: pg.Client): Promise<string[]> {
  const { rows } = await server.query<{ datname: string }>("SELECT datname FROM pg_database");
  return rows.map(({ datname }) => datname);
}

/** Drops the databases of interrupted runs, and of other states of the data. */
export async function dropUnused(server: pg.Client, isOurs: (name: string) => boolean): Promise<void> {
  for (const name of (await databases(server)).filter(isOurs)) {
    // A database in use belongs to another run, which drops it itself.
    await server.query(`DROP DATABASE IF EXISTS "${name}"`).catch(() => {});
  }
}

/** Indexes that are faster to create at the end than to maintain during the inserts. */
const TEXT_INDEXES = ["memory_search"];

function fill(url: string): Promise<void> {
  return fillDatabase(url, async (client) => {
    await fillUsers(client, GRAPHS);
    await fillMemories(client);
    await fillRelationships(client);
    await client.query("UPDATE graph_usage SET (memories, bytes) = (SELECT * FROM measure_graph(graph_id))");
  });
}

/** Migrates a new database, fills its tables, then vacuums and analyzes them, as autovacuum would after a while. */
async function fillDatabase(url: string, fillTables: (client: pg.Client) => Promise<void>): Promise<void> {
  await migrate(url);
  await onServer(url, async (client) => {
    const { rows } = await client.query<{ indexdef: string }>(
      "SELECT indexdef FROM pg_indexes WHERE indexname = ANY($1)",
      [TEXT_INDEXES],
    );
    await client.query(`DROP INDEX ${TEXT_INDEXES.join(", ")}`);
    await fillTables(client);
    for (const { indexdef } of rows) await client.query(indexdef);
    await client.query("SELECT count_words(id, 10000) FROM graph");
    await client.query("VACUUM (ANALYZE)");
  });
}

/** A word that the same number of memories of `fillOneGraph` have, whatever its size. */
export const RARE_WORD = "zephyrine";
const RARE_MEMORIES = 20;
/** Words that 93 of 100 of its memories have, and the older half of them. */
export const WIDESPREAD_WORD = "gateway";
export const OLD_WORD = "legacy";
/** Its memories are spread over so many projects. */
const PROJECTS = 25;
export const projectAt = (index: number): string => `/work/project-${index % PROJECTS}`;

/** Two words that all long texts have, one behind the other in the second half of them. */
export const LONG_TEXT_WORDS = ["ledger", "harbour"] as const;
/** As many as a search with filters looks at. */
const LONG_TEXTS = 12_000;

/** Fills the second user's graph with texts of 10 kB: few words, as long as the index takes them, so that it takes a minute. */
async function fillLongTexts(client: pg.Client): Promise<void> {
  const { id, graphId } = userOf(1);
  const [one, other] = LONG_TEXT_WORDS;
  await client.query(
    `INSERT INTO memory (graph_id, id, type, title, content, tags, importance, created_by, created_at, updated_by, updated_at)
     SELECT $1, gen_random_uuid(), CASE n % 8 WHEN 0 THEN 'task' ELSE 'general' END, 'Long ' || n,
       $3::text || CASE WHEN n > $5 / 2 THEN ' ' ELSE ' or ' END || $4 || ' ' || (
         SELECT string_agg(letters, ' ') FROM (SELECT string_agg(md5(n::text || word || part), '') AS letters
           FROM generate_series(1, 6) AS word, generate_series(1, 50) AS part GROUP BY word) AS words),
       '{}', (n % 100) / 100.0, $2, now(), $2, now()
     FROM generate_series(1, $5::int) AS n`,
    [graphId, id, one, other, LONG_TEXTS],
  );
}

/** Fills one graph, the first user's, with this many memories and no relationships, and another one with long texts. */
export const fillOneGraph = (url: string, memories: number, say: (message: string) => void): Promise<void> =>
  fillDatabase(url, async (client) => {
    await fillUsers(client, 2);
    await fillLongTexts(client);
    await fillMemories(client, memories, (index) => {
      if (index > 0 && index % ROWS_BETWEEN_REPORTS === 0) say(`  ${index.toLocaleString("en")} memories …`);
      const memory = memoryAt(index);
      const widespread = index % 100 < 93 ? ` ${capital(WIDESPREAD_WORD)}.` : "";
      const old = index < memories / 2 ? ` ${capital(OLD_WORD)}.` : "";
      const context = { project_path: projectAt(index) };
      return { ...memory, content: memory.content + widespread + old, context, graph: 0 };
    });
    const rare = Array.from({ length: RARE_MEMORIES }, (_, place) =>
      memoryId(Math.floor((place * memories) / RARE_MEMORIES)),
    );
    await client.query(
      `WITH rare AS (UPDATE memory SET content = content || $2 WHERE id = ANY ($1) RETURNING graph_id, id)
       SELECT learn_words_of(graph_id, array_agg(id)) FROM rare GROUP BY graph_id`,
      [rare, ` ${capital(RARE_WORD)}.`],
    );
  });

async function fillUsers(client: pg.Client, graphs: number): Promise<void> {
  for (let graph = 0; graph < graphs; graph++) {
    const { id, graphId, keyId, email, key } = userOf(graph);
    await client.query("INSERT INTO user_account (id, email, plan) VALUES ($1, $2, 'pro')", [id, email]);
    await client.query("INSERT INTO graph (id, user_id) VALUES ($1, $2)", [graphId, id]);
    await client.query(
      "INSERT INTO api_key (id, user_id, name, prefix, hash, scopes) VALUES ($1, $2, 'Benchmark', $3, $4, $5)",
      [keyId, id, apiKeyPrefix(key), sha256(key), SCOPES],
    );
  }
}

async function fillMemories(
  client: pg.Client,
  memories = MEMORIES,
  make: (index: number) => { readonly graph: number } = memoryAt,
): Promise<void> {
  await inBatches(memories, make, (rows) =>
    client.query(
      `INSERT INTO memory (graph_id, id, type, title, content, summary, tags, importance, context,
         created_by, created_at, updated_by, updated_at)
       SELECT graph_id, id, type, title, content, summary, tags, importance, context, created_by, time, created_by, time
       FROM json_to_recordset($1) AS made(graph_id uuid, id uuid, type text, title text, content text, summary text,
         tags text[], importance float8, context json, created_by uuid, time timestamptz)`,
      [rows],
    ),
  );
}

async function fillRelationships(client: pg.Client): Promise<void> {
  await inBatches(RELATIONSHIPS, relationshipAt, (rows) =>
    client.query(
      `INSERT INTO relationship (graph_id, id, from_id, to_id, type, strength, confidence, context, created_by, created_at)
       SELECT graph_id, id, "from", "to", type, strength, confidence, context, created_by, time
       FROM json_to_recordset($1) AS made(graph_id uuid, id uuid, "from" uuid, "to" uuid, type text, strength float8,
         confidence float8, context text, created_by uuid, time timestamptz)`,
      [rows],
    ),
  );
}

/** Makes objects by their numbers and stores them as JSON, with the ids of their graph and its user. */
async function inBatches(
  count: number,
  make: (index: number) => { readonly graph: number },
  store: (rows: string) => Promise<unknown>,
): Promise<void> {
  const users = Array.from({ length: GRAPHS }, (_, graph) => userOf(graph));
  for (let first = 0; first < count; first += ROWS_OF_BATCH) {
    const rows = Array.from({ length: Math.min(ROWS_OF_BATCH, count - first) }, (_, place) => {
      const made = make(first + place);
      const user = users[made.graph];
      return { ...made, graph_id: user?.graphId, created_by: user?.id };
    });
    await store(JSON.stringify(rows));
  }
}
