import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import type { Response } from "express";
import { Unavailable } from "../operation/failure.js";
import type { HttpLimits } from "./http-limits.js";
import { Turns } from "./turns.js";

/** How finely the event loop's delay is measured. */
const RESOLUTION_MS = 20;

/** The work of the process: requests whose bodies are here, until their answers are made. */
export class Work implements Disposable {
  readonly turns: Turns;
  readonly #limits: HttpLimits;
  readonly #delay: IntervalHistogram;
  readonly #watch: NodeJS.Timeout;
  #lateWindows = 0;
  #begun = 0;
  #bodyBytes = 0;

  constructor(limits: HttpLimits) {
    this.turns = new Turns(limits.turnMs);
    this.#limits = limits;
    this.#delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    this.#delay.enable();
    this.#watch = setInterval(() => this.#look(), limits.loopWindowMs).unref();
  }

  /** @throws Unavailable when there is more to do than can be done: before anything of the request is read. */
  assertNotOverloaded(): void {
    if (this.#begun >= this.#limits.requestsAtOnce || this.#lateWindows >= 2) throw new Unavailable("overloaded");
  }

  /** Begins a request's work, in this turn of the event loop or in one to come; it lasts until the answer is made. */
  begin(response: Response, work: () => void): void {
    this.#begun++;
    let isDone = false;
    const done = () => {
      if (!isDone) this.#begun--;
      isDone = true;
    };
    response.once("answered", done).once("close", done);
    this.turns.begin(work);
  }

  /**
   * Counts the bytes of a request's body, until the request is over.
   * @throws Unavailable, from what it returns, when all bodies together take too much memory.
   */
  holdBody(response: Response): (bytes: number) => void {
    let held = 0;
    response.once("close", () => (this.#bodyBytes -= held));
    return (bytes) => {
      if (this.#bodyBytes + bytes > this.#limits.bodiesBytes) throw new Unavailable("overloaded");
      held += bytes;
      this.#bodyBytes += bytes;
    };
  }

  [Symbol.dispose](): void {
    this.#delay.disable();
    clearInterval(this.#watch);
  }

  /**
   * One late window may be a pause, such as a garbage collection; two in a row mean more work than fits. The smallest
   * delay of a window counts: a single long turn leaves the other turns of its window short.
   */
  #look(): void {
    const isLate = this.#delay.count > 0 && this.#delay.min / 1e6 > RESOLUTION_MS + this.#limits.loopDelayMs;
    this.#lateWindows = isLate ? this.#lateWindows + 1 : 0;
    this.#delay.reset();
  }
}
