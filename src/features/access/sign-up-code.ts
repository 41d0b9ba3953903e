import { createHash, randomBytes, randomInt } from "node:crypto";
import { LIMITS } from "../../limits.js";
import { networkOf } from "../../operation/budget.js";
import { timeOf } from "../../operation/clock-statement.js";
import { forget } from "../../operation/retention.js";
import type { Database } from "../../platform/database.js";
import { forgetCodes } from "./forget-statements.js";
import { takeTry } from "./try-statement.js";

/*
 * Only the person who reads the mail of an address gets in, and nobody can lock them out. A stranger can do two things:
 * ask for codes for the address, and guess. Neither may use up what the owner of the address needs.
 *
 * - Several codes may be open at once. Asking never ends one that is on its way or in the inbox. An address has at most
 *   3 open at once and a network asks for at most 2 of them, a minute apart; then asking sends nothing, and is answered
 *   alike. So mail is bounded (12 an hour, 8 for one network), and when none is sent there is an open code in the
 *   inbox.
 * - A wrong guess counts against each open code, for the network that it came from: 5 for one network, 20 for all.
 *   A stranger's guesses so use up only their own. Where no code is open nothing is counted.
 * - A stranger with 4 networks could use up the 20. So the mail also has the code in a long form of 256 bits, which
 *   nobody guesses: trying it counts nowhere, and it works when the short one no longer does.
 * - To hit one of 10^8 codes there are 20 guesses a code and 12 codes an hour for who has many networks: 1 in 400,000
 *   an hour, while the owner of the address is sent 12 mails an hour. One network has 30 guesses an hour.
 *
 * What is left: people behind one address, as in an office, share what a network may ask for and guess. A neighbour can
 * so use up the short code, never the long one; and what a network may ask for comes back within 15 minutes.
 */

const { codeMinutes, openCodes, openCodesPerNetwork, codeGapSeconds } = LIMITS.signUp;
const DIGITS = 8;
const LONG_CODE = /^[\w-]{43}$/;

/** A code in both forms: what people type, and what cannot be guessed. */
export interface SignUpCode {
  readonly short: string;
  readonly long: string;
}

/** For an answer that must be the same whatever is true of the address. */
export const CODE_MINUTES = codeMinutes;

/** Who asks or tries, for one address: what is stored does not tell who asked for codes for others. */
export const askerOf = (email: string, clientAddress: string): string =>
  createHash("sha256")
    .update(`${email}\n${networkOf(clientAddress)}`)
    .digest("base64url")
    .slice(0, 22);

/**
 * What is stored of a code. All short ones could be hashed within a minute, so this keeps them from a glance at the
 * table only; what protects them is that they end so soon. The address makes equal codes of two people differ.
 */
const hashCode = (email: string, code: string) =>
  new Uint8Array(createHash("sha256").update(`${email}\n${code}`).digest());

/** Queues a mail with a code, unless one waits or enough that were sent are open. */
export function askForCode(database: Database, mailId: string, email: string, asker: string): Promise<void> {
  return database.transaction(async (inner) => {
    const { mail, signUpCode } = inner.models;
    const data = { id: mailId, kind: "sign_up", email, askedBy: asker };
    const { count } = await mail.createMany({ data, skipDuplicates: true });
    if (count === 0) return;
    // Read after the mail stands there: the code of any that stood there before it is among them.
    const now = await timeOf(inner);
    const open = await signUpCode.findMany({ where: { email, expiresAt: { gt: now } } });
    const own = open.filter(({ askedBy }) => askedBy === asker);
    const isTooSoon = own.some(({ createdAt }) => createdAt.getTime() > now.getTime() - codeGapSeconds * 1_000);
    if (open.length >= openCodes || own.length >= openCodesPerNetwork || isTooSoon) {
      await mail.delete({ where: { id: mailId } });
    }
  });
}

/**
 * Makes the code that a mail is about to carry. Null when there is no such mail any more. A mail that is tried again has
 * another code, in place of the one that may not have arrived.
 */
export async function newSignUpCode(database: Database, email: string, mailId: string): Promise<SignUpCode | null> {
  const { models } = database;
  const mail = await models.mail.findUnique({ where: { id: mailId } });
  if (!mail) return null;
  const short = String(randomInt(10 ** DIGITS)).padStart(DIGITS, "0");
  const long = randomBytes(32).toString("base64url");
  const createdAt = await timeOf(database);
  const expiresAt = new Date(createdAt.getTime() + codeMinutes * 60_000);
  const code = { hash: hashCode(email, short), longHash: hashCode(email, long), createdAt, expiresAt };
  await models.signUpCode.upsert({
    where: { mailId },
    create: { mailId, email, askedBy: mail.askedBy, ...code },
    update: { ...code, triedBy: [] },
  });
  return { short, long };
}

/** Whether a code is the long form of one, which may be tried without being counted. */
export const isLongCode = (code: string): boolean => LONG_CODE.test(code);

/** Takes a try of each open code, for good; false for a wrong code and for an address that none was sent to. */
export async function isCodeRight(database: Database, email: string, code: string, asker: string): Promise<boolean> {
  const hash = hashCode(email, code);
  if (isLongCode(code)) {
    const expiresAt = { gt: await timeOf(database) };
    return (await database.models.signUpCode.count({ where: { email, longHash: hash, expiresAt } })) > 0;
  }
  const answers = await database.run(takeTry, { email, hash, asker });
  return answers.some(({ isRight }) => isRight);
}

/** Uses up a code that is right: of all that ask at once one succeeds. */
export async function useRightCode(database: Database, email: string, code: string): Promise<boolean> {
  const hash = hashCode(email, code);
  const isRight = { OR: [{ hash }, { longHash: hash }], expiresAt: { gt: await timeOf(database) } };
  return (await database.models.signUpCode.deleteMany({ where: { email, ...isRight } })).count > 0;
}

/** Deletes a batch of codes that have ended; answers with whether there may be more. */
export const forgetEndedCodes = (database: Database): Promise<boolean> => forget(database, forgetCodes);
