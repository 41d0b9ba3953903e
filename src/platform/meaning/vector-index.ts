import { Worker } from "node:worker_threads";
import { LIMITS } from "../../limits.js";
import { dotProductsModule } from "./dot-products.js";
import { EmbeddingsFailed, type Vector } from "./embeddings.js";
import type { NearVector, VectorAnswer, VectorQuestion, VectorRow, VectorWorkerData } from "./vector-messages.js";

/** What a vector takes besides its numbers and their product. */
const ROW_BYTES = 200;

/** At most two pages of WebAssembly's memory are not filled. A matrix has at least as many. */
const UNFILLED_BYTES = 131_072;

/** The most memory that a matrix takes as the worker makes it: a query, and for each row its numbers and a product. */
export function bytesOfMatrix(dimension: number, rows: number): number {
  const columns = Math.ceil(dimension / 16) * 16;
  return columns + rows * (columns + 4 + ROW_BYTES) + UNFILLED_BYTES;
}

/** Matrices of vectors in the memory of a worker thread, which is started with the first question. */
export class VectorIndex implements AsyncDisposable {
  #worker: Worker | undefined;
  readonly #waiting = new Map<number, (answer: VectorAnswer) => void>();
  #asked = 0;

  constructor(readonly bytesMax: number = LIMITS.embeddings.vectorMb * 1_048_576) {}

  /** How many matrices have room, however small they are. */
  get matricesMax(): number {
    return Math.ceil(this.bytesMax / UNFILLED_BYTES);
  }

  /**
   * Adds to a matrix, or with `begins` begins one that has room for so many rows. Returns whether the matrix exists now:
   * it may be forgotten at any time.
   */
  async add(matrix: string, rows: readonly VectorRow[], begins?: number): Promise<boolean> {
    return (await this.#ask({ kind: "add", matrix, rows, begins })) === true;
  }

  /**
   * The owners of the nearest vectors, the nearest first, only `among` these if given; undefined if the matrix does not
   * exist.
   * @throws EmbeddingsFailed when its vectors have another dimension.
   */
  async find(
    matrix: string,
    { values, scale }: Vector,
    most: number,
    among?: readonly string[],
  ): Promise<readonly NearVector[] | undefined> {
    const answer = await this.#ask({ kind: "find", matrix, values, scale, most, among });
    if (typeof answer === "boolean") throw new EmbeddingsFailed("its vectors have another dimension than before");
    return answer;
  }

  #ask(question: VectorQuestion): Promise<VectorAnswer> {
    const worker = (this.#worker ??= this.#start());
    return new Promise((resolve) => {
      const id = this.#asked++;
      this.#waiting.set(id, resolve);
      // The rule is for windows of browsers; workers have no origin.
      // oxlint-disable-next-line unicorn/require-post-message-target-origin
      worker.postMessage([id, question]);
    });
  }

  #start(): Worker {
    const workerData: VectorWorkerData = { module: dotProductsModule(), bytesMax: this.bytesMax, rowBytes: ROW_BYTES };
    const worker = new Worker(new URL("./vector-worker.js", import.meta.url), { workerData });
    worker.unref();
    worker.on("message", ([id, answer]: readonly [number, VectorAnswer]) => {
      this.#waiting.get(id)?.(answer);
      this.#waiting.delete(id);
    });
    // The next worker loads again what this one held. A worker that fails also exits: then others may wait for the next.
    const forget = () => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      for (const resolve of this.#waiting.values()) resolve(undefined);
      this.#waiting.clear();
    };
    worker.on("error", forget).on("exit", forget);
    return worker;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker?.terminate();
  }
}
