import { TooManyAtOnce } from "../operation/failure.js";
import { whenLate } from "../within-time.js";

/** How many slots each name has, how many requests may wait for one, and how long. */
export interface Room {
  readonly slots: number;
  readonly waiting: number;
  readonly waitMs: number;
  /** How many slots all names have together; without a limit unless given. */
  readonly together?: number;
}

interface Lane {
  taken: number;
  readonly waiting: Set<Waiting>;
}

interface Waiting {
  cancel(this: void): void;
  end(hasSlot: boolean): void;
}

/**
 * A limited number of slots for each name, with a limited queue: a slot that becomes free goes to the first waiter. If
 * all names have a limit together, those that wait for it take turns.
 */
export class Slots {
  readonly #room: Required<Room>;
  readonly #lanes = new Map<string, Lane>();
  #taken = 0;

  constructor(room: Room) {
    this.#room = { together: Infinity, ...room };
  }

  /**
   * Takes a slot: at once, or when one becomes free within the room's wait and the caller's patience. False: no slot
   * is free, and the queue is full or the wait is over.
   */
  take(name: string, patienceMs: number = this.#room.waitMs): boolean | Promise<boolean> {
    const lane = this.#lanes.get(name) ?? { taken: 0, waiting: new Set() };
    this.#lanes.set(name, lane);
    if (lane.taken < this.#room.slots && this.#taken < this.#room.together) {
      this.#enter(lane);
      return true;
    }
    if (lane.waiting.size >= this.#room.waiting) {
      this.#drop(name, lane);
      return false;
    }
    return new Promise((resolve) => {
      const end = (hasSlot: boolean) => {
        waiting.cancel();
        lane.waiting.delete(waiting);
        if (hasSlot) this.#enter(lane);
        else this.#drop(name, lane);
        resolve(hasSlot);
      };
      const waitMs = Math.min(this.#room.waitMs, patienceMs);
      const waiting: Waiting = { end, cancel: whenLate(waitMs, () => end(false)) };
      lane.waiting.add(waiting);
    });
  }

  /** Gives a slot back; it goes to the next that waits: of this name, or of all names in turn if they share a limit. */
  give(name: string): void {
    const lane = this.#lanes.get(name);
    if (!lane) return;
    lane.taken--;
    this.#taken--;
    const next = this.#room.together === Infinity ? lane : this.#nextLane();
    const [waiting] = next?.waiting ?? [];
    waiting?.end(true);
    this.#drop(name, lane);
  }

  /** Whether the name has all slots that it may have. */
  hasAll(name: string): boolean {
    return this.#lanes.get(name)?.taken === this.#room.slots;
  }

  #enter(lane: Lane): void {
    lane.taken++;
    this.#taken++;
  }

  /** Of the names that wait and may have another slot, the one whose turn is longest ago; it goes behind all others. */
  #nextLane(): Lane | undefined {
    for (const [name, lane] of this.#lanes) {
      if (lane.waiting.size === 0 || lane.taken === this.#room.slots) continue;
      this.#lanes.delete(name);
      this.#lanes.set(name, lane);
      return lane;
    }
    return undefined;
  }

  #drop(name: string, lane: Lane): void {
    if (lane.taken === 0 && lane.waiting.size === 0) this.#lanes.delete(name);
  }
}

export const refusalOf = (subject: string, { slots, waiting }: Pick<Room, "slots" | "waiting">): TooManyAtOnce =>
  new TooManyAtOnce(
    `At most ${slots} requests of one ${subject} are served at a time, and ${waiting} more wait. Read the answers ` +
      "before you send more.",
  );
