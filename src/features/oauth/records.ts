import { LIMITS } from "../../limits.js";
import type { Services } from "../../operation/context.js";
import { AccountSuspended } from "../../operation/failure.js";
import { sha256 } from "../../operation/sha256.js";
import { FOREIGN_KEY_VIOLATION, sqlStateOf } from "../../platform/database/database-errors.js";
import { endKeyOfClient, notEnded } from "../access/index.js";

const { clientDays, waiting, tokensPerGrant } = LIMITS.oauth;
const DAY_S = 86_400;

/** The content of a record. The record's id is stored only as a hash. */
export type Payload = Readonly<Record<string, unknown>>;

/** The kinds of records that are stored before any user has consented. */
const BEFORE_CONSENT = new Set(["Client", "Interaction"]);
/** The kinds of records that prolong the key of their grant. */
const TOKENS = new Set(["AccessToken", "RefreshToken"]);

/**
 * The storage of the authorization server: one row per record. A grant's id is the id of the key that its program acts
 * as. All records of a grant belong to that key, and are deleted with it; the grant is valid only while the key is.
 */
export class OAuthRecords {
  constructor(private readonly services: Services) {}

  /**
   * Stores a record, or replaces the one with its id. By default it expires after `clientDays`.
   * @returns false if its key no longer exists, because the account was deleted meanwhile.
   */
  async store(kind: string, id: string, payload: Payload, seconds = clientDays * DAY_S): Promise<boolean> {
    const { jti: _id, ...kept } = payload;
    const keyId = keyOf(kind, id, payload);
    const expiresAt = this.#in(seconds);
    const data = { payload: kept as object, keyId, expiresAt };
    const which = { kind, hash: sha256(id) };
    try {
      await this.#models.upsert({ where: { kind_hash: which }, create: { ...which, ...data }, update: data });
    } catch (error) {
      if (sqlStateOf(error) !== FOREIGN_KEY_VIOLATION) throw error;
      return false;
    }
    if (keyId !== null) await this.#keepGrant(kind, keyId, payload, expiresAt);
    if (BEFORE_CONSENT.has(kind)) await this.#makeRoom(kind);
    return true;
  }

  /**
   * Null for a record that is unknown or has expired, and for a grant whose key has ended.
   * @throws AccountSuspended for the grant of a user who is suspended.
   */
  async find(kind: string, id: string): Promise<Payload | null> {
    const now = this.services.now();
    const isGrant = kind === "Grant";
    const where = { kind, hash: sha256(id), expiresAt: { gt: now }, ...(isGrant && { key: notEnded(now) }) };
    const include = { key: { select: { user: { select: { suspendedAt: true } } } } };
    const row = await this.#models.findFirst({ where, include });
    if (!row) return null;
    if (isGrant && row.key?.user.suspendedAt) throw new AccountSuspended();
    const payload = row.payload as Payload;
    if (kind === "Client") return payload;
    const consumed = row.consumedAt ? { consumed: Math.floor(row.consumedAt.getTime() / 1_000) } : {};
    // The authorization server compares it with this machine's clock, which may differ from the one that wrote it.
    const leftMs = row.expiresAt.getTime() - now.getTime();
    const end = "exp" in payload ? { exp: Math.floor((Date.now() + leftMs) / 1_000) } : {};
    return { ...payload, jti: id, ...consumed, ...end };
  }

  /**
   * Marks a code or token that was found unused as used. A second use returns false, and revokes the program's key. Of a
   * refresh token, simultaneous uses are all first ones: a program refreshes once for each of its calls that finds the
   * access token expired. The authorization server itself refuses a refresh token that it finds used.
   */
  async consume(kind: string, id: string): Promise<boolean> {
    const which = { kind, hash: sha256(id) };
    const data = { consumedAt: this.services.now() };
    const { count } = await this.#models.updateMany({ where: { ...which, consumedAt: null }, data });
    if (count > 0) return true;
    const row = await this.#models.findUnique({ where: { kind_hash: which }, select: { keyId: true } });
    if (row && kind === "RefreshToken") return true;
    if (row?.keyId) await endKeyOfClient(this.services, row.keyId);
    return false;
  }

  /** Deletes a record. For a grant, also revokes its key. */
  async remove(kind: string, id: string): Promise<void> {
    await this.#models.deleteMany({ where: { kind, hash: sha256(id) } });
    if (kind === "Grant") await endKeyOfClient(this.services, id);
  }

  async removeOfGrant(kind: string, keyId: string): Promise<void> {
    await this.#models.deleteMany({ where: { kind, keyId } });
  }

  get #models() {
    return this.services.database.models.oAuthRecord;
  }

  #in(seconds: number): Date {
    return new Date(this.services.now().getTime() + seconds * 1_000);
  }

  /**
   * Prolongs a key until its last token ends, and a connected client until its grant would end: after its key was
   * revoked it connects again with the id that it remembers. Deletes excess tokens.
   */
  async #keepGrant(kind: string, keyId: string, payload: Payload, end: Date): Promise<void> {
    if (kind === "Grant") {
      const where = { kind: "Client", hash: sha256(String(payload["clientId"])), expiresAt: { lt: end } };
      await this.#models.updateMany({ where, data: { expiresAt: end } });
    }
    if (!TOKENS.has(kind)) return;
    const { apiKey } = this.services.database.models;
    await apiKey.updateMany({ where: { id: keyId, expiresAt: { lt: end } }, data: { expiresAt: end } });
    const newest = { where: { kind, keyId }, orderBy: { createdAt: "desc" }, skip: tokensPerGrant } as const;
    const beyond = await this.#models.findMany({ ...newest, select: { hash: true } });
    if (beyond.length > 0)
      await this.#models.deleteMany({ where: { kind, hash: { in: beyond.map(({ hash }) => hash) } } });
  }

  /** Deletes the oldest records beyond `waiting`: anybody may create them, and they must not fill the database. */
  async #makeRoom(kind: string): Promise<void> {
    const waitingUntil = { lte: this.#in(clientDays * DAY_S) };
    const first = await this.#models.findFirst({
      where: { kind, expiresAt: waitingUntil },
      orderBy: { expiresAt: "desc" },
      skip: waiting,
      select: { expiresAt: true },
    });
    if (first) await this.#models.deleteMany({ where: { kind, expiresAt: { lte: first.expiresAt } } });
  }
}

function keyOf(kind: string, id: string, { grantId }: Payload): string | null {
  if (kind === "Grant") return id;
  return typeof grantId === "string" ? grantId : null;
}
