import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createTransport } from "nodemailer";
import type { Logger } from "./logger.js";
import { makeFolder } from "./folder.js";

/** A mail, ready to be sent. */
export interface Message {
  /** Names it in the log and, in development, its files. */
  readonly id: string;
  /** An address alone, without a name. */
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

export interface Mailer {
  /** Ends when the next server has taken the mail; rejects when it has not, after `SEND_TIMEOUT_MS` at the latest. */
  send(message: Message): Promise<void>;
}

export interface MailSettings {
  readonly development: boolean;
  readonly smtpUrl: string | undefined;
  readonly mailFrom: string;
  readonly dataDir: string;
}

/** For each step of a delivery: to connect, to be greeted, to be answered. */
const STEP_TIMEOUT_MS = 10_000;
/** For all of them: a server that answers slowly each time must not hold a mail for minutes. */
export const SEND_TIMEOUT_MS = 20_000;

/** By SMTP where it is configured; else, in development, into files. Undefined where mails can go nowhere. */
export function createMailer(
  { development, smtpUrl, mailFrom, dataDir }: MailSettings,
  log: Logger,
): Mailer | undefined {
  if (smtpUrl !== undefined) return smtpMailer(smtpUrl, mailFrom, !development && needsStartTls(smtpUrl));
  return development ? fileMailer(join(dataDir, "mail"), mailFrom, log) : undefined;
}

/**
 * Whether a mail may be sent only after STARTTLS. Mails carry codes and tokens that open accounts, so they are not sent
 * in plain text when a server, or somebody in between, offers no encryption. Not required of a mail server on this
 * machine, nor where the operator says `?requireTLS=false`, for one in their own network.
 */
export function needsStartTls(smtpUrl: string): boolean {
  const { protocol, hostname, searchParams } = new URL(smtpUrl);
  // Over TLS from the start.
  if (protocol === "smtps:") return false;
  const wish = searchParams.get("requireTLS");
  return wish === null ? !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/i.test(hostname) : wish !== "false";
}

function smtpMailer(url: string, from: string, requireTLS: boolean): Mailer {
  const transport = createTransport({
    url,
    ...(requireTLS && { requireTLS }),
    dnsTimeout: STEP_TIMEOUT_MS,
    connectionTimeout: STEP_TIMEOUT_MS,
    greetingTimeout: STEP_TIMEOUT_MS,
    socketTimeout: STEP_TIMEOUT_MS,
    ...NOTHING_FROM_OUTSIDE,
  });
  return {
    async send(message) {
      await transport.sendMail({ ...asSent(message, from), signal: AbortSignal.timeout(SEND_TIMEOUT_MS) });
    },
  };
}

/** For a look at mails where there is no server to send them. */
function fileMailer(folder: string, from: string, log: Logger): Mailer {
  const transport = createTransport({ streamTransport: true, buffer: true, ...NOTHING_FROM_OUTSIDE });
  return {
    async send(message) {
      const { message: bytes } = await transport.sendMail(asSent(message, from));
      if (!Buffer.isBuffer(bytes)) throw new Error("The mail was not written whole.");
      const file = resolve(folder, `${message.id}.txt`);
      await makeFolder(folder);
      // Whoever holds its token or code may answer for the person, so it is nobody else's to read.
      await writeFile(resolve(folder, `${message.id}.eml`), bytes, { mode: 0o600 });
      // Mails break long lines, links among them; this can be copied from.
      await writeFile(file, message.text, { mode: 0o600 });
      log.info({ file }, "a mail was written to a file, since SMTP_URL is not set");
    },
  };
}

/** A mail's parts are what they say, never a file or an address to fetch them from. */
const NOTHING_FROM_OUTSIDE = { disableFileAccess: true, disableUrlAccess: true } as const;

const asSent = ({ to, subject, text, html }: Message, from: string) => ({
  from,
  // As an object, which is not parsed: no address can pass for two.
  to: { name: "", address: to },
  subject,
  text,
  html,
  // Keeps out-of-office notes from being sent back.
  headers: { "Auto-Submitted": "auto-generated" },
});
