import { UUID } from "../../operation/bounds.js";
import type { Database, Statement } from "../../platform/database.js";

/** A mail that was not sent yet, as operators see it. */
export interface WaitingMail {
  readonly id: string;
  readonly kind: "invitation" | "sign_up";
  readonly email: string;
  readonly created_at: Date;
  /** When it is tried next. */
  readonly due_at: Date;
  readonly attempts: number;
  /** Why the last attempt failed; null before the first, and while one is being made. */
  readonly last_error: string | null;
}

const LISTED_MAX = 1_000;

const waiting: Statement = {
  name: "waiting_mails",
  text: `
    SELECT id, kind, email, created_at, due_at, attempts, last_error FROM mail ORDER BY created_at, id
    LIMIT ${LISTED_MAX}`,
};

/** The mails that wait, oldest first: the first 1,000. */
export const waitingMails = (database: Database): Promise<WaitingMail[]> => database.run<WaitingMail>(waiting, []);

/** Those with an error alone: a mail without one is due already, or on its way. */
const retry: Statement = {
  name: "retry_mails",
  text: `
    UPDATE mail SET due_at = now() WHERE last_error IS NOT NULL AND ($1::uuid IS NULL OR id = $1::uuid)
    RETURNING id`,
};

/** Makes the mail of this id due, or all that failed; answers with the ids of those that are due now. */
export async function retryMails(database: Database, id: string | undefined): Promise<string[]> {
  if (id !== undefined && !UUID.test(id)) return [];
  return (await database.run<{ id: string }>(retry, [id ?? null])).map((mail) => mail.id);
}
