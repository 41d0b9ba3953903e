import type { Retention } from "../../config.js";
import { LIMITS } from "../../limits.js";
import type { Services } from "../../operation/context.js";
import type { Chore } from "../../platform/chores.js";
import type { Mailer } from "../../platform/mailer.js";
import { forgetUselessMails, sendDueMails } from "./outbox.js";

/** Without SMTP_URL this process sends nothing: mails wait for a process of the service that has it. */
export function mailChores(services: Services, { mailsDays }: Retention, mailer: Mailer | undefined): Chore[] {
  const { database, log } = services;
  const { lookedEveryMs: intervalMs } = LIMITS.mails;
  if (!mailer) log.warn(`SMTP_URL is not set: mails wait up to ${mailsDays} days for a process that has it`);
  return [
    { name: "forget mails", intervalMs: 60_000, run: () => forgetUselessMails(database, mailsDays) },
    ...(mailer ? [{ name: "send mails", intervalMs, run: () => sendDueMails({ ...services, mailer }) }] : []),
  ];
}
