import { writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { hostname as machineName } from "node:os";
import { join, resolve } from "node:path";
import { LIMITS } from "../limits.js";
import type { Logger } from "./telemetry/logger.js";
import { makeFolder } from "./folder.js";
import { whenLate } from "../within-time.js";

/** A mail, ready to be sent. */
export interface Message {
  /** The name of its files in development. */
  readonly id: string;
  /** An address without a display name. */
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Who gets the answers; the sender, unless given. */
  readonly replyTo?: string;
}

export interface Mailer {
  /** Resolves when the next mail server has accepted the mail; rejects otherwise, after `mails.sendMs` at the latest. */
  send(message: Message): Promise<void>;
}

export interface MailSettings {
  readonly development: boolean;
  readonly smtpUrl: string | undefined;
  readonly mailFrom: string;
  readonly dataDir: string;
  readonly publicUrl?: string | undefined;
}

/** Sends by SMTP if it is configured; otherwise, in development, writes files. Undefined if neither is configured. */
export async function createMailer(
  { development, smtpUrl, mailFrom, dataDir, publicUrl }: MailSettings,
  log: Logger,
): Promise<Mailer | undefined> {
  if (smtpUrl !== undefined) return smtpMailer({ smtpUrl, development, publicUrl }, mailFrom);
  return development ? fileMailer(join(dataDir, "mail"), mailFrom, log) : undefined;
}

/**
 * Whether mails may be sent only after STARTTLS. Mails contain codes and tokens that give access to accounts, so they
 * are not sent in plain text, even if the server, or an attacker in between, offers no encryption. Not required for a
 * mail server on this machine, or if the operator sets `?requireTLS=false`, for one in their own network.
 */
export function needsStartTls(smtpUrl: string): boolean {
  const { protocol, hostname, searchParams } = new URL(smtpUrl);
  // TLS from the start.
  if (protocol === "smtps:") return false;
  const setting = searchParams.get("requireTLS");
  return setting === null ? !isHere(hostname) : setting !== "false";
}

const isHere = (hostname: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/i.test(hostname);

/** What a mail server lets its clients do. */
interface MailServer {
  /** Whether it lets them sign in, and the URL names nobody: such servers often send no mails for strangers. */
  readonly lacksUser: boolean;
}

/**
 * Connects and signs in to a mail server, and sends nothing.
 * @throws an error that says why that is not possible.
 */
export async function verifyMailServer(server: ServerSettings): Promise<MailServer> {
  const transport = await transportTo(server, {
    socketTimeout: LIMITS.mails.sendMs,
    // Makes it an error that the server lets clients sign in, and the URL has no user.
    forceAuth: new URL(server.smtpUrl).username === "",
  });
  try {
    await transport.verify();
    return { lacksUser: false };
  } catch (error) {
    if ((error as { code?: unknown }).code === NO_USER) return { lacksUser: true };
    throw error;
  }
}

/** Nodemailer's code for an error that only `forceAuth` makes. */
const NO_USER = "ENOAUTH";

interface Verifying {
  /** How long the server may say nothing, in milliseconds, unless something else limits the whole. */
  readonly socketTimeout: number;
  readonly forceAuth: boolean;
}

/** The mail server to connect to, and as whom. */
interface ServerSettings extends Pick<MailSettings, "development" | "publicUrl"> {
  readonly smtpUrl: string;
}

async function transportTo({ smtpUrl: url, development, publicUrl }: ServerSettings, verifying?: Verifying) {
  const { createTransport } = await nodemailer();
  const { connectMs } = LIMITS.mails;
  const requireTLS = !development && needsStartTls(url);
  const name = nameFor(publicUrl);
  return createTransport({
    url,
    ...(requireTLS && { requireTLS }),
    ...(name !== undefined && { name }),
    // Mail servers on this machine offer STARTTLS with a certificate that they made. What the URL says counts more.
    ...(isHere(new URL(url).hostname) && { tls: { rejectUnauthorized: false } }),
    dnsTimeout: connectMs,
    // With the greeting.
    connectionTimeout: connectMs,
    ...verifying,
    ...NO_EXTERNAL_CONTENT,
  });
}

/**
 * As whom the service greets mail servers, where the machine's name has no domain, as in containers: nodemailer would
 * say [127.0.0.1], to which some answer that they are busy, such as Google's relay.
 */
function nameFor(publicUrl: string | undefined): string | undefined {
  const host =
    publicUrl === undefined || machineName().includes(".") ? "" : new URL(publicUrl).hostname.replace(/\.$/, "");
  return host.includes(".") && isIP(host) === 0 ? host : undefined;
}

/** Loaded only where mails are sent. */
const nodemailer = () => import("nodemailer");

async function smtpMailer(server: ServerSettings, from: string): Promise<Mailer> {
  const transport = await transportTo(server);
  return {
    async send(message) {
      await withoutHurry((signal) => transport.sendMail({ ...asSent(message, from), signal }));
    },
  };
}

/**
 * Gives up after `sendMs`. A server may examine a mail before it answers, and whoever does not wait sends it again (RFC
 * 1047). In two halves: a process that was paused for longer than all of it still has time to go on.
 */
async function withoutHurry(send: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
  const end = new AbortController();
  const halfMs = LIMITS.mails.sendMs / 2;
  let cancel = whenLate(halfMs, () => (cancel = whenLate(halfMs, () => end.abort())));
  try {
    await send(end.signal);
  } finally {
    cancel();
  }
}

/** Writes mails to files, for development without a mail server. */
async function fileMailer(folder: string, from: string, log: Logger): Promise<Mailer> {
  const { createTransport } = await nodemailer();
  const transport = createTransport({ streamTransport: true, buffer: true, ...NO_EXTERNAL_CONTENT });
  return {
    async send(message) {
      const { message: bytes } = await transport.sendMail(asSent(message, from));
      if (!Buffer.isBuffer(bytes)) throw new Error("Nodemailer returned a stream instead of a buffer.");
      const file = resolve(folder, `${message.id}.txt`);
      await makeFolder(folder);
      // A mail contains tokens and codes that give access, so only the owner may read the file.
      await writeFile(resolve(folder, `${message.id}.eml`), bytes, { mode: 0o600 });
      // In the mail, long lines and links are broken; from this file they can be copied.
      await writeFile(file, message.text, { mode: 0o600 });
      log.info({ file }, "a mail was written to a file, since SMTP_URL is not set");
    },
  };
}

/** The text of a mail must never make nodemailer read a file or fetch a URL. */
const NO_EXTERNAL_CONTENT = { disableFileAccess: true, disableUrlAccess: true } as const;

const asSent = ({ to, subject, text, html, replyTo }: Message, from: string) => ({
  from,
  ...(replyTo === undefined ? {} : { replyTo: { name: "", address: replyTo } }),
  // An object is not parsed, so one address cannot become two.
  to: { name: "", address: to },
  subject,
  text,
  html,
  // Prevents automatic replies, such as out-of-office notes: RFC 3834, and Exchange's own header (MS-OXCMAIL).
  headers: { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "OOF, AutoReply" },
});
