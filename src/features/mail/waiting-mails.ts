import { UUID } from "../../operation/bounds.js";
import { timeOf } from "../../operation/clock-statement.js";
import type { Database } from "../../platform/database.js";

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

/** The mails that wait, oldest first: the first 1,000. */
export async function waitingMails({ models }: Database): Promise<WaitingMail[]> {
  const mails = await models.mail.findMany({ orderBy: [{ createdAt: "asc" }, { id: "asc" }], take: LISTED_MAX });
  return mails.map(({ id, kind, email, createdAt, dueAt, attempts, lastError }) => ({
    id,
    // The database knows these two kinds alone.
    kind: kind as WaitingMail["kind"],
    email,
    created_at: createdAt,
    due_at: dueAt,
    attempts,
    last_error: lastError,
  }));
}

/**
 * Makes the mail of this id due, or all that failed; answers with the ids of those that are due now. Those with an error
 * alone: a mail without one is due already, or on its way.
 */
export async function retryMails(database: Database, id: string | undefined): Promise<string[]> {
  if (id !== undefined && !UUID.test(id)) return [];
  const due = await database.models.mail.updateManyAndReturn({
    where: { lastError: { not: null }, ...(id !== undefined && { id }) },
    data: { dueAt: await timeOf(database) },
    select: { id: true },
  });
  return due.map((mail) => mail.id);
}
