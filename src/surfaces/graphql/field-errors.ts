import { type GraphQLError, type GraphQLResolveInfo, locatedError, responsePathAsArray } from "graphql";
import { LIMITS } from "../../limits.js";
import { AnswerTooLarge } from "../../operation/answer-budget.js";

/**
 * What the fields of one request threw. A single cause may fail thousands of fields, of which only the first few are
 * told; graphql-js makes an error of 50 µs for each, unless what is thrown says already where it happened.
 */
export class FieldErrors {
  #told = 0;
  #last: GraphQLError | undefined;
  /** What the first field threw that found no room in the answer: no other need try. */
  noRoom: GraphQLError | undefined;
  /**
   * The root fields below which a field found no room. Much below may be null, so graphql-js would tell half of an
   * answer as if it were the whole: of these nothing is told.
   */
  readonly rootsWithoutRoom = new Set<string>();

  /** The error to throw for a field: its own for the first few, beyond those one that was told already. */
  locate(error: unknown, { fieldNodes, path }: Pick<GraphQLResolveInfo, "fieldNodes" | "path">): GraphQLError {
    if (this.noRoom) this.#leaveOut(path);
    if (this.noRoom) return this.noRoom;
    if (this.#last && this.#told >= LIMITS.refusal.issues) return this.#last;
    this.#told++;
    this.#last = locatedError(error, fieldNodes, responsePathAsArray(path));
    if (error instanceof AnswerTooLarge) {
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
