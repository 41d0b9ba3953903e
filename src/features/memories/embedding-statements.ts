import { LIMITS } from "../../limits.js";
import { type RowOf, defineStatement } from "../../platform/statement.js";

const { loaded } = LIMITS.embeddings;

/** Says that a model is used, and queues earlier memories for it. SQL, since it claims the model with SKIP LOCKED. */
export const fillEmbeddings = defineStatement({
  name: "fill_embeddings",
  values: { model: "text", most: "int4" },
  row: { more: "bool" },
  text: "SELECT fill_embeddings(:model, :most) AS more",
});

/**
 * Claims memories to embed, like mails: claims are committed before the server is asked, and one that is not answered is
 * due again after a minute, later after each further attempt. SQL, since no model can tell which are due by its own clock.
 */
export const claimDueMemories = defineStatement({
  name: "claim_due_memories",
  values: { most: "int4" },
  row: { graphId: "uuid", memoryId: "uuid", attempts: "int4", dueAt: "timestamptz" },
  text: `
    SELECT graph_id AS "graphId", memory_id AS "memoryId", attempts, due_at AS "dueAt" FROM claim_due_memories(:most)`,
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
  row: { stored: "int4" },
  text: "SELECT store_vectors(:graphId, :memoryId, :version, :model, :scales, :vectors) AS stored",
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
  values: { model: "text", most: "int4" },
  row: { forgotten: "int4?" },
  text: "SELECT forget_vectors(:model, :most) AS forgotten",
});
