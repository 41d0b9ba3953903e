import { LIMITS } from "../limits.js";
import { EmbeddingsFailed, type EmbeddingsServer, type Vector } from "./embeddings.js";
import { VectorIndex } from "./vector-index.js";

const { queriesAtOnce, queriesKept, queryMs } = LIMITS.embeddings;

/** Texts that have nothing to do with each other. */
const UNRELATED = [
  "The bakery on the corner sells bread until noon.",
  "Rain is expected in the mountains tomorrow.",
  "She plays the violin in an orchestra.",
  "The invoice of March was paid by bank transfer.",
  "Restart the service after changing its configuration.",
  "Trains to the coast leave every hour.",
  "The meeting about the budget was moved to Friday.",
  "Cats sleep for most of the day.",
];
/** Of a model that tells hardly anything apart. */
const UNRELATED_MAX = 0.95;

/**
 * What a process needs for search by meaning: the embeddings server, vectors in memory, and the vectors of earlier
 * queries.
 */
export class Meaning implements AsyncDisposable {
  #asked = 0;
  readonly #queries = new Map<string, Promise<Vector>>();
  readonly #unrelated = new Map<string, Promise<number>>();
  /** By the name of a matrix, up to which change of its graph its vectors are loaded. */
  readonly loaded = new Map<string, Promise<number>>();

  constructor(
    readonly server: EmbeddingsServer,
    readonly index: VectorIndex = new VectorIndex(),
    readonly bounds: { readonly searchMs: number } = LIMITS.embeddings,
  ) {}

  /** The vector of a query, cached by its text; a failure is not cached. */
  vectorOf(query: string, model: string): Promise<Vector> {
    const key = `${model}\n${query}`;
    const kept = this.#queries.get(key) ?? this.#embed(query, model);
    this.#queries.delete(key);
    this.#queries.set(key, kept);
    kept.catch(() => this.#queries.get(key) === kept && this.#queries.delete(key));
    const [oldest] = this.#queries.keys();
    if (this.#queries.size > queriesKept && oldest !== undefined) this.#queries.delete(oldest);
    return kept;
  }

  /** The mean cosine of unrelated texts, from 0: near 0 by some models, and 0.7 by others. A failure is not kept. */
  unrelatedBy(model: string): Promise<number> {
    const kept = this.#unrelated.get(model) ?? this.#measureUnrelated(model);
    this.#unrelated.set(model, kept);
    kept.catch(() => this.#unrelated.delete(model));
    return kept;
  }

  async #measureUnrelated(model: string): Promise<number> {
    const vectors = await this.server.embed(UNRELATED, queryMs, model);
    const cosines = vectors.flatMap((one, place) => vectors.slice(place + 1).map((other) => cosineOf(one, other)));
    const mean = cosines.reduce((sum, cosine) => sum + cosine, 0) / cosines.length;
    return Math.max(0, Math.min(UNRELATED_MAX, mean));
  }

  /** May take longer than a search waits: then a later search uses the result. */
  async #embed(query: string, model: string): Promise<Vector> {
    if (this.#asked >= queriesAtOnce) throw new EmbeddingsFailed("too many queries wait for it");
    this.#asked++;
    try {
      const [vector] = await this.server.embed([query], queryMs, model);
      return vector as Vector;
    } finally {
      this.#asked--;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.index[Symbol.asyncDispose]();
  }
}

const cosineOf = (one: Vector, other: Vector): number =>
  one.values.reduce((sum, value, place) => sum + value * (other.values[place] ?? 0), 0) * one.scale * other.scale;
