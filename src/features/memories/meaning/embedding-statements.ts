import { defineStatement, jsonAs } from "../../../platform/database/statement.js";
import type { NearVector } from "../../../platform/meaning/vector-messages.js";

/**
 * Records that a model is used, and queues earlier memories for it. SQL, since it claims the model with SKIP LOCKED.
 */
export const fillEmbeddings = defineStatement({
  name: "fill_embeddings",
  values: { model: "text", most: "int4" },
  row: { more: "bool" },
  text: "SELECT fill_embeddings(:model, :most) AS more",
});

/**
 * The vectors of a graph, or of the memories `among`, that are nearest to one with these numbers, at most 1,000, the
 * nearest first: null unless an index of pgvector has them. SQL, since no model searches such an index.
 */
export const nearVectors = defineStatement({
  name: "near_vectors",
  values: { graphId: "uuid", model: "text", numbers: "int4[]", among: "uuid[]?", most: "int4" },
  row: { near: jsonAs<NearVector[] | null>() },
  text: "SELECT near_vectors(:graphId, :model, :numbers, :among, :most) AS near",
});
