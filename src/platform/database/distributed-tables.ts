/**
 * The tables of graphs, distributed by `graph_id`, so that each change of a graph writes on one node only. Each table
 * comes after the tables that it refers to.
 */
export const DISTRIBUTED_TABLES = [
  "graph_root",
  "graph_usage",
  "memory",
  "memory_version",
  "relationship",
  "lexicon",
  "graph_vectors",
  "memory_vector",
  "embedding_due",
] as const;

/** Small tables with a copy on every node, since they are read where memories are written. */
export const REFERENCE_TABLES = ["embedding_model"] as const;

/**
 * Finds what in the schema prevents a distribution by `graph_id`, one row per problem. Reads only the catalogue, so it
 * works on any PostgreSQL. `$1` names the distributed tables, `$2` the reference tables.
 */
export const OBSTACLES = `
  WITH t AS (
    SELECT c.oid, c.relname, a.attnum, a.attnotnull FROM unnest($1::text[]) AS given(name)
    JOIN pg_class c ON c.relname = given.name AND c.relnamespace = 'public'::regnamespace
    LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'graph_id'
  ), shared AS (
    SELECT c.oid, c.relname FROM pg_class c
    WHERE c.relname = ANY ($2::text[]) AND c.relnamespace = 'public'::regnamespace
  ), fkey AS (
    SELECT k.*, k.conrelid::regclass::text AS here FROM pg_constraint k WHERE k.contype = 'f'
  )
  SELECT name AS table, 'does not exist' AS problem FROM unnest($1::text[] || $2::text[]) AS name
  WHERE to_regclass('public.' || quote_ident(name)) IS NULL
  UNION ALL
  SELECT relname, 'graph_id is missing or may be null' FROM t WHERE attnotnull IS NOT TRUE
  UNION ALL
  SELECT t.relname, 'unique without graph_id: ' || i.indexrelid::regclass FROM t JOIN pg_index i ON i.indrelid = t.oid
  WHERE i.indisunique AND NOT t.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])
  UNION ALL
  SELECT t.relname, 'exclusion constraint: ' || k.conname FROM t JOIN pg_constraint k ON k.conrelid = t.oid
  WHERE k.contype = 'x'
  UNION ALL
  SELECT here, 'refers to a table that is not distributed: ' || conname FROM fkey
  WHERE conrelid IN (SELECT oid FROM t) AND confrelid NOT IN (SELECT oid FROM t)
  UNION ALL
  SELECT here, 'refers to a distributed table, and is not distributed: ' || conname FROM fkey
  WHERE confrelid IN (SELECT oid FROM t) AND conrelid NOT IN (SELECT oid FROM t)
  UNION ALL
  SELECT here, 'a foreign key from or to a reference table: ' || conname FROM fkey
  WHERE conrelid IN (SELECT oid FROM shared) OR confrelid IN (SELECT oid FROM shared)
  UNION ALL
  SELECT t.relname, 'foreign key that does not pair graph_id with graph_id: ' || k.conname
  FROM t JOIN fkey k ON k.conrelid = t.oid JOIN t other ON other.oid = k.confrelid
  WHERE NOT EXISTS (SELECT 1 FROM unnest(k.conkey, k.confkey) AS pair(here, there)
    WHERE pair.here = t.attnum AND pair.there = other.attnum)
  UNION ALL
  SELECT t.relname, 'foreign key that changes graph_id: ' || k.conname FROM t JOIN fkey k ON k.conrelid = t.oid
  WHERE k.confupdtype NOT IN ('a', 'r') OR k.confdeltype NOT IN ('a', 'r', 'c')
  UNION ALL
  SELECT relname, 'trigger: ' || g.tgname FROM (SELECT oid, relname FROM t UNION ALL SELECT oid, relname FROM shared) AS of
  JOIN pg_trigger g ON g.tgrelid = of.oid WHERE NOT g.tgisinternal
  ORDER BY 1, 2`;
