import type { Retention } from "../../config.js";
import { LIMITS } from "../../limits.js";
import type { Services } from "../../operation/context.js";
import { HOURS_OF_DAY, forgetChore } from "../../operation/retention.js";
import type { Chore } from "../../platform/chores.js";
import type { Mailer } from "../../platform/mailer.js";
import { forgetMails } from "./mail-statements.js";
import { sendDueMails } from "./outbox.js";

/** Without SMTP_URL this process sends nothing: mails wait for a process of the service that has it. */
export function mailChores(services: Services, { mailsDays }: Retention, mailer: Mailer | undefined): Chore[] {
  const { database, log } = services;
  const { lookedEveryMs: intervalMs } = LIMITS.mails;
  if (!mailer) log.warn(`SMTP_URL is not set: mails wait up to ${mailsDays} days for a process that has it`);
  return [
    forgetChore(database, "mails", forgetMails, mailsDays * HOURS_OF_DAY),
    ...(mailer ? [{ name: "send mails", intervalMs, run: () => sendDueMails({ ...services, mailer }) }] : []),
  ];
}
