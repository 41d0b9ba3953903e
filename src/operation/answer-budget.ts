import { LIMITS } from "../limits.js";
import { CommonFailure } from "./failure.js";

const { graphqlBytes, graphqlPlaces, nestedBytes } = LIMITS.answer;

export class AnswerTooLarge extends CommonFailure {
  readonly kind = "bad_request";
  override readonly reason = "answer_too_large";

  constructor() {
    super(
      `The answer would have more than ${graphqlPlaces.toLocaleString("en")} objects and list items, or more than ` +
        `${graphqlBytes / 1_048_576} MiB, with ${nestedBytes} bytes more for each object and list in a context. ` +
        "Ask for fewer items (`limit`), fewer fields or fewer levels. If the request was a mutation, its changes were " +
        "made: do not repeat them.",
    );
  }
}

/**
 * Counts the size of one request's answer while it is built, since the cost checked before is only an estimate.
 * Counts UTF-16 units instead of bytes; the door checks the bytes at the end.
 */
export class AnswerBudget {
  #places = graphqlPlaces;
  #expected = graphqlPlaces;
  #bytes = graphqlBytes;
  /** Reused: thousands of fields may throw it, and creating one with its stack costs 50 µs. */
  #failure: AnswerTooLarge | undefined;

  /** @throws AnswerTooLarge when there is no room for the value, or for the items of the list. */
  take(value: unknown): void {
    if (typeof value === "string") this.takeBytes(value.length);
    else if (Array.isArray(value)) this.#takePlaces(value);
    else if (typeof value === "object" && value !== null) this.#takePlaces([value]);
  }

  /**
   * Notes that a list will have so many items, before they are read: ten thousand lists of a hundred were all read, in
   * one turn of the event loop, before the first of them was counted.
   * @throws AnswerTooLarge when the items of all such lists have no room.
   */
  expect(items: number): void {
    this.#expected -= items;
    if (this.#expected < 0) throw (this.#failure ??= new AnswerTooLarge());
  }

  /** Takes nothing. @throws AnswerTooLarge when there is no room for so many bytes, or was none for something else. */
  assertRoom(bytes: number): void {
    if (this.#failure || bytes > this.#bytes) throw (this.#failure ??= new AnswerTooLarge());
  }

  /** Takes room for a value that was measured. @throws AnswerTooLarge when there is none. */
  takeBytes(bytes: number): void {
    this.#bytes -= bytes;
    this.assertRoom(0);
  }

  #takePlaces(items: readonly unknown[]): void {
    this.#places -= items.length;
    if (this.#places < 0) throw (this.#failure ??= new AnswerTooLarge());
    if (typeof items[0] === "string") this.takeBytes(items.reduce<number>((sum, item) => sum + String(item).length, 0));
  }
}
