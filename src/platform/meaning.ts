import { LIMITS } from "../limits.js";
import { EmbeddingsFailed, type EmbeddingsServer, type Vector } from "./embeddings.js";
import { VectorIndex } from "./vector-index.js";

const { queriesAtOnce, queriesKept, queryMs } = LIMITS.embeddings;

/**
 * What a process needs for search by meaning: the embeddings server, vectors in memory, and the vectors of earlier
 * queries.
 */
export class Meaning implements AsyncDisposable {
  #asked = 0;
  readonly #queries = new Map<string, Promise<Vector>>();
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
