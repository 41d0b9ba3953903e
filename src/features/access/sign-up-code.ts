import { randomInt } from "node:crypto";
import { MINUTE_MS } from "../../durations.js";
import { LIMITS } from "../../limits.js";
import { networkOf } from "../../operation/network.js";
import { timeOf } from "../../operation/clock-statement.js";
import { lockRow } from "../../operation/lock-row-statement.js";
import { SECRET_LENGTH, randomText } from "../../operation/random-text.js";
import { sha256 } from "../../operation/sha256.js";
import type { Database } from "../../platform/database/database.js";

/*
 * Only the person who reads the mail of an address gets in, and strangers cannot lock them out. A stranger can do two
 * things: request codes for the address, and guess. Neither may use up what the owner of the address needs. The numbers
 * below follow from `LIMITS.signUp`.
 *
 * - Several codes can be valid at once, and a request never ends one. An address has at most 3 valid codes, and a
 *   network requests at most 2 of them, a minute apart. Further requests send nothing, but get the same answer. So
 *   mails are limited (12 an hour, 8 for one network), and if none is sent, a valid code is already in the inbox.
 * - A wrong guess counts against each valid code, for the network that it came from: 5 for one network, 20 for all. So
 *   a stranger's guesses use up only their own. Without a valid code there is nothing to count against.
 * - A stranger with 4 networks could use up the 20. So the mail also has a long code of 256 bits, which nobody can
 *   guess: attempts with it are not counted, and it works when the short code no longer does.
 * - A stranger with many networks has 20 guesses for each of 12 codes an hour: a chance of 1 in 400,000 an hour to hit
 *   one of 10^8 codes, while the owner of the address gets 12 mails an hour. One network has 30 guesses an hour.
 *
 * What remains: people who share a network, as in an office, share its requests and guesses. A neighbour can use up the
 * short code, but never the long one. Requests are possible again within 15 minutes for one address, within an hour for
 * all addresses.
 */

const { codeMinutes, openCodes, openCodesPerNetwork, codeGapSeconds, triesPerCode, triesPerNetwork } = LIMITS.signUp;
const DIGITS = 8;
const LONG_CODE = /^[\w-]{43}$/;

/** Both forms of a code: one short enough to type, one that cannot be guessed. */
export interface SignUpCode {
  readonly short: string;
  readonly long: string;
}

/** Identifies a network for one address: the stored value does not show that it requested codes for other addresses. */
export const askerOf = (email: string, clientAddress: string): string =>
  sha256(`${email}\n${networkOf(clientAddress)}`)
    .toString("base64url")
    .slice(0, 22);

/**
 * The stored hash of a code. It hides a short code only from a glance at the table, since all short codes could be
 * hashed within a minute: what protects them is that they expire soon. The address is part of the hash, so equal codes
 * of two people have different hashes.
 */
export const hashCode = (email: string, code: string) => sha256(`${email}\n${code}`);

/** Queues a mail with a code, unless one is waiting or the address has enough valid codes. */
export function askForCode(database: Database, mailId: string, email: string, asker: string): Promise<void> {
  return database.transaction(async (inner) => {
    const { mail, signUpCode } = inner.models;
    const data = { id: mailId, kind: "sign_up", email, askedBy: asker };
    const { count } = await mail.createMany({ data, skipDuplicates: true });
    if (count === 0) return;
    // Read after the insert: a mail that was queued before has been sent by now, so its code is found.
    const now = await timeOf(inner);
    const open = await signUpCode.findMany({ where: { email, ...openAt(now) } });
    const own = open.filter(({ askedBy }) => askedBy === asker);
    const isTooSoon = own.some(({ createdAt }) => createdAt.getTime() > now.getTime() - codeGapSeconds * 1_000);
    if (open.length >= openCodes || own.length >= openCodesPerNetwork || isTooSoon) {
      await mail.delete({ where: { id: mailId } });
    }
  });
}

/**
 * Selects the codes that are valid. One that ends later than a new one was made while the database's clock was ahead:
 * it would be valid for as long as that was, and nobody could get another one.
 */
const openAt = (now: Date) => {
  const latest = now.getTime() + codeMinutes * MINUTE_MS + LIMITS.clock.aheadMs;
  return { expiresAt: { gt: now, lte: new Date(latest) } };
};

/** A mail with a code, as it was claimed by the process that sends it. */
interface MailOfCode {
  readonly id: string;
  readonly email: string;
  readonly dueAt: Date;
}

/**
 * Creates the code for a mail that is about to be sent. A retried mail gets another code, which replaces the first one:
 * its mail may not have arrived. Null if the mail was deleted or its claim lost: a process that was paused must not
 * replace the code that another one has sent since.
 */
export async function newSignUpCode(database: Database, { id, email, dueAt }: MailOfCode): Promise<SignUpCode | null> {
  const short = String(randomInt(10 ** DIGITS)).padStart(DIGITS, "0");
  const long = randomText(SECRET_LENGTH);
  const createdAt = await timeOf(database);
  const expiresAt = new Date(createdAt.getTime() + codeMinutes * MINUTE_MS);
  const code = { hash: hashCode(email, short), longHash: hashCode(email, long), createdAt, expiresAt };
  return database.transaction(async ({ models }) => {
    // Locks the row, so nobody else claims the mail until the code is stored.
    const [mail] = await models.mail.updateManyAndReturn({ where: { id, dueAt }, data: { dueAt } });
    if (!mail) return null;
    await models.signUpCode.upsert({
      where: { mailId: id },
      create: { mailId: id, email, askedBy: mail.askedBy, ...code },
      update: { ...code, triedBy: [] },
    });
    return { short, long };
  });
}

/**
 * The code in what a person has typed or copied: spaces, line ends and, between digits, dashes do not count. Keyboards
 * make some dashes longer, and Japanese ones write wide digits.
 */
export function readCode(text: string): string {
  const code = text.replaceAll(/\s/g, "");
  // Long codes had dashes of their own before.
  return /^[\p{Nd}\p{Pd}]+$/u.test(code) ? code.normalize("NFKC").replaceAll(/\p{Pd}/gu, "") : code;
}

/** Whether a code has the long form, whose attempts are not counted. */
export const isLongCode = (code: string): boolean => LONG_CODE.test(code);

/** Whether the code is right; false for an address without codes. Counts the attempt, unless the code is a long one. */
export async function isCodeRight(database: Database, email: string, code: string, asker: string): Promise<boolean> {
  const hash = hashCode(email, code);
  if (isLongCode(code)) {
    const open = openAt(await timeOf(database));
    return (await database.models.signUpCode.count({ where: { email, longHash: hash, ...open } })) > 0;
  }
  return takeTry(database, { email, hash, asker });
}

const idsOf = (codes: ReadonlyArray<{ readonly mailId: string }>): string[] => codes.map(({ mailId }) => mailId);

interface Try {
  readonly email: string;
  readonly hash: Uint8Array<ArrayBuffer>;
  readonly asker: string;
}

/**
 * Counts an attempt, even a right one, so that concurrent requests cannot make more attempts than allowed. It also
 * stays counted if the database fails behind it, since such a request may have been a guess whose answer got lost; the
 * long code of the same mail is not counted. Locks the codes in a fixed order, so that concurrent attempts cannot
 * deadlock.
 */
function takeTry(database: Database, { email, hash, asker }: Try): Promise<boolean> {
  return database.transaction(async (inner) => {
    const { signUpCode } = inner.models;
    const where = { email, ...openAt(await timeOf(inner)) };
    const open = await signUpCode.findMany({ where, select: { mailId: true }, orderBy: { mailId: "asc" } });
    for (const { mailId } of open) await lockRow(inner, "sign_up_code", { mail_id: mailId });
    const locked = await signUpCode.findMany({ where: { ...where, mailId: { in: idsOf(open) } } });
    const tried = locked.filter(
      ({ triedBy }) => triedBy.length < triesPerCode && triedBy.filter((one) => one === asker).length < triesPerNetwork,
    );
    await signUpCode.updateMany({ where: { mailId: { in: idsOf(tried) } }, data: { triedBy: { push: asker } } });
    return tried.some((code) => Buffer.compare(code.hash, hash) === 0);
  });
}

/** Deletes a code that `isCodeRight` has accepted: of several requests at the same time, one succeeds. */
export async function useRightCode(database: Database, email: string, code: string): Promise<boolean> {
  const hash = hashCode(email, code);
  const where = { email, OR: [{ hash }, { longHash: hash }] };
  return (await database.models.signUpCode.deleteMany({ where })).count > 0;
}
