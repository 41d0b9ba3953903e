import { LIMITS } from "../../limits.js";
import {
  EmbeddingsFailed,
  EmbeddingsServer,
  type EmbeddingsSettings,
  type TextUse,
  type Vector,
} from "./embeddings.js";
import type { Meter } from "../telemetry/meter.js";
import type { VectorSet } from "./near-indexes.js";
import { beginningOf, withFittingSize } from "./text-size.js";
import { VectorIndex } from "./vector-index.js";
import { VectorLoads } from "./vector-loads.js";

const { pieceSize, pieceSizeMin, queriesAtOnce, queriesKept, requestMs, runMs, textsAtOnce } = LIMITS.embeddings;

/** Texts that have nothing to do with each other. */
const UNRELATED = [
  "The invoice of March was paid by bank transfer.",
  "The bakery on the corner sells bread until noon.",
  "Rain is expected in the mountains tomorrow.",
  "She plays the violin in an orchestra.",
  "Restart the service after changing its configuration.",
  "Trains to the coast leave every hour.",
  "The meeting about the budget was moved to Friday.",
  "Cats sleep for most of the day.",
];
/** How many sets of vectors wait for an index. Nothing takes them from here if the PostgreSQL is the embedded one. */
const UNFIT_MAX = 100;
/** Of a model that tells hardly anything apart. */
const UNRELATED_MAX = 0.95;

interface MeaningBounds {
  readonly searchMs: number;
  readonly requestMs?: number;
  readonly runMs?: number;
  readonly loadedPerMinute?: number;
}

/**
 * What a process needs for search by meaning: the embeddings server, vectors in memory, and the vectors of earlier
 * queries.
 */
export class Meaning implements AsyncDisposable {
  #asked = 0;
  readonly #texts = new Map<string, Promise<Vector>>();
  readonly #unrelated = new Map<string, Promise<number>>();
  readonly #pieceSizes = new Map<string, Promise<number>>();
  /** How many texts a request to the server has at most; fewer if it has refused so many. */
  textsAtOnce: number = textsAtOnce;
  /** The same while it is slow or limits requests: half after each failure, and twice as many after quick answers. */
  textsNow: number = textsAtOnce;
  /** When background jobs may ask the server again, by `performance.now()`. */
  askableAt = 0;
  /** How many queued memories a background job has passed over so far, since they only wait for another model. */
  duePassed = 0;
  /** The vectors of texts that a background job embedded before it had to stop: the next one goes on there. */
  readonly unstored = new Map<string, Vector>();
  /** By the name of a matrix, up to which change of its graph its vectors are loaded; the latest used is the last. */
  readonly loaded = new Map<string, Promise<number>>();
  readonly loads: VectorLoads;
  readonly requestMs: number;
  readonly runMs: number;
  /** Vectors that searches wanted and that do not fit into memory, by the name of their matrix. */
  readonly unfit = new Map<string, VectorSet>();
  /** Set while indexes of them are made. */
  indexing: Promise<void> | undefined;

  constructor(
    readonly server: EmbeddingsServer,
    readonly index: VectorIndex = new VectorIndex(),
    readonly bounds: MeaningBounds = LIMITS.embeddings,
  ) {
    this.loads = new VectorLoads(index.bytesMax, bounds.loadedPerMinute);
    ({ requestMs: this.requestMs = requestMs, runMs: this.runMs = runMs } = bounds);
  }

  /** Notes vectors for which to make an index. */
  noteUnfit(matrix: string, set: VectorSet): void {
    if (this.unfit.size < UNFIT_MAX) this.unfit.set(matrix, set);
  }

  /** Keeps or uses a load, unless it fails; of no more matrices than have room in memory: others are gone there. */
  keepLoaded(matrix: string, load: Promise<number>): void {
    this.loaded.delete(matrix);
    this.loaded.set(matrix, load);
    load.catch(() => this.loaded.get(matrix) === load && this.loaded.delete(matrix));
    const [oldest] = this.loaded.keys();
    if (this.loaded.size > this.index.matricesMax && oldest !== undefined) this.loaded.delete(oldest);
  }

  /** The vector of a text that is searched for, cached by the text; a failure is not cached. */
  vectorOf(text: string, use: TextUse, model: string): Promise<Vector> {
    const key = `${use} ${model}\n${text}`;
    const kept = this.#texts.get(key) ?? this.#embed(text, use, model);
    this.#texts.delete(key);
    this.#texts.set(key, kept);
    kept.catch(() => this.#texts.get(key) === kept && this.#texts.delete(key));
    const [oldest] = this.#texts.keys();
    if (this.#texts.size > queriesKept && oldest !== undefined) this.#texts.delete(oldest);
    return kept;
  }

  /**
   * The mean cosine of documents and unrelated texts, from 0: near 0 by some models, and 0.7 by others. A failure is
   * not kept.
   */
  unrelatedBy(model: string, use: TextUse): Promise<number> {
    return keep(this.#unrelated, `${use} ${model}`, () => this.#measureUnrelated(model, use));
  }

  /** The size of the pieces of documents that the server embeds whole, see `sizeOf`. A failure is not kept. */
  pieceSizeBy(model: string): Promise<number> {
    return keep(this.#pieceSizes, model, () => this.#measurePieceSize(model));
  }

  async #measureUnrelated(model: string, use: TextUse): Promise<number> {
    const [texts, documents] = await Promise.all(
      [use, "document" as const].map((each) => this.server.embed(UNRELATED, each, this.requestMs, model)),
    );
    const cosines = (texts ?? []).flatMap((one, place) =>
      (documents ?? []).filter((_, other) => other !== place).map((other) => cosineOf(one, other)),
    );
    const mean = cosines.reduce((sum, cosine) => sum + cosine, 0) / cosines.length;
    return Math.max(0, Math.min(UNRELATED_MAX, mean));
  }

  /**
   * Some servers embed only the beginning of a text that is longer than the model's context, and do not say so: then
   * texts that differ only in their last tenth have the same vector.
   */
  async #measurePieceSize(model: string): Promise<number> {
    const [ending, other, ...others] = UNRELATED;
    const isWhole = async (size: number) => {
      const texts = [ending, other].map((end) => fill(others.join(" "), size * 0.9) + fill(end ?? "", size * 0.1));
      const [one, two] = await this.server.embed(texts, "document", this.requestMs, model);
      // The same text may have slightly different numbers.
      return one?.values.some((value, place) => Math.abs(value - (two?.values[place] ?? 0)) > 1) ?? false;
    };
    const measure = async (size: number): Promise<number> => {
      if (await isWhole(size)) return size;
      // A model that never tells them apart says nothing about its context.
      return size > pieceSizeMin ? measure(size / 2) : pieceSize;
    };
    return withFittingSize(measure);
  }

  /** May take longer than a search waits: then a later search uses the result. */
  async #embed(text: string, use: TextUse, model: string): Promise<Vector> {
    if (this.#asked >= queriesAtOnce) throw new EmbeddingsFailed("too many queries wait for it");
    this.#asked++;
    try {
      const [vector] = await withFittingSize((size) =>
        this.server.embed([beginningOf(text, size)], use, this.requestMs, model),
      );
      return vector as Vector;
    } finally {
      this.#asked--;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.index[Symbol.asyncDispose]();
  }
}

export const openMeaning = (settings: EmbeddingsSettings & { readonly memoryMb: number }, meter?: Meter): Meaning =>
  new Meaning(new EmbeddingsServer(settings, meter), new VectorIndex(settings.memoryMb * 1_048_576));

const cosineOf = (one: Vector, other: Vector): number =>
  one.values.reduce((sum, value, place) => sum + value * (other.values[place] ?? 0), 0) * one.scale * other.scale;

const fill = (text: string, size: number): string =>
  beginningOf(`${text} `.repeat(Math.ceil(size / text.length)), size);

function keep(kept: Map<string, Promise<number>>, key: string, measure: () => Promise<number>): Promise<number> {
  const value = kept.get(key) ?? measure();
  kept.set(key, value);
  value.catch(() => kept.delete(key));
  return value;
}
