import { Failure } from "../../operation/failure.js";

/** Of what is to be put into a graph, an id is that of another memory already. */
export class MemoryExists extends Failure {
  readonly kind = "conflict";
  override readonly reason = "memory_exists";

  constructor() {
    super(
      "A memory of the graph has one of these ids already, or two of the new memories have the same `externalId`. " +
        "Nothing was changed. Leave out what is there, or change it with `updateMemory`.",
    );
  }
}
