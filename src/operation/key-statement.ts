import { defineStatement } from "../platform/statement.js";

/** SQL, for the reserved connections: a request that failed because it got no other one must not wait for one again. */
export const keyById = defineStatement({
  name: "key_by_id",
  reserved: true,
  values: { id: "uuid" },
  row: { id: "uuid" },
  text: "SELECT id FROM api_key WHERE id = :id",
});
