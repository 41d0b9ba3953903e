/** How many places there are for each name, how many may wait for one, and for how long. */
interface Room {
  readonly places: number;
  readonly waiting: number;
  readonly waitMs: number;
}

interface Lane {
  taken: number;
  readonly waiting: Set<Waiting>;
}

interface Waiting {
  readonly timer: NodeJS.Timeout;
  end(hasPlace: boolean): void;
}

/** A bounded number of places by name, and a bounded queue for each, whose first gets what is given back. */
export class Places {
  readonly #room: Room;
  readonly #lanes = new Map<string, Lane>();

  constructor(room: Room) {
    this.#room = room;
  }

  /**
   * Takes a place: at once, or when one is given back, by the room's time and the patience of who asks. False: there is
   * none, and no room or no time to wait for one.
   */
  take(name: string, patienceMs: number = this.#room.waitMs): boolean | Promise<boolean> {
    const lane = this.#lanes.get(name) ?? { taken: 0, waiting: new Set() };
    this.#lanes.set(name, lane);
    if (lane.taken < this.#room.places) {
      lane.taken++;
      return true;
    }
    if (lane.waiting.size >= this.#room.waiting) return false;
    return new Promise((resolve) => {
      const end = (hasPlace: boolean) => {
        clearTimeout(waiting.timer);
        lane.waiting.delete(waiting);
        resolve(hasPlace);
      };
      const waitMs = Math.min(this.#room.waitMs, patienceMs);
      const waiting: Waiting = { end, timer: setTimeout(() => end(false), waitMs).unref() };
      lane.waiting.add(waiting);
    });
  }

  /** Gives a place back that was taken: to who has waited longest. */
  give(name: string): void {
    const lane = this.#lanes.get(name);
    if (!lane) return;
    const [next] = lane.waiting;
    if (next) next.end(true);
    else if (--lane.taken === 0) this.#lanes.delete(name);
  }
}
