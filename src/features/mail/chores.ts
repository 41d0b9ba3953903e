import type { Retention } from "../../config.js";
import { LIMITS } from "../../limits.js";
import type { Services } from "../../operation/context.js";
import type { Chore } from "../../platform/chores.js";
import type { Mailer } from "../../platform/mailer.js";
import { forgetUselessMails, sendDueMails } from "./outbox.js";

/** Without a mail server mails wait for a server of the service that has one. */
export function mailChores(services: Services, { mailsDays }: Retention, mailer: Mailer | undefined): Chore[] {
  const { database, log } = services;
  const { lookedEveryMs: intervalMs } = LIMITS.mails;
  if (!mailer) log.warn(`SMTP_URL is not set: mails wait up to ${mailsDays} days for a server that has it`);
  return [
    { name: "forget mails", intervalMs: 60_000, run: () => forgetUselessMails(database, mailsDays) },
    ...(mailer ? [{ name: "send mails", intervalMs, run: () => sendDueMails({ ...services, mailer }) }] : []),
  ];
}
