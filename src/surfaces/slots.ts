/** How many slots each name has, how many requests may wait for one, and how long. */
export interface Room {
  readonly slots: number;
  readonly waiting: number;
  readonly waitMs: number;
}

interface Lane {
  taken: number;
  readonly waiting: Set<Waiting>;
}

interface Waiting {
  readonly timer: NodeJS.Timeout;
  end(hasSlot: boolean): void;
}

/** A limited number of slots for each name, with a limited queue: a slot that becomes free goes to the first waiter. */
export class Slots {
  readonly #room: Room;
  readonly #lanes = new Map<string, Lane>();

  constructor(room: Room) {
    this.#room = room;
  }

  /**
   * Takes a slot: at once, or when one becomes free within the room's wait and the caller's patience. False: no slot
   * is free, and the queue is full or the wait is over.
   */
  take(name: string, patienceMs: number = this.#room.waitMs): boolean | Promise<boolean> {
    const lane = this.#lanes.get(name) ?? { taken: 0, waiting: new Set() };
    this.#lanes.set(name, lane);
    if (lane.taken < this.#room.slots) {
      lane.taken++;
      return true;
    }
    if (lane.waiting.size >= this.#room.waiting) return false;
    return new Promise((resolve) => {
      const end = (hasSlot: boolean) => {
        clearTimeout(waiting.timer);
        lane.waiting.delete(waiting);
        resolve(hasSlot);
      };
      const waitMs = Math.min(this.#room.waitMs, patienceMs);
      const waiting: Waiting = { end, timer: setTimeout(() => end(false), waitMs).unref() };
      lane.waiting.add(waiting);
    });
  }

  /** Gives a slot back; it goes to the request that has waited longest. */
  give(name: string): void {
    const lane = this.#lanes.get(name);
    if (!lane) return;
    const [next] = lane.waiting;
    if (next) next.end(true);
    else if (--lane.taken === 0) this.#lanes.delete(name);
  }
}
