import { type GraphQLError, type GraphQLResolveInfo, locatedError, responsePathAsArray } from "graphql";
import { LIMITS } from "../../limits.js";
import { AnswerTooLarge } from "../../operation/answer-budget.js";

/**
 * The errors of one request's fields. One cause may fail thousands of fields, and only the first few are reported.
 * graphql-js takes 50 µs to locate each error, unless the thrown error has a location already.
 */
export class FieldErrors {
  #reported = 0;
  #last: GraphQLError | undefined;
  /** The error of the first field that exceeded the answer's size: no other field needs to try. */
  noRoom: GraphQLError | undefined;
  /**
   * The root fields below which a field exceeded the size. graphql-js would return a part of them as if it were the
   * whole, since fields below may be null. So these are returned as null.
   */
  readonly rootsWithoutRoom = new Set<string>();

  /** The error to throw for a field: its own for the first few, then the last of these again. */
  locate(error: unknown, { fieldNodes, path }: Pick<GraphQLResolveInfo, "fieldNodes" | "path">): GraphQLError {
    if (this.noRoom) this.#leaveOut(path);
    if (this.noRoom) return this.noRoom;
    const isFull = error instanceof AnswerTooLarge;
    if (this.#last && this.#reported >= LIMITS.refusal.issues && !isFull) return this.#last;
    this.#reported++;
    this.#last = locatedError(error, fieldNodes, responsePathAsArray(path));
    if (isFull) {
      this.noRoom = this.#last;
      this.#leaveOut(path);
    }
    return this.#last;
  }

  #leaveOut(path: GraphQLResolveInfo["path"]): void {
    let root = path;
    while (root.prev) root = root.prev;
    this.rootsWithoutRoom.add(String(root.key));
  }
}
