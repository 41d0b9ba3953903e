import type { Config } from "../../config.js";
import { adviceForCertificate } from "../../platform/certificate-advice.js";
import { openDataFolder, variableOf } from "../../platform/data-folder.js";
import { onConnection } from "../../platform/database/one-connection.js";
import { verifyMailServer } from "../../platform/mailer.js";
import { minuteOf } from "../../wording.js";
import { CONNECTION, hasDatabase } from "./database.js";
import { Problem } from "./problem.js";

/** A server that accepts the connection may still refuse each mail, so this also looks at the mails that wait. */
export async function checkMail(config: Config): Promise<string | undefined> {
  const { smtpUrl } = config;
  if (smtpUrl === undefined) return undefined;
  const says = await connectToServer({ ...config, smtpUrl });
  // `database` reports a database that does not answer.
  const failing = hasDatabase(config) ? await readFailing(config).catch(() => undefined) : undefined;
  if (!failing?.since) return says;
  const why = failing.error === null ? "" : `, with errors such as: ${failing.error.trim().replace(/\.$/, "")}`;
  throw new Problem(
    `${says} But mails wait after failed tries: ${failing.count}, the oldest since ${minuteOf(failing.since)}${why}. ` +
      "`npm run mail -- list` shows them all.",
  );
}

async function connectToServer(config: Config & { readonly smtpUrl: string }): Promise<string> {
  try {
    const { lacksUser } = await verifyMailServer(config);
    const hint = lacksUser
      ? " It lets clients sign in, and SMTP_URL has no user: it may refuse mails without one."
      : "";
    return `The mail server accepts the connection; mails come from ${config.mailFrom}.${hint}`;
  } catch (error) {
    const { message, code } = error as { message: string; code?: string };
    const said = message.trim().replace(ANSWER, ": ").replace(/\.$/, "");
    throw new Problem(`The mail server cannot be used: ${said}. ${mailAdvice(said, code)}`);
  }
}

interface Failing {
  readonly count: number;
  /** Null if no mail is failing. */
  readonly since: Date | null;
  /** One of them; null while each is tried again. */
  readonly error: string | null;
}

/** By then, the second try has failed. */
const FAILING = `
  SELECT count(*)::int AS count, min(created_at) AS since,
         (array_agg(last_error ORDER BY created_at) FILTER (WHERE last_error IS NOT NULL))[1] AS error
  FROM mail WHERE attempts > 1 AND created_at < now() - interval '1 minute'`;

async function readFailing(config: Config): Promise<Failing | undefined> {
  await using dataFolder = await openDataFolder(config);
  const address = { url: dataFolder.databaseUrl, variable: variableOf(config) };
  return onConnection(address, CONNECTION, async (client) => (await client.query<Failing>(FAILING)).rows[0]);
}

/** Nodemailer repeats an answer that is no greeting. */
const ANSWER = /\. response=(.*): (?=\1$)/s;

/** What to do about an error of nodemailer. */
function mailAdvice(message: string, code: string | undefined): string {
  if (code === "EAUTH") {
    // So Gmail answers to many connections, and SendGrid to an account without credits.
    return /^Invalid login: 4\d\d/.test(message)
      ? "It lets nobody sign in for now: wait, and look there at the limits of the account. Mails wait meanwhile."
      : "Correct user and password in SMTP_URL: some hosts want one made for programs, or the leave to sign in by SMTP.";
  }
  const advice = adviceForCertificate(message, "SMTP_URL");
  if (advice !== undefined) {
    return `${advice} In your own network, \`?tls.rejectUnauthorized=false\` at the end accepts any certificate.`;
  }
  if (/^Invalid greeting: [45]\d\d/.test(message)) {
    return "It refuses this machine: look at its log, or ask who runs it.";
  }
  if (/^Invalid greeting/.test(message)) {
    return "It is no server for sending mails, which speaks SMTP: correct host and port in SMTP_URL.";
  }
  if (/^Greeting never received/.test(message)) {
    return (
      "It may wait for TLS: for port 465 begin SMTP_URL with `smtps:`. Otherwise check SMTP_URL, and that it is a " +
      "mail server."
    );
  }
  if (code !== "ETLS" && !/:SSL routines:/.test(message)) return "Check SMTP_URL, and that this machine may reach it.";
  return (
    "It does not offer the TLS that SMTP_URL asks for: `smtps:` is for port 465, `smtp:` for port 587. In your own " +
    "network, `?requireTLS=false` at the end sends mails without TLS."
  );
}
