import { createHash, randomBytes, randomInt } from "node:crypto";
import { LIMITS } from "../../limits.js";
import { networkOf } from "../../operation/budget.js";
import { forget, forgetStatement } from "../../operation/retention.js";
import type { Database, Statement } from "../../platform/database.js";

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

const { codeMinutes, openCodes, openCodesPerNetwork, codeGapSeconds, triesPerCode, triesPerNetwork } = LIMITS.signUp;
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
const hashCode = (email: string, code: string): Buffer => createHash("sha256").update(`${email}\n${code}`).digest();

const queueMail: Statement = {
  name: "queue_sign_up_mail",
  text: `
    INSERT INTO mail (id, kind, email, asked_by)
    SELECT $1::uuid, 'sign_up', $2, $3
    FROM (SELECT count(*) AS of_all, count(*) FILTER (WHERE asked_by = $3) AS of_asker,
        max(created_at) FILTER (WHERE asked_by = $3) AS latest
      FROM sign_up_code WHERE email = $2 AND expires_at > now()) open
    WHERE open.of_all < ${openCodes} AND open.of_asker < ${openCodesPerNetwork}
      AND (open.latest IS NULL OR open.latest <= now() - interval '${codeGapSeconds} seconds')
    ON CONFLICT (email) WHERE kind = 'sign_up' DO NOTHING`,
};

/** Queues a mail with a code, unless one waits or enough that were sent are open. */
export async function askForCode(database: Database, mailId: string, email: string, asker: string): Promise<void> {
  await database.run(queueMail, [mailId, email, asker]);
}

/** A mail that is tried again has another code, in place of the one that may not have arrived. */
const storeCode: Statement = {
  name: "store_sign_up_code",
  text: `
    INSERT INTO sign_up_code (mail_id, email, hash, long_hash, asked_by, expires_at)
    SELECT id, email, $2, $3, asked_by, now() + interval '${codeMinutes} minutes' FROM mail WHERE id = $1::uuid
    ON CONFLICT (mail_id) DO UPDATE SET hash = excluded.hash, long_hash = excluded.long_hash, tried_by = '{}',
      created_at = now(), expires_at = excluded.expires_at
    RETURNING mail_id`,
};

/** Makes the code that a mail is about to carry. Null when there is no such mail any more. */
export async function newSignUpCode(database: Database, email: string, mailId: string): Promise<SignUpCode | null> {
  const short = String(randomInt(10 ** DIGITS)).padStart(DIGITS, "0");
  const long = randomBytes(32).toString("base64url");
  const stored = await database.run(storeCode, [mailId, hashCode(email, short), hashCode(email, long)]);
  return stored.length > 0 ? { short, long } : null;
}

/** Whether a code is the long form of one, which may be tried without being counted. */
export const isLongCode = (code: string): boolean => LONG_CODE.test(code);

/** A right code takes a try as well, so that many requests at once cannot test more codes than there are tries. */
const takeTry: Statement = {
  name: "take_sign_up_try",
  // Locked in one order, so that those who try at once never wait for each other in a circle.
  text: `
    WITH open AS (
      SELECT mail_id FROM sign_up_code WHERE email = $1 AND expires_at > now() ORDER BY mail_id FOR UPDATE
    )
    UPDATE sign_up_code c SET tried_by = array_append(c.tried_by, $3) FROM open
    WHERE c.mail_id = open.mail_id AND cardinality(c.tried_by) < ${triesPerCode}
      AND cardinality(array_positions(c.tried_by, $3)) < ${triesPerNetwork}
    RETURNING c.hash = $2 AS is_right`,
};

const isLongRight: Statement = {
  name: "is_long_sign_up_code_right",
  text: `SELECT true AS is_right FROM sign_up_code WHERE email = $1 AND long_hash = $2 AND expires_at > now()`,
};

/** Takes a try of each open code, for good; false for a wrong code and for an address that none was sent to. */
export async function isCodeRight(database: Database, email: string, code: string, asker: string): Promise<boolean> {
  const hash = hashCode(email, code);
  const answers = isLongCode(code)
    ? await database.run<{ is_right: boolean }>(isLongRight, [email, hash])
    : await database.run<{ is_right: boolean }>(takeTry, [email, hash, asker]);
  return answers.some(({ is_right }) => is_right);
}

const useCode: Statement = {
  name: "use_sign_up_code",
  text: "DELETE FROM sign_up_code WHERE email = $1 AND (hash = $2 OR long_hash = $2) AND expires_at > now() RETURNING email",
};

/** Uses up a code that is right: of all that ask at once one succeeds. */
export async function useRightCode(database: Database, email: string, code: string): Promise<boolean> {
  return (await database.run(useCode, [email, hashCode(email, code)])).length > 0;
}

const forgetCodes = forgetStatement("sign_up_code", "expires_at <= now()");

/** Deletes a batch of codes that have ended; answers with whether there may be more. */
export const forgetEndedCodes = (database: Database): Promise<boolean> => forget(database, forgetCodes);
