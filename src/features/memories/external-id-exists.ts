import { Failure } from "../../operation/failure.js";
import { UNIQUE_VIOLATION, sqlStateOf } from "../../platform/database.js";

/** In a graph, an id that a client gives is that of one memory. */
export class ExternalIdExists extends Failure {
  readonly kind = "conflict";
  override readonly reason = "external_id_exists";

  constructor() {
    super(
      "Another memory of this graph has this `externalId`. `putMemory` replaces it, `memory` finds it by that id, " +
        "and `updateMemory` changes it.",
    );
  }
}

/**
 * Says what the database refused.
 * @throws ExternalIdExists when another memory has the id.
 */
export function refuseTakenId(error: unknown): never {
  throw sqlStateOf(error) === UNIQUE_VIOLATION ? new ExternalIdExists() : error;
}
