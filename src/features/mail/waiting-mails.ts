import { timeOf } from "../../operation/clock-statement.js";
import type { Database } from "../../platform/database/database.js";

/** A mail that is not sent yet, as operators see it. */
export interface WaitingMail {
  readonly id: string;
  readonly kind: string;
  readonly email: string;
  readonly created_at: Date;
  /** When it is sent or retried. */
  readonly due_at: Date;
  readonly attempts: number;
  /** Why the last attempt failed; null before and during an attempt. */
  readonly last_error: string | null;
}

/** The oldest mails that wait, at most `limit`, and how many wait in all. */
export async function readWaitingMails(
  { models }: Database,
  limit: number,
): Promise<{ readonly mails: WaitingMail[]; readonly total: number }> {
  const rows = await models.mail.findMany({
    select: { id: true, kind: true, email: true, createdAt: true, dueAt: true, attempts: true, lastError: true },
    orderBy: [{ createdAt: "asc" }, { id: "asc" }],
    take: limit,
  });
  const mails = rows.map(({ id, kind, email, createdAt, dueAt, attempts, lastError }) => ({
    id,
    kind,
    email,
    created_at: createdAt,
    due_at: dueAt,
    attempts,
    last_error: lastError,
  }));
  return { mails, total: await models.mail.count() };
}

/** A running server, which has claimed one of these mails meanwhile, waits no longer than such a statement takes. */
const RETRIED_AT_ONCE = 1_000;

/**
 * Makes the failed mail with this id due, or all failed mails, as if they were new; returns their ids. Mails without an
 * error are already due or being sent.
 */
export async function retryMails(database: Database, id: string | undefined): Promise<string[]> {
  const { mail } = database.models;
  const hasFailed = { lastError: { not: null } };
  const where = { ...hasFailed, ...(id !== undefined && { id }) };
  const failed = (await mail.findMany({ where, select: { id: true }, orderBy: { id: "asc" } })).map((row) => row.id);
  const retried: string[] = [];
  for (let start = 0; start < failed.length; start += RETRIED_AT_ONCE) {
    const due = await mail.updateManyAndReturn({
      where: { ...hasFailed, id: { in: failed.slice(start, start + RETRIED_AT_ONCE) } },
      data: { dueAt: await timeOf(database), attempts: 0 },
      select: { id: true },
    });
    retried.push(...due.map((row) => row.id));
  }
  return retried;
}
