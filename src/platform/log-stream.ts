import { constants, fstatSync, openSync, write } from "node:fs";
import type { DestinationStream } from "pino";
import { LIMITS } from "../limits.js";

export const STANDARD_OUTPUT = 1;

/** Lines are written together from this many characters on, or after a second. */
const TOGETHER_LENGTH = 4_096;
const TOGETHER_MS = 1_000;
/** How much is handed to the system at once: what a pipe takes. */
const CHUNK_LENGTH = 65_536;
/** A full pipe is tried again after `FULL_PIPE_MS`; any other failure, such as a full disk, after `FAILED_MS`. */
const FULL_PIPE_MS = 100;
const FAILED_MS = 1_000;
/** How long the end waits for lines to be written. */
const LAST_LINES_MS = 1_000;

/**
 * Writes lines; the caller never waits and never gets an error: not when the disk is full, not when nobody reads the
 * pipe or its reader is gone. Lines wait in memory, up to `LIMITS.log.waitingLength`. Those beyond are dropped and
 * counted, and the count is a line itself as soon as lines can be written again.
 */
export class LogStream implements DestinationStream, AsyncDisposable {
  readonly #descriptor: number;
  readonly #isBuffered: boolean;
  #waiting: string[] = [];
  #waitingLength = 0;
  /** What is being written, without what of it has been. */
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
    this.#waiting.push(line);
    this.#waitingLength += line.length;
    // While a failed chunk waits to be tried again, its timer is set.
    if (!this.#isWriting && this.#chunk.length === 0) this.#writeSoon();
  }

  /** Waits until everything is written, a second at most: a reader that does not read must not delay the end. */
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

  /** At once, unless it is better to wait for more lines. */
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
      if (error) this.#failed(error);
      else this.#wrote(written);
    });
  }

  /** What failed is tried again, from the byte on at which it failed, so that no line is torn. */
  #failed({ code = "unknown" }: NodeJS.ErrnoException): void {
    this.#reason = code;
    this.#timer = this.#after(code === "EAGAIN" ? FULL_PIPE_MS : FAILED_MS);
  }

  #wrote(bytes: number): void {
    this.#chunk = this.#chunk.subarray(bytes);
    if (this.#chunk.length === 0 && this.#dropped > 0) this.#tellDropped();
    if (this.#chunk.length > 0 || this.#whenEmpty) this.#writeNext();
    else this.#writeSoon();
  }

  #tellDropped(): void {
    const told = {
      level: "warn",
      time: new Date().toISOString(),
      dropped_lines: this.#dropped,
      code: this.#reason || undefined,
      msg: "lines of the log were dropped: it was written more slowly than lines came, or not at all",
    };
    this.#dropped = 0;
    this.#reason = "";
    this.#waiting.push(`${JSON.stringify(told)}\n`);
    this.#waitingLength += 1;
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
    this.#waitingLength = this.#waiting.length === 0 ? 0 : this.#waitingLength - length;
    return Buffer.from(lines.join(""));
  }
}

/**
 * A write to a full pipe waits until somebody reads, unless the pipe is told otherwise. Opened anew it is told so for us
 * alone. A socket, and a pipe elsewhere than on Linux, cannot be opened anew: there Node tells it, for everybody.
 */
function openWithoutBlocking(descriptor: number): number {
  const kind = fstatSync(descriptor);
  if (kind.isFIFO()) {
    try {
      return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK);
    } catch {
      // Not on Linux, or nobody reads it any more.
    }
  }
  if ((kind.isFIFO() || kind.isSocket()) && descriptor === STANDARD_OUTPUT) process.stdout.unref?.();
  return descriptor;
}
