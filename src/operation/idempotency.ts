import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import type { Retention } from "../config.js";
import { HOUR_MS } from "../durations.js";
import type { Chore } from "../platform/chores.js";
import type { Database } from "../platform/database/database.js";
import type { RowOf } from "../platform/database/statement.js";
import { timeOf } from "./clock-statement.js";
import { CommonFailure } from "./failure.js";
import { forgetResults, keepResult, lockResults } from "./idempotency-statements.js";
import { forgetChore } from "./retention.js";
import { sha256 } from "./sha256.js";

/** What identifies a request that may be repeated. */
export interface Idempotency {
  /** The Idempotency-Key, as the client sent it. */
  readonly key: string;
  /** Which of the request's changes: the response name in GraphQL; empty if there is only one. */
  readonly part: string;
  /** The content that must be the same in a repetition. */
  readonly request: string;
}

export class IdempotencyKeyReused extends CommonFailure {
  readonly kind = "conflict";
  override readonly reason = "idempotency_key_reused";

  constructor() {
    super(
      "This Idempotency-Key was used for another request, or with an API key of other scopes. Use a new one for a new " +
        "request.",
    );
  }
}

export class IdempotencyInProgress extends CommonFailure {
  readonly kind = "conflict";
  override readonly reason = "idempotency_in_progress";
  override readonly retryAfterSeconds = 1;

  constructor() {
    super("A request with this Idempotency-Key is still running. Repeat it a little later to get its result.");
  }
}

export const idempotencyChores = (
  { database }: { readonly database: Database },
  { resultsHours }: Pick<Retention, "resultsHours">,
): Chore[] => [forgetChore(database, "results", forgetResults, resultsHours)];

/** Whose results are kept, and for how long. */
export interface Results {
  readonly userId: string;
  readonly keptHours: number;
  /** Counts the bytes of a result before it is kept. @throws RateLimited when the account's results take too many. */
  charge(bytes: number): Promise<void>;
}

/**
 * Does the work, or returns its first result if the same request was done before. Must be called in the transaction of
 * the work, so that effect and result are stored together or not at all. A failure is not stored, since the work had no
 * effect: the same key may be used again.
 * @throws IdempotencyInProgress while another request with the key is running.
 * @throws IdempotencyKeyReused when the key was used for another request.
 * @throws RateLimited when the account's results take too many bytes; then the work has no effect.
 */
export async function once<Output extends object>(
  database: Database,
  { userId, keptHours, charge }: Results,
  { key, part, request }: Idempotency,
  work: () => Promise<Output>,
): Promise<Output> {
  const [keyHash, fingerprint] = [sha256(key), sha256(request)];
  const rows = await database.run(lockResults, { number: lockNumber(userId, keyHash), userId, keyHash, keptHours });
  if (rows.some(({ locked }) => !locked)) throw new IdempotencyInProgress();
  const earlier = resultAmong(rows, { key, part, fingerprint });
  if (earlier) return earlier as Output;

  const output = await work();
  const result = encrypt(JSON.stringify(output), key);
  await charge(result.length);
  await database.run(keepResult, { userId, keyHash, part, fingerprint, result, keptHours });
  return output;
}

/**
 * The first result of a request that was done before; undefined for a new one.
 * @throws IdempotencyKeyReused when the key was used for another request.
 */
export async function findEarlierResult<Output extends object>(
  database: Database,
  { userId, keptHours }: Pick<Results, "userId" | "keptHours">,
  { key, part, request }: Idempotency,
): Promise<Output | undefined> {
  const keptSince = new Date((await timeOf(database)).getTime() - keptHours * HOUR_MS);
  const rows = await database.models.idempotentResult.findMany({
    where: { userId, keyHash: sha256(key), createdAt: { gt: keptSince } },
    select: { part: true, fingerprint: true, result: true },
  });
  return resultAmong(rows, { key, part, fingerprint: sha256(request) }) as Output | undefined;
}

type StoredResult = Omit<RowOf<typeof lockResults>, "locked">;

/** @throws IdempotencyKeyReused when the key was used for another request. */
function resultAmong(
  rows: readonly StoredResult[],
  { key, part, fingerprint }: { readonly key: string; readonly part: string; readonly fingerprint: Buffer },
): unknown {
  if (rows.some((row) => !fingerprint.equals(row.fingerprint))) throw new IdempotencyKeyReused();
  const same = rows.find((row) => row.part === part);
  return same && JSON.parse(decrypt(same.result, key));
}

const lockNumber = (userId: string, keyHash: Buffer): string =>
  createHash("sha256").update(userId).update(keyHash).digest().readBigInt64BE().toString();

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A result may contain a secret, such as a new API key, that nobody may learn from the table. */
function encrypt(text: string, key: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", encryptionKey(key), nonce);
  const bytes = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), bytes]);
}

function decrypt(stored: Uint8Array, key: string): string {
  const nonce = stored.subarray(0, NONCE_BYTES);
  const tag = stored.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  const decipher = createDecipheriv("aes-256-gcm", encryptionKey(key), nonce).setAuthTag(tag);
  return Buffer.concat([decipher.update(stored.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString("utf8");
}

/** Differs from the hash that is stored, so the table does not contain the key to its results. */
const encryptionKey = (key: string): Buffer => sha256(`encrypts a result\n${key}`);
