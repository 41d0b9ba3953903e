import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import type { Response } from "express";
import { Unavailable } from "../operation/failure.js";
import type { Patience } from "../operation/patience.js";
import { Bodies, type HeldBody } from "./bodies.js";
import type { HttpLimits } from "./http-limits.js";
import { Slots, refusalOf } from "./slots.js";
import { Turns } from "./turns.js";
import { whenAnswered } from "./when-over.js";

/** How finely the event loop's delay is measured. */
const RESOLUTION_MS = 20;

/** The load of the process: counts requests from the arrival of their body until their answer is made. */
export class Work implements Disposable {
  readonly turns: Turns;
  readonly #limits: HttpLimits;
  readonly #delay: IntervalHistogram;
  readonly #watch: NodeJS.Timeout;
  #lateWindows = 0;
  #begun = 0;
  #isQuiet = true;
  readonly #bodies: Bodies;
  /** Places for work that may take much memory, by account. */
  readonly #places: Slots;

  constructor(limits: HttpLimits) {
    this.turns = new Turns(limits.turnMs);
    const { largePerAccount: slots, largeAtOnce: together, waitingPerKey: waiting, waitForSlotMs: waitMs } = limits;
    this.#places = new Slots({ slots, together, waiting, waitMs });
    this.#bodies = new Bodies(limits.bodiesBytes);
    this.#limits = limits;
    this.#delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    this.#delay.enable();
    this.#watch = setInterval(() => this.#look(), limits.loopWindowMs).unref();
  }

  /** @throws Unavailable when the process is overloaded. Call it before anything of the request is read. */
  assertNotOverloaded(): void {
    if (this.#begun >= this.#limits.requestsAtOnce || this.#lateWindows >= 2) throw new Unavailable("overloaded");
  }

  /** Starts a request's work in this turn of the event loop or in a later one; it counts until the answer is made. */
  begin(response: Response, work: () => void, account?: string): void {
    // The client has disconnected, and nothing will answer it: what it has taken, such as a place, is given back.
    if (response.destroyed) return void response.emit("answered");
    this.#begun++;
    this.#isQuiet = false;
    whenAnswered(response, () => this.#begun--);
    this.turns.begin(work, account);
  }

  /** Waits for a place as `enterLarge` does, and keeps it until the answer is made; also if the client is gone. */
  async admitLarge(response: Response, account: string, patience: Patience): Promise<void> {
    whenAnswered(response, await this.enterLarge(account, patience), this.#limits.goneWorkMs);
  }

  /**
   * Waits for a place for work on a large answer or body, which takes several times its memory. Accounts take turns, and
   * each has a maximum of its own. Returns a function that gives the place back: call it once.
   * @throws TooManyAtOnce when the account has too many of them itself.
   * @throws Unavailable when others have.
   */
  async enterLarge(account: string, patience: Patience): Promise<() => void> {
    // The only sign of an export whose pages are read: it does not count as begun.
    this.#isQuiet = false;
    const taken = this.#places.take(account, patience.leftMs);
    const hasPlace = typeof taken === "boolean" ? taken : await patience.during(taken, "slot");
    if (hasPlace) return () => this.#places.give(account);
    if (!this.#places.hasAll(account)) throw new Unavailable("overloaded");
    const { largePerAccount: slots, waitingPerKey: waiting } = this.#limits;
    throw refusalOf("account that may be large", { slots, waiting });
  }

  /** Whether a body of so many bytes takes much memory when it is read. */
  isLarge(bytes: number): boolean {
    return bytes > this.#limits.largeBodyBytes;
  }

  /** Whether no request is being answered, and none was begun since the last call. */
  wasQuiet(): boolean {
    const wasQuiet = this.#isQuiet;
    this.#isQuiet = this.#begun === 0;
    return wasQuiet && this.#isQuiet;
  }

  /** Counts a request's body until its answer is made. `refuse` may be called until the body is complete. */
  holdBody(response: Response, account: string, refuse: (failure: Unavailable) => void): HeldBody {
    const body = this.#bodies.begin(account, refuse);
    whenAnswered(response, body.free, this.#limits.goneWorkMs);
    return body;
  }

  [Symbol.dispose](): void {
    this.#delay.disable();
    clearInterval(this.#watch);
  }

  /**
   * One late window may be a pause, such as a garbage collection; two in a row mean overload. The smallest delay of a
   * window counts, so that a single long turn among short ones is not overload.
   */
  #look(): void {
    const isLate = this.#delay.count > 0 && this.#delay.min / 1e6 > RESOLUTION_MS + this.#limits.loopDelayMs;
    this.#lateWindows = isLate ? this.#lateWindows + 1 : 0;
    this.#delay.reset();
  }
}
