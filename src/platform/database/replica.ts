import type { Database, OpenDatabase } from "./database.js";
import { READ_ONLY, isRowMissing, sqlStateOf } from "./database-errors.js";
import type { Logger } from "../telemetry/logger.js";
import type { Meter } from "../telemetry/meter.js";
import { databaseIdentity, walPosition } from "./position-statement.js";
import { warnSeldom } from "../telemetry/warn-seldom.js";

/** How long the replica is not used after a failure. */
const REST_MS = 10_000;

/** How long its last known position holds; then it is asked again, and whether it still follows the primary. */
const FOLLOWS_MS = 1_000;

/** A position that the primary had stored at this time. */
interface Mark {
  readonly at: number;
  readonly position: bigint;
}

interface ReplicaParts {
  readonly primary: Pick<Database, "run">;
  readonly log: Logger;
  readonly meter?: Meter | undefined;
  readonly delayMaxMs: number;
}

/** A streaming replica, for reads that may be a little old: at most `delayMaxMs`, and twice `FOLLOWS_MS`. */
export class Replica implements AsyncDisposable {
  /** Of the last `delayMaxMs`, one a second while the replica is in use. */
  #marks: readonly Mark[] = [];
  #markedAt = -Infinity;
  #replayed = 0n;
  #isRecent = false;
  /** Whether it was found to be a copy of the primary's database. */
  #isCopy = false;
  #followsUntil = 0;
  #restsUntil = 0;

  constructor(
    readonly database: OpenDatabase,
    private readonly parts: ReplicaParts,
  ) {}

  /**
   * Whether the replica has replayed this position, and is known to have what the primary had `delayMaxMs` ago. Asks it
   * only if its last known position is earlier, or old.
   */
  async has(position: bigint): Promise<boolean> {
    const now = performance.now();
    if (now < this.#restsUntil) return false;
    if (now >= this.#followsUntil || position > this.#replayed) {
      try {
        await this.#look();
      } catch (error) {
        this.leaveAlone(error);
        return false;
      }
    }
    return this.#isRecent && position <= this.#replayed;
  }

  async #look(): Promise<void> {
    if (!this.#isCopy) this.#isCopy = await this.#isOfPrimary();
    // First: with the primary's position from before, a replica that follows it closely is not taken for late.
    await this.#mark();
    this.#replayed = await readReplayedPosition(this.database);
    const now = performance.now();
    this.#followsUntil = now + FOLLOWS_MS;
    this.#isRecent = this.#marks.some(({ position }) => position <= this.#replayed);
    const { log, meter, delayMaxMs } = this.parts;
    const knownMs = now - (this.#marks[0]?.at ?? now);
    // After a pause in its use nothing is known of the seconds before.
    if (this.#isRecent || knownMs < delayMaxMs / 2) return;
    meter?.replicaFailed();
    const behind = { behindMs: Math.round(knownMs) };
    warnSeldom(log, "replica delay", behind, "the replica is too far behind: reads go to the primary");
  }

  /**
   * False while the primary does not answer: then it tells no position, either.
   * @throws Error if it is a copy of another database. Positions are those of a whole server, and alike on any two.
   */
  async #isOfPrimary(): Promise<boolean> {
    const [own] = await this.parts.primary.run(databaseIdentity, {}).catch(() => []);
    if (!own) return false;
    const [copied] = await this.database.run(databaseIdentity, {});
    if (copied?.identity === own.identity) return true;
    throw new Error("The replica is of another database than DATABASE_URL: correct DATABASE_REPLICA_URL.");
  }

  /** Notes the primary's position, once a second. Fails with nothing: without it, the replica seems late. */
  async #mark(): Promise<void> {
    const at = performance.now();
    if (at < this.#markedAt + FOLLOWS_MS) return;
    this.#markedAt = at;
    const { primary, delayMaxMs } = this.parts;
    const [row] = await primary.run(walPosition, {}).catch(() => []);
    const position = readPosition(row?.stored ?? "");
    const kept = this.#marks.filter((mark) => mark.at > at - delayMaxMs);
    this.#marks = position === undefined ? kept : [...kept, { at, position }];
  }

  /**
   * Notes a failure of the replica: reads go to the primary for a while. A read that had to store something, such as
   * what the payment provider says, or that lacked a row, such as that of a new user, is no failure: it alone goes there.
   */
  leaveAlone(error: unknown): void {
    if (sqlStateOf(error) === READ_ONLY || isRowMissing(error)) return;
    this.#restsUntil = performance.now() + REST_MS;
    this.parts.meter?.replicaFailed();
    warnSeldom(
      this.parts.log,
      "replica",
      { err: error },
      "the replica (DATABASE_REPLICA_URL) failed: reads go to the primary",
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.database[Symbol.asyncDispose]());
  }
}

/**
 * How far a primary has written, after a change was stored.
 * @throws Error if the database does not say, or accepts no changes, as an earlier primary after a failover.
 */
export async function readWrittenPosition(database: Pick<Database, "run">): Promise<bigint> {
  const [row] = await database.run(walPosition, {});
  const position = row?.accepts ? readPosition(row.position) : undefined;
  if (position === undefined) throw new Error("The database accepts no changes, or tells no position.");
  return position;
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
