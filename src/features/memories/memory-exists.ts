import { Failure } from "../../operation/failure.js";

/** A memory to add to a graph has an id that another memory of the graph has. */
export class MemoryExists extends Failure {
  readonly kind = "conflict";
  override readonly reason = "memory_exists";

  /** @param which names the memory that could not be added */
  constructor(which = "One of these memories") {
    super(
      `${which} has the id or the \`clientId\` of another one, in the graph or in this call. Nothing was changed. ` +
        "Leave it out, or change the other one with `updateMemory`.",
    );
  }
}
