import type { Database, OpenDatabase } from "./database.js";
import type { Logger } from "../telemetry/logger.js";
import type { Meter } from "../telemetry/meter.js";
import { walPosition } from "./position-statement.js";
import { warnSeldom } from "../telemetry/warn-seldom.js";

/** How long the replica is not used after a failure. */
const REST_MS = 10_000;

/** How long its last known position holds; then it is asked again, and whether it still follows the primary. */
const FOLLOWS_MS = 1_000;

/** A streaming replica of the database, for reads that may be a little old. */
export class Replica implements AsyncDisposable {
  readonly #log: Logger;
  readonly #meter: Meter | undefined;
  #replayed = 0n;
  #followsUntil = 0;
  #restsUntil = 0;

  constructor(
    readonly database: OpenDatabase,
    log: Logger,
    meter?: Meter,
  ) {
    this.#log = log;
    this.#meter = meter;
  }

  /** Whether the replica has replayed this position. Asks it only if its last known position is earlier, or old. */
  async has(position: bigint): Promise<boolean> {
    const now = performance.now();
    if (now < this.#restsUntil) return false;
    if (now < this.#followsUntil && position <= this.#replayed) return true;
    try {
      this.#replayed = await readReplayedPosition(this.database);
      this.#followsUntil = performance.now() + FOLLOWS_MS;
    } catch (error) {
      this.leaveAlone(error);
      return false;
    }
    return position <= this.#replayed;
  }

  /** Notes a failure of the replica: reads go to the primary for a while. */
  leaveAlone(error: unknown): void {
    this.#restsUntil = performance.now() + REST_MS;
    this.#meter?.replicaFailed();
    warnSeldom(
      this.#log,
      "replica",
      { err: error },
      "the replica (DATABASE_REPLICA_URL) failed: reads go to the primary",
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.database[Symbol.asyncDispose]());
  }
}

/** How far a primary has written; 0 if the database does not say. */
export async function readWrittenPosition(database: Pick<Database, "run">): Promise<bigint> {
  const [row] = await database.run(walPosition, {});
  return readPosition(row?.position ?? "") ?? 0n;
}

/** @throws Error if the database was promoted: what it writes by itself has positions, too, but not those changes. */
async function readReplayedPosition(database: Pick<Database, "run">): Promise<bigint> {
  const [row] = await database.run(walPosition, {});
  if (!row?.follows) throw new Error("The replica does not follow another database: it was promoted.");
  return readPosition(row.position) ?? 0n;
}

/** A position as PostgreSQL writes it, such as `16/B374D848`; undefined for any other text. */
export function readPosition(text: string): bigint | undefined {
  const [, high, low] = /^([\dA-F]{1,8})\/([\dA-F]{1,8})$/i.exec(text) ?? [];
  return high === undefined ? undefined : (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
}

export const writePosition = (position: bigint): string =>
  `${(position >> 32n).toString(16)}/${(position & 0xffffffffn).toString(16)}`.toUpperCase();
