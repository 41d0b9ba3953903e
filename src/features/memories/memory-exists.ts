import { Failure } from "../../operation/failure.js";

/** A memory to add to a graph has an id that another memory of the graph has. */
export class MemoryExists extends Failure {
  readonly kind = "conflict";
  override readonly reason = "memory_exists";

  constructor() {
    super(
      "A memory of the graph has one of these ids already, or two of the new memories have the same `clientId`. " +
        "Nothing was changed. Leave out what is there, or change it with `updateMemory`.",
    );
  }
}
