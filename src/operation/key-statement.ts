import { defineStatement } from "../platform/statement.js";

/** SQL, because it asks on the reserved connections: whoever failed for want of another must not wait for one again. */
export const keyById = defineStatement({
  name: "key_by_id",
  reserved: true,
  values: { id: "uuid" },
  row: { id: "uuid" },
  text: "SELECT id FROM api_key WHERE id = :id",
});
