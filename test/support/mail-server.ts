import { type ParsedMail, simpleParser } from "mailparser";
import { SMTPServer } from "smtp-server";
import { expect } from "vitest";
import { sendDueMails } from "../../src/features/mail/outbox.js";
import { createTeam } from "../../src/features/teams/create-team.js";
import { inviteMember } from "../../src/features/teams/invitations/invite-member.js";
import { createMailer } from "../../src/platform/mailer.js";
import type { World } from "./world.js";

/** A mail as its recipient reads it. */
export interface ReadMail extends Pick<ParsedMail, "subject" | "headers"> {
  readonly replyTo?: string | undefined;
  readonly from: string;
  readonly to: string;
  readonly text: string;
  readonly html: string;
}

interface Refusal {
  readonly code: number;
  readonly text: string;
}

/** An SMTP server that keeps the mails that it receives. */
export interface MailServer extends AsyncDisposable {
  readonly url: string;
  /** All mails received so far. */
  readonly mails: readonly ReadMail[];
  /** Waits for a mail to this address that no earlier call returned. */
  take(to: string): Promise<ReadMail>;
  /** Refuses mails to this address, as a server does that does not know it, or with this response. */
  refuseAddress(address: string, response?: Refusal): void;
  /** Refuses every further mail with this response; undefined accepts mails again. */
  refuse(answer: string | undefined): void;
  /** Accepts no connections until it is started again at the same address. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export const BOB = "bob@example.com";

/** A user creates a team and invites Bob as an admin. */
export async function inviteBob(world: World, { team = "Team" } = {}) {
  const owner = await world.user();
  const { id: teamId } = await owner.did(createTeam, { name: team, maxMembers: 9 });
  const invitation = await owner.did(inviteMember, { teamId, email: BOB, role: "admin" });
  return { owner, teamId, invitation };
}

export const expectNoneWaits = ({ database }: World) => expect.poll(() => database.models.mail.count()).toBe(0);

/** The variables of a service that sends its mails there. */
export const mailSettings = (smtpUrl: string) => ({
  SMTP_URL: smtpUrl,
  MAIL_FROM: "Memory Graph <mail@example.com>",
  PUBLIC_URL: "https://memory.example.com",
});

/** Sends all mails that are due to this server. */
export async function sendAll({ services, database }: World, smtpUrl: string): Promise<void> {
  const settings = { development: true, smtpUrl, mailFrom: "mail@example.com", dataDir: "" };
  const mailer = await createMailer(settings, services.log);
  if (!mailer) throw new Error("There is no mailer.");
  while (await sendDueMails({ ...services, database, mailer })) continue;
}

export async function startMailServer(): Promise<MailServer> {
  const mails: ReadMail[] = [];
  const taken = new Set<ReadMail>();
  let refusal: string | undefined;
  const refused = new Map<string, Refusal>();
  let port = 0;
  const make = () =>
    new SMTPServer({
      authOptional: true,
      disabledCommands: ["STARTTLS", "AUTH"],
      onRcptTo({ address }, _session, done) {
        const known = refused.get(address);
        done(known && Object.assign(new Error(known.text), { responseCode: known.code }));
      },
      onData(stream, _session, done) {
        simpleParser(stream, {}, (error: Error | null, mail: ParsedMail) => {
          if (refusal !== undefined) return done(Object.assign(new Error(refusal), { responseCode: 550 }));
          if (!error) mails.push(asRead(mail));
          done(error);
        });
      },
    });
  let server = make();
  const start = async () => {
    server = make();
    server.on("error", () => {});
    await new Promise<void>((ready) => void server.listen(port, "127.0.0.1", ready));
    port = (server.server.address() as { port: number }).port;
  };
  const stop = () => new Promise<void>((ended) => server.close(ended));
  await start();
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    async take(to) {
      for (let attempt = 0; attempt < 1_000; attempt++) {
        const mail = mails.find((known) => known.to === to && !taken.has(known));
        if (mail) {
          taken.add(mail);
          return mail;
        }
        await new Promise((done) => setTimeout(done, 10));
      }
      throw new Error(`No mail to ${to} arrived within 10 s.`);
    },
    refuseAddress: (address, response = { code: 550, text: "no such user here" }) =>
      void refused.set(address, response),
    refuse: (answer) => void (refusal = answer),
    stop,
    start,
    [Symbol.asyncDispose]: stop,
  };
}

const addressOf = (part: ParsedMail["from"] | ParsedMail["to"]): string => [part].flat()[0]?.text ?? "";

const asRead = ({ subject, headers, from, to, replyTo, text = "", html }: ParsedMail): ReadMail => ({
  replyTo: replyTo?.text,
  subject,
  headers,
  from: addressOf(from),
  to: addressOf(to),
  text,
  html: html || "",
});

/** The code, or the token of an invitation, that a mail contains. */
export const codeIn = ({ text }: ReadMail): string => /^ *(\d{8})$/m.exec(text)?.[1] ?? "";
export const tokenIn = ({ text }: Pick<ReadMail, "text">): string =>
  /\/invitations\/([\w-]{43})$/m.exec(text)?.[1] ?? "";
