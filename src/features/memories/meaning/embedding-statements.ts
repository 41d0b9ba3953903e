import { defineStatement } from "../../../platform/database/statement.js";

/**
 * Records that a model is used, and queues earlier memories for it. SQL, since it claims the model with SKIP LOCKED.
 */
export const fillEmbeddings = defineStatement({
  name: "fill_embeddings",
  values: { model: "text", most: "int4" },
  row: { more: "bool" },
  text: "SELECT fill_embeddings(:model, :most) AS more",
});
