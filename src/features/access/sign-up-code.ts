import { createHash, randomInt } from "node:crypto";
import type { Database, Statement } from "../../platform/database.js";

/** How long a code can be used, from when its mail is sent. */
export const CODE_MINUTES = 15;
/** How many guesses there are: with 8 digits, the chance to hit is one in 20 million. */
const TRIES = 5;
const DIGITS = 8;

/**
 * What is stored of a code. All codes could be hashed within a minute, so this keeps it from a glance at the table
 * only; what protects it is that it ends so soon. The address makes equal codes of two people differ.
 */
const hashCode = (email: string, code: string): Buffer => createHash("sha256").update(`${email}\n${code}`).digest();

/** Nothing is stored for a mail that was overtaken: of two codes on their way only the later would be right. */
const storeCode: Statement = {
  name: "store_sign_up_code",
  text: `
    INSERT INTO sign_up_code AS c (email, hash, tries_left, expires_at)
    SELECT $1, $2, ${TRIES}, now() + interval '${CODE_MINUTES} minutes'
    WHERE NOT EXISTS (SELECT FROM mail WHERE kind = 'sign_up' AND email = $1 AND id > $3::uuid)
    ON CONFLICT (email) DO UPDATE
      SET hash = excluded.hash, tries_left = excluded.tries_left, expires_at = excluded.expires_at
    RETURNING c.email`,
};

/** Makes the code that a mail is about to carry; it takes the place of an earlier one. Null when a later mail waits. */
export async function newSignUpCode(database: Database, email: string, mailId: string): Promise<string | null> {
  const code = String(randomInt(10 ** DIGITS)).padStart(DIGITS, "0");
  const stored = await database.run(storeCode, [email, hashCode(email, code), mailId]);
  return stored.length > 0 ? code : null;
}

/** A right code takes a try as well: who asks many times at once must not find out more than `TRIES` answers. */
const takeTry: Statement = {
  name: "take_sign_up_try",
  text: `
    UPDATE sign_up_code SET tries_left = tries_left - 1
    WHERE email = $1 AND tries_left > 0 AND expires_at > now() RETURNING hash = $2 AS is_right`,
};

/** Takes one of the tries, for good; false for a wrong code and for an address that none was sent to. */
export async function isCodeRight(database: Database, email: string, code: string): Promise<boolean> {
  const [taken] = await database.run<{ is_right: boolean }>(takeTry, [email, hashCode(email, code)]);
  return taken?.is_right ?? false;
}

const useCode: Statement = {
  name: "use_sign_up_code",
  text: "DELETE FROM sign_up_code WHERE email = $1 AND hash = $2 RETURNING email",
};

/** Uses up a code that is right: of all that ask at once one succeeds. */
export async function useRightCode(database: Database, email: string, code: string): Promise<boolean> {
  return (await database.run(useCode, [email, hashCode(email, code)])).length > 0;
}

const forgetCodes: Statement = {
  name: "forget_sign_up_codes",
  text: `
    WITH gone AS (
      DELETE FROM sign_up_code WHERE email IN (
        SELECT email FROM sign_up_code WHERE expires_at <= now() LIMIT 1000 FOR UPDATE SKIP LOCKED)
      RETURNING 1
    )
    SELECT count(*)::int AS count FROM gone`,
};

/** Deletes up to 1,000 codes that have ended; answers with whether there may be more. */
export async function forgetEndedCodes(database: Database): Promise<boolean> {
  const [gone] = await database.run<{ count: number }>(forgetCodes, []);
  return gone?.count === 1_000;
}
