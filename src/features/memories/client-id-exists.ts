import { Failure } from "../../operation/failure.js";
import { UNIQUE_VIOLATION, sqlStateOf } from "../../platform/database/database-errors.js";

/** A client's own id is unique within a graph. */
export class ClientIdExists extends Failure {
  readonly kind = "conflict";
  override readonly reason = "client_id_exists";

  /** @param shared the memory that cannot be moved into the graph */
  constructor(shared?: string) {
    super(
      shared === undefined
        ? "Another memory of this graph has this `clientId`. `putMemory` replaces it, `memory` finds it by that id, " +
            "and `updateMemory` changes it."
        : `Another memory of the team's graph has the \`clientId\` of the memory ${shared}. Leave this one out, or ` +
            "change its `clientId` with `updateMemory`.",
    );
  }
}

/**
 * Translates the database's error.
 * @throws ClientIdExists if another memory has the id; else the error itself.
 */
export function refuseTakenId(error: unknown): never {
  throw sqlStateOf(error) === UNIQUE_VIOLATION ? new ClientIdExists() : error;
}
