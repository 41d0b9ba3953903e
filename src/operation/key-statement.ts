import type { Statement } from "../platform/database.js";

/** SQL, because it asks on the reserved connections: whoever failed for want of another must not wait for one again. */
export const keyById: Statement = {
  name: "key_by_id",
  text: "SELECT id FROM api_key WHERE id = $1::uuid",
  reserved: true,
};
