import { Failure } from "../../operation/failure.js";
import { UNIQUE_VIOLATION, sqlStateOf } from "../../platform/database/database-errors.js";

/** A client's own id is unique within a graph. */
export class ClientIdExists extends Failure {
  readonly kind = "conflict";
  override readonly reason = "client_id_exists";

  constructor() {
    super(
      "Another memory of this graph has this `clientId`. `putMemory` replaces it, `memory` finds it by that id, " +
        "and `updateMemory` changes it.",
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
