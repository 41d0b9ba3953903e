import { createHash } from "node:crypto";
import { ApiError, invalidRequest } from "./errors.js";
import type { Tree } from "./params.js";
import type { SavedAnswer, Store } from "./state.js";

/** Stripe stores an answer for at least a day. */
const KEPT_MS = 24 * 3_600_000;
const KEY_MAX_CHARACTERS = 255;
/** How many answers are stored; the oldest are removed first. */
const ANSWERS_MAX = 5_000;

/** The stored answers by key, and the keys whose requests are running. */
export class SavedAnswers {
  readonly #inUse = new Set<string>();

  constructor(private readonly store: Store) {}

  /** The answer stored under a key. Throws an ApiError if another request used the key, or its request still runs. */
  find(key: string, fingerprint: string): SavedAnswer | undefined {
    if (key.length > KEY_MAX_CHARACTERS) {
      throw invalidRequest(`An idempotency key has at most ${KEY_MAX_CHARACTERS} characters.`);
    }
    if (this.#inUse.has(key)) {
      throw new ApiError(409, {
        type: "idempotency_error",
        code: "idempotency_key_in_use",
        message: `There is currently another in-progress request using this Idempotent Key: ${key}`,
      });
    }
    const saved = this.store.state.answers[key];
    if (!saved || this.store.nowMs() - saved.at >= KEPT_MS) return undefined;
    if (saved.fingerprint === fingerprint) return saved;
    throw new ApiError(400, {
      type: "idempotency_error",
      message:
        "Keys for idempotent requests can only be used for the same endpoint, with the same parameters they were " +
        `first used with. Try using a key other than '${key}' if you meant to execute a different request.`,
    });
  }

  take(key: string): void {
    this.#inUse.add(key);
  }

  release(key: string): void {
    this.#inUse.delete(key);
  }

  save(key: string, answer: Omit<SavedAnswer, "at">): void {
    const { answers } = this.store.state;
    const now = this.store.nowMs();
    // Deleted first, so that it is added at the end: keys stay ordered by time.
    delete answers[key];
    answers[key] = { at: now, ...answer };
    const keys = Object.keys(answers);
    for (const [index, old] of keys.entries()) {
      const { at = 0 } = answers[old] ?? {};
      if (now - at < KEPT_MS && keys.length - index <= ANSWERS_MAX) break;
      delete answers[old];
    }
  }
}

/** Two requests are the same if method, path and parameters are, in any order of parameters. */
export const fingerprintOf = (method: string, path: string, params: Tree): string =>
  createHash("sha256")
    .update(`${method} ${path} ${JSON.stringify(sortTree(params))}`)
    .digest("hex");

function sortTree(tree: Tree): unknown {
  if (typeof tree === "string") return tree;
  if (Array.isArray(tree)) return tree.map(sortTree);
  return Object.entries(tree)
    .map(([name, value]: [string, Tree]) => [name, sortTree(value)])
    .sort(([one], [other]) => (String(one) < String(other) ? -1 : 1));
}
