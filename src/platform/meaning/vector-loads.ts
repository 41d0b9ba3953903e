import { MINUTE_MS } from "../../durations.js";
import { LIMITS } from "../../limits.js";

/** The vectors of a graph are not in memory and may not be loaded now. The message says why. */
export class NoRoomForVectors extends Error {}

const MEBIBYTE = 1_048_576;

/** How much of `bytesPerMinute` one matrix may take that is loaded several times in a minute. */
const SHARE_OF_ONE = 1 / 2;

/**
 * Decides which matrices are loaded into memory, so that searches never read the database over and over: those that fit
 * into `bytesMax`, and at most `bytesPerMinute`, of which one matrix that is loaded again may take half. A matrix is
 * refused for a minute, each time, or until the minute of its first load is over. Times are in milliseconds.
 */
export class VectorLoads {
  readonly #refused = new Map<string, { readonly until: number; readonly reason: string }>();
  /** What each matrix took in the minute after its first load. */
  readonly #taken = new Map<string, { readonly until: number; readonly bytes: number }>();
  #left: number;
  #countedAt = 0;

  constructor(
    readonly bytesMax: number,
    readonly bytesPerMinute: number = Math.max(bytesMax, LIMITS.embeddings.loadedMbPerMinute * MEBIBYTE),
  ) {
    this.#left = bytesPerMinute;
  }

  /** @throws NoRoomForVectors if the matrix was refused less than a minute ago. */
  check(matrix: string, now: number): void {
    for (const kept of [this.#refused, this.#taken]) {
      for (const [other, { until }] of kept) if (until <= now) kept.delete(other);
    }
    const refusal = this.#refused.get(matrix);
    if (refusal) throw new NoRoomForVectors(refusal.reason);
  }

  /** Takes what loading a matrix of so many bytes costs. @throws NoRoomForVectors */
  take(matrix: string, bytes: number, now: number): void {
    if (bytes > this.bytesMax) {
      const most = Math.floor(this.bytesMax / MEBIBYTE);
      const needed = Math.ceil(bytes / MEBIBYTE);
      throw this.#refuse(
        matrix,
        now + MINUTE_MS,
        `the vectors of a graph take ${needed} MiB; EMBEDDINGS_MEMORY_MB is ${most}`,
      );
    }
    const taken = this.#taken.get(matrix);
    if (taken && taken.bytes + bytes > this.bytesPerMinute * SHARE_OF_ONE) {
      throw this.#refuse(matrix, taken.until, "the vectors of a graph were loaded several times within a minute");
    }
    const earned = (Math.max(0, now - this.#countedAt) / MINUTE_MS) * this.bytesPerMinute;
    this.#left = Math.min(this.bytesPerMinute, this.#left + earned);
    this.#countedAt = now;
    if (bytes > this.#left) {
      const reason = "the vectors of too many graphs take each other's place; EMBEDDINGS_MEMORY_MB could be larger";
      throw this.#refuse(matrix, now + MINUTE_MS, reason);
    }
    this.#left -= bytes;
    this.#taken.set(matrix, { until: taken?.until ?? now + MINUTE_MS, bytes: bytes + (taken?.bytes ?? 0) });
  }

  #refuse(matrix: string, until: number, reason: string): NoRoomForVectors {
    this.#refused.set(matrix, { until, reason });
    return new NoRoomForVectors(reason);
  }
}
