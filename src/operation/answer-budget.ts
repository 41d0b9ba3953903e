import { LIMITS } from "../limits.js";
import { CommonFailure } from "./failure.js";

const { graphqlBytes, graphqlPlaces } = LIMITS.answer;

export class AnswerTooLarge extends CommonFailure {
  readonly kind = "bad_request";
  override readonly reason = "answer_too_large";

  constructor() {
    super(
      `The answer would have more than ${graphqlPlaces.toLocaleString("en")} objects and list items, or more than ` +
        `${graphqlBytes / 1_048_576} MB. Ask for fewer items (\`limit\`), fewer fields or fewer levels. Changes that ` +
        "the request made are made.",
    );
  }
}

/**
 * What the answer to one request may hold, counted while it comes together: what a request is expected to answer with
 * is an estimate, and followed fields multiply. Counts UTF-16 units for bytes; the door looks at the bytes at the end.
 */
export class AnswerBudget {
  #places = graphqlPlaces;
  #bytes = graphqlBytes;

  /** @throws AnswerTooLarge when a value, or the items of a list, have no room left. */
  take(value: unknown): void {
    if (typeof value === "string") this.takeBytes(value.length);
    else if (Array.isArray(value)) this.#takePlaces(value);
    else if (typeof value === "object" && value !== null) this.#takePlaces([value]);
  }

  /** @throws AnswerTooLarge when there is no room for so many bytes. */
  takeBytes(bytes: number): void {
    this.#bytes -= bytes;
    if (this.#bytes < 0) throw new AnswerTooLarge();
  }

  #takePlaces(items: readonly unknown[]): void {
    this.#places -= items.length;
    if (this.#places < 0) throw new AnswerTooLarge();
    if (typeof items[0] === "string") this.takeBytes(items.reduce<number>((sum, item) => sum + String(item).length, 0));
  }
}
