import { constants, fstatSync, openSync, write } from "node:fs";
import type { DestinationStream } from "pino";
import { LIMITS } from "../../limits.js";

export const STANDARD_OUTPUT = 1;

/** Buffered lines are written when they have this many characters, or after a second. */
const TOGETHER_LENGTH = 4_096;
const TOGETHER_MS = 1_000;
/** How much is written to the system at once: the capacity of a pipe. */
const CHUNK_LENGTH = 65_536;
/** Retries a full pipe after `FULL_PIPE_MS`; any other failure, such as a full disk, after `FAILED_MS`. */
const FULL_PIPE_MS = 100;
const FAILED_MS = 1_000;
/** How long the shutdown waits for lines to be written. */
const LAST_LINES_MS = 1_000;

/**
 * Writes lines. The caller never waits and never gets an error, even if the disk is full, or the pipe is not read or
 * has no reader. Lines wait in memory, up to `LIMITS.log.waitingLength`. Further lines are dropped and counted, and the
 * count is logged as soon as lines can be written again.
 */
export class LogStream implements DestinationStream, AsyncDisposable {
  readonly #descriptor: number;
  readonly #isBuffered: boolean;
  #waiting: string[] = [];
  #waitingLength = 0;
  /** The part of the current chunk that is not yet written. */
  #chunk: Buffer = Buffer.alloc(0);
  #isWriting = false;
  #timer: NodeJS.Timeout | undefined;
  #dropped = 0;
  #reason = "";
  #whenEmpty: (() => void) | undefined;

  constructor(descriptor: number, { buffered }: { buffered: boolean }) {
    this.#descriptor = openWithoutBlocking(descriptor);
    this.#isBuffered = buffered;
  }

  write(line: string): void {
    if (this.#waitingLength + line.length > LIMITS.log.waitingLength) {
      this.#dropped++;
      return;
    }
    this.#keep(line);
    // A chunk that failed has a timer for its retry.
    if (!this.#isWriting && this.#chunk.length === 0) this.#writeSoon();
  }

  #keep(line: string): void {
    this.#waiting.push(line);
    this.#waitingLength += line.length;
  }

  /** Waits until everything is written, a second at most: a reader that does not read must not delay the shutdown. */
  async [Symbol.asyncDispose](): Promise<void> {
    let deadline: NodeJS.Timeout | undefined;
    const written = new Promise<void>((done) => {
      this.#whenEmpty = done;
      deadline = setTimeout(done, LAST_LINES_MS);
    });
    if (!this.#isWriting) this.#writeNext();
    await written;
    clearTimeout(deadline);
    clearTimeout(this.#timer);
  }

  /** Writes at once, or waits for more lines if buffered. */
  #writeSoon(): void {
    if (this.#isBuffered && this.#waitingLength < TOGETHER_LENGTH) this.#timer ??= this.#after(TOGETHER_MS);
    else this.#writeNext();
  }

  #after(milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => this.#writeNext(), milliseconds).unref();
  }

  #writeNext(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#chunk.length === 0) this.#chunk = this.#takeChunk();
    if (this.#chunk.length === 0) {
      this.#whenEmpty?.();
      return;
    }
    this.#isWriting = true;
    write(this.#descriptor, this.#chunk, (error, written) => {
      this.#isWriting = false;
      if (error) this.#retryLater(error);
      else this.#continueAfter(written);
    });
  }

  /** Retries from the byte at which writing failed, so that no line is broken. */
  #retryLater({ code = "unknown" }: NodeJS.ErrnoException): void {
    this.#reason = code;
    this.#timer = this.#after(code === "EAGAIN" ? FULL_PIPE_MS : FAILED_MS);
  }

  #continueAfter(bytes: number): void {
    this.#chunk = this.#chunk.subarray(bytes);
    if (this.#chunk.length === 0 && this.#dropped > 0) this.#reportDropped();
    if (this.#chunk.length > 0 || this.#whenEmpty) this.#writeNext();
    else this.#writeSoon();
  }

  #reportDropped(): void {
    const report = {
      level: "warn",
      time: new Date().toISOString(),
      dropped_lines: this.#dropped,
      code: this.#reason || undefined,
      msg: "log lines were dropped: the log could not be written, or not fast enough",
    };
    this.#dropped = 0;
    this.#reason = "";
    this.#keep(`${JSON.stringify(report)}\n`);
  }

  #takeChunk(): Buffer {
    let length = 0;
    let count = 0;
    for (const line of this.#waiting) {
      if (length > 0 && length + line.length > CHUNK_LENGTH) break;
      length += line.length;
      count++;
    }
    const lines = this.#waiting.splice(0, count);
    this.#waitingLength -= length;
    return Buffer.from(lines.join(""));
  }
}

/**
 * A write to a full pipe blocks, unless the pipe is opened as non-blocking. On Linux a pipe can be opened again, which
 * changes it for this process only. A socket, and a pipe on other systems, cannot be opened again: there Node sets the
 * flag, for all processes that share it.
 */
function openWithoutBlocking(descriptor: number): number {
  const kind = fstatSync(descriptor);
  if (kind.isFIFO()) {
    try {
      return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK);
    } catch {
      // Not on Linux, or the pipe has no reader.
    }
  }
  if ((kind.isFIFO() || kind.isSocket()) && descriptor === STANDARD_OUTPUT) process.stdout.unref?.();
  return descriptor;
}
