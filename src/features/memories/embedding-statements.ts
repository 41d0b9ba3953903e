import { LIMITS } from "../../limits.js";
import { type RowOf, defineStatement } from "../../platform/statement.js";

const { batch, loaded } = LIMITS.embeddings;

/** Says that a model is used, and queues earlier memories for it. SQL, since it claims the model with SKIP LOCKED. */
export const fillEmbeddings = defineStatement({
  name: "fill_embeddings",
  values: { model: "text", most: "int4" },
  row: { more: "bool" },
  text: "SELECT fill_embeddings(:model, :most) AS more",
});

/**
 * Claims memories to embed, like mails: claims are committed before the server is asked, and one that is not answered is
 * due again after a minute, later after each further attempt. SQL, since a model would wait for the rows of others.
 */
export const claimDueMemories = defineStatement({
  name: "claim_due_memories",
  values: {},
  row: { graphId: "uuid", memoryId: "uuid", attempts: "int4", dueAt: "timestamptz" },
  text: `
    UPDATE embedding_due SET attempts = attempts + 1,
      due_at = now() + make_interval(secs => least(3600, greatest(60, 5 * power(2, least(attempts, 10)))))
    WHERE (graph_id, memory_id) IN (SELECT graph_id, memory_id FROM embedding_due WHERE due_at <= now() ORDER BY due_at
      LIMIT ${batch} FOR UPDATE SKIP LOCKED)
    RETURNING graph_id AS "graphId", memory_id AS "memoryId", attempts, due_at AS "dueAt"`,
});

export type DueMemory = RowOf<typeof claimDueMemories>;

/**
 * Stores the vectors of a memory in place of earlier ones, unless it was changed, moved or deleted meanwhile. SQL, since
 * it is one step: servers see the count of changes together with them, and changes of one graph one after the other.
 */
export const storeVectors = defineStatement({
  name: "store_vectors",
  values: {
    ...{ graphId: "uuid", memoryId: "uuid", version: "int4", model: "text" },
    ...{ scales: "float8[]", vectors: "text[]" },
  },
  row: { piece: "int4" },
  text: `
    WITH place AS MATERIALIZED (
      SELECT graph_id, id FROM memory WHERE graph_id = :graphId AND id = :memoryId AND version = :version FOR KEY SHARE
    ), counted AS (
      INSERT INTO graph_vectors (graph_id, changes) SELECT graph_id, 1 FROM place
      ON CONFLICT (graph_id) DO UPDATE SET changes = graph_vectors.changes + 1 RETURNING changes
    ), gone AS (
      DELETE FROM memory_vector v USING place WHERE v.graph_id = place.graph_id AND v.memory_id = place.id
        AND (v.model = :model AND v.piece >= cardinality(:scales) OR v.model <> :model AND v.version <> :version)
    )
    INSERT INTO memory_vector (graph_id, memory_id, model, piece, version, change, scale, vector)
    SELECT place.graph_id, place.id, :model, given.piece - 1, :version, counted.changes, given.scale,
      decode(given.vector, 'base64')
    FROM place, counted, unnest(:scales, :vectors) WITH ORDINALITY AS given (scale, vector, piece)
    ON CONFLICT (graph_id, memory_id, model, piece) DO UPDATE SET version = excluded.version, change = excluded.change,
      scale = excluded.scale, vector = excluded.vector
    RETURNING piece`,
});

/** How often the vectors of a graph have changed, and which models are complete. SQL, for one way to the database. */
export const vectorsOfGraph = defineStatement({
  name: "vectors_of_graph",
  values: { graphId: "uuid", model: "text" },
  row: { changes: "float8", isComplete: "bool", other: "text?" },
  text: `
    SELECT coalesce((SELECT changes FROM graph_vectors WHERE graph_id = :graphId), 0)::float8 AS changes,
      EXISTS (SELECT FROM embedding_model WHERE model = :model AND complete) AS "isComplete",
      (SELECT model FROM embedding_model WHERE model <> :model AND complete ORDER BY used_at DESC LIMIT 1) AS other`,
});

/** The vectors of a graph that were stored after a change, all of each further change. SQL, as no model has ties. */
export const vectorsAfter = defineStatement({
  name: "vectors_after",
  values: { graphId: "uuid", model: "text", after: "int8" },
  row: { owner: "uuid", piece: "int4", version: "int4", change: "float8", scale: "float8", values: "bytea" },
  text: `
    SELECT memory_id AS owner, piece, version, change::float8 AS change, scale, vector AS values FROM memory_vector
    WHERE graph_id = :graphId AND model = :model AND change > :after
    ORDER BY change FETCH FIRST ${loaded} ROWS WITH TIES`,
});

/** Deletes vectors of models that nobody uses any more. SQL, since no model deletes a limited number of such rows. */
export const forgetVectors = defineStatement({
  name: "forget_vectors",
  values: { model: "text" },
  row: { forgotten: "int4" },
  text: `
    WITH unused AS (
      SELECT model FROM embedding_model WHERE model <> :model AND used_at < now() - interval '1 hour'
        AND EXISTS (SELECT FROM embedding_model WHERE model = :model AND complete) LIMIT 1
    ), gone AS (
      DELETE FROM memory_vector WHERE (graph_id, memory_id, model, piece) IN (
        SELECT graph_id, memory_id, v.model, piece FROM memory_vector v JOIN unused ON unused.model = v.model
        LIMIT ${LIMITS.chores.rows}) RETURNING 1
    ), forgotten AS (
      DELETE FROM embedding_model WHERE model IN (SELECT model FROM unused)
        AND NOT EXISTS (SELECT FROM memory_vector v WHERE v.model = embedding_model.model)
    )
    SELECT count(*)::int4 AS forgotten FROM gone`,
});
