import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { readFile, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { SMTPServer } from "smtp-server";
import { expect, it, onTestFinished } from "vitest";
import { readConfig } from "../../src/config.js";
import { inviteMember } from "../../src/features/teams/invitations/invite-member.js";
import { teamInvitations } from "../../src/features/teams/invitations/list-invitations.js";
import { resendInvitation } from "../../src/features/teams/invitations/resend-invitation.js";
import { revokeInvitation } from "../../src/features/teams/invitations/revoke-invitation.js";
import { claimDueMails } from "../../src/features/mail/mail-statements.js";
import { queueNotice } from "../../src/operation/notice.js";
import { LIMITS } from "../../src/limits.js";
import { needsStartTls, verifyMailServer } from "../../src/platform/mailer.js";
import { retryMails } from "../../src/features/mail/index.js";
import { sendDueMails } from "../../src/features/mail/outbox.js";
import { program } from "../../src/commands/mail.js";
import { runHere } from "../support/commands.js";
import { ask } from "../support/http.js";
import { BOB, codeIn, expectNoneWaits, inviteBob, mailSettings, startMailServer } from "../support/mail-server.js";
import { useLimits } from "../support/limits.js";
import { type World, createWorld } from "../support/world.js";

useLimits("mails", { lookedEveryMs: 50 });

it("keeps mails while the mail server is down, and sends them later", async () => {
  await using world = await createWorld();
  await using smtp = await startMailServer();
  await smtp.stop();
  const { url } = await world.serve(mailSettings(smtp.url));
  const { status } = await ask(`${url}/signup`, { body: { email: BOB } });
  await expect.poll(() => errorsOfMails(world)).toEqual([expect.stringContaining("ECONNREFUSED")]);

  await smtp.start();
  await retryNow(world);

  expect(status).toBe(202);
  expect(codeIn(await smtp.take(BOB))).toHaveLength(8);
  await expectNoneWaits(world);
  expect(world.bugs).toEqual([]);
});

it("logs an outage of the mail server once a minute, with how many mails wait", async () => {
  await using world = await createWorld();
  await using smtp = await startMailServer();
  await smtp.stop();
  const email = (n: number) => `p${n}@example.com`;
  const { mail } = world.database.models;
  await mail.createMany({
    data: Array.from({ length: 12 }, (_, n) => ({ id: world.services.newId(), kind: "sign_up", email: email(n) })),
  });
  const { metricsUrl } = await world.serve({ ...mailSettings(smtp.url), METRICS_PORT: "0" });
  await expect.poll(() => mail.count({ where: { lastError: { not: null } } })).toBe(12);
  await retryMails(world.database, undefined);
  const lines = () => world.log.map((line) => JSON.parse(line) as Record<string, unknown>).filter(isOfMail);
  await expect.poll(() => lines().length).toBeGreaterThanOrEqual(24);

  expect((await mailsBy(metricsUrl))["retried"]).toBeGreaterThanOrEqual(24);
  expect(lines().filter(isWarning)).toMatchObject([{ level: "warn", waiting: 12, code: expect.any(String) as string }]);
});

const isOfMail = (line: Record<string, unknown>): boolean => line["mail_id"] !== undefined;
const isWarning = ({ level }: Record<string, unknown>): boolean => level === "warn";

it("sends each mail once, with any number of servers", async () => {
  await using world = await createWorld();
  await using smtp = await startMailServer();
  for (let n = 0; n < 3; n++) await world.serve(mailSettings(smtp.url));
  const mails = Array.from({ length: 40 }, (_, n) => ({
    id: world.services.newId(),
    kind: "sign_up",
    email: `p${n}@example.com`,
  }));
  await world.database.models.mail.createMany({ data: mails });

  await expectNoneWaits(world);

  expect(smtp.mails.map(({ to }) => to).sort()).toEqual(mails.map(({ email }) => email).sort());
});

it("retries a refused mail with longer waits, logs the reason, gives up after a day, and tells the inviter", async () => {
  await using world = await createWorld();
  await using smtp = await startMailServer();
  smtp.refuse("no such user here");
  const { owner, invitation } = await inviteBob(world);
  // No process sent mails until now.
  await world.database.pool.query("UPDATE mail SET created_at = now() - interval '6 days'");
  const { metricsUrl } = await world.serve({ ...mailSettings(smtp.url), METRICS_PORT: "0" });
  const { mail } = world.database.models;
  const hurry = (attempts?: number) => mail.updateMany({ data: { dueAt: new Date(), ...(attempts && { attempts }) } });
  const waits: number[] = [];
  for (let attempt = 1; attempt <= 3; attempt++) {
    waits.push(await waitAfter(world, attempt));
    if (attempt < 3) await hurry();
  }

  const listed = await command(world, "list", "--json");
  const [failed] = await mail.findMany();
  // While it is being sent, it has no error, and must not be sent twice.
  await mail.updateMany({ data: { lastError: null } });
  expect(await command(world, "retry", "--json")).toEqual({ ids: [] });
  await mail.updateMany({ data: { lastError: failed?.lastError ?? null } });
  // However often it was tried, it is as if it were new.
  const retriedIds = await command(world, "retry", "--json");
  const waitOfNew = await waitAfter(world, 1);
  // Ten waits take 85 minutes, each later one an hour: the attempts 33 and 34 are 23.4 and 24.4 hours after the first.
  await hurry(32);
  const longestWait = await waitAfter(world, 33);
  smtp.refuse(undefined);
  smtp.refuseAddress(BOB, { code: 451, text: "try again later" });
  await hurry();
  const told = await smtp.take(owner.email);
  await expectNoneWaits(world);

  // Counted, and logged, a moment after it was deleted.
  await expect.poll(() => mailsBy(metricsUrl)).toEqual({ sent: 1, retried: 5, refused: 0, given_up: 1 });
  expect(told.subject).toBe(`Your invitation to ${BOB} could not be delivered`);
  expect(told.text).toContain(
    `For 24 hours no mail server took the mail to ${BOB}, so your invitation did not arrive.`,
  );
  const { invitations } = await owner.did(teamInvitations, { teamId: invitation.teamId });
  expect(invitations).toMatchObject([{ status: "pending", bouncedAt: expect.any(Date) as Date }]);
  expect(waitOfNew).toBeLessThanOrEqual(5);
  expect([longestWait > 3_590, longestWait <= 3_600]).toEqual([true, true]);
  expect(waits.map((seconds, n) => seconds > 5 * 2 ** n - 4 && seconds <= 5 * 2 ** n)).toEqual([true, true, true]);
  const { mails } = listed as { mails: Array<{ id: string }> };
  expect(mails).toMatchObject([
    { kind: "invitation", email: BOB, attempts: 3, last_error: expect.stringContaining("550") },
  ]);
  expect(retriedIds).toEqual({ ids: [mails[0]?.id] });
  expect(world.bugs).toMatchObject([{ domain: "example.com", attempts: 34, responseCode: 451 }]);
  expect(world.log.join("\n")).not.toContain(BOB);
});

it("retries a mail that is requested again as if it were new", async () => {
  await using world = await createWorld();
  await using smtp = await startMailServer();
  smtp.refuse("come back later");
  const { owner, teamId, invitation } = await inviteBob(world);
  const { mail } = world.database.models;
  await mail.updateMany({ data: { attempts: 33, lastError: "550", dueAt: new Date(Date.now() + 3_600_000) } });
  await owner.did(resendInvitation, { teamId, invitationId: invitation.id });

  await world.serve(mailSettings(smtp.url));

  expect(await waitAfter(world, 1)).toBeLessThanOrEqual(5);
});

it("leaves a mail as it is that was withdrawn, or requested again, while the mail server refused it", async () => {
  await using world = await createWorld();
  const { owner, teamId, invitation } = await inviteBob(world);
  const { mail } = world.database.models;
  const sendUntil = (change: () => Promise<unknown>) => {
    const send = () => change().then(() => Promise.reject(new Error("refused")));
    return sendDueMails({ ...world.services, mailer: { send } });
  };

  await sendUntil(() => owner.did(resendInvitation, { teamId, invitationId: invitation.id }));
  expect(await mail.findMany()).toMatchObject([{ attempts: 0, lastError: null }]);
  await sendUntil(() => mail.deleteMany());

  expect(world.bugs).toEqual([]);
  expect(world.log.join("")).not.toContain("a mail could not be sent");
});

it("keeps the beginning of what a mail server says, however much it is", async () => {
  await using world = await createWorld();
  await queueNotice(world.database, { id: world.services.newId(), email: BOB, subject: "A notice", body: "A text." });
  const send = () => Promise.reject(new Error("refused ".repeat(10_000)));

  await sendDueMails({ ...world.services, mailer: { send } });

  const [error = ""] = await errorsOfMails(world);
  expect(error).toMatch(/^(refused )+/);
  expect(error?.length).toBeLessThanOrEqual(1_000);
});

it.each([
  { code: 550, text: "5.1.1 no such user here" },
  { code: 554, text: "This user has no mailbox" },
  { code: 550, text: "<bob@relay.example.com> is not known here" },
  { code: 550, text: `5.1.1 <${BOB}>: Recipient address rejected: User unknown in relay recipient table` },
  { code: 550, text: "5.7.1 No such user!" },
  { code: 550, text: "x".repeat(200_000) },
  { code: 550, text: "undeliverable address: host relay.example.com said: 550 User unknown" },
  { code: 550, text: "5.4.1 Recipient address rejected: Access denied" },
  { code: 550, text: "mailbox unavailable. For explanation visit https://example.com/sender-policy" },
  { code: 552, text: "5.2.2 The mailbox is full: it has exceeded its quota" },
])("gives up at once if the mail server refuses the address with $code, and tells the inviter", async (refusal) => {
  await using world = await createWorld();
  await using smtp = await startMailServer();
  smtp.refuseAddress(BOB, refusal);
  const { owner, invitation } = await inviteBob(world, { team: "www.evil.example" });
  const { metricsUrl } = await world.serve({ ...mailSettings(smtp.url), METRICS_PORT: "0" });

  const told = await smtp.take(owner.email);
  await expectNoneWaits(world);

  await expect.poll(() => mailsBy(metricsUrl)).toEqual({ sent: 1, retried: 0, refused: 1, given_up: 0 });
  expect(told.subject).toBe(`Your invitation to ${BOB} could not be delivered`);
  expect(told.text).toContain("so your invitation did not arrive");
  expect(told.text).toMatch(/send the mail again, here:\n\n\S+\/account$/m);
  expect(told.html).toMatch(/<a href="[^"]+\/account"/);
  expect(told.text).not.toContain("evil.example");
  const { invitations } = await owner.did(teamInvitations, { teamId: invitation.teamId });
  expect(invitations).toMatchObject([{ status: "pending", bouncedAt: expect.any(Date) as Date }]);
  expect(smtp.mails.map(({ to }) => to)).toEqual([owner.email]);
  expect(world.bugs).toEqual([]);
});

it.each([
  { by: "Postfix", code: 554, text: `5.7.1 <${BOB}>: Relay access denied` },
  { by: "sendmail", code: 550, text: "5.7.1 Relaying denied" },
  { by: "qmail", code: 553, text: "sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)" },
  { by: "Exim", code: 550, text: "relay not permitted" },
  { by: "Exim, naming the address,", code: 550, text: `<${BOB}>: relay not permitted` },
  { by: "Postfix, because of the sender,", code: 550, text: "5.1.8 <mail@example.com>: Sender address rejected" },
  { by: "Postfix, which knows no such sender,", code: 550, text: "5.1.0 <mail@example.com>: Sender address rejected" },
  { by: "Postfix, whose tables lack the sender,", code: 550, text: "5.1.0 Sender address rejected: User unknown" },
  { by: "Stalwart", code: 550, text: "5.1.2 Relay not allowed." },
  { by: "a server that wants a password", code: 530, text: "Authentication required" },
  { by: "Gmail, since the account has sent too much,", code: 550, text: "5.4.5 Daily user sending quota exceeded" },
  { by: "Zoho, since the account has sent too much,", code: 550, text: "5.4.6 Unusual sending activity detected" },
  { by: "Microsoft 365, since the account has sent too much,", code: 550, text: "5.1.90 You have reached your limit" },
  { by: "Microsoft 365, after many errors,", code: 550, text: "5.2.251 Sender throttled due to mailbox full errors" },
  { by: "Titan, after many errors,", code: 550, text: "5.4.6 Hourly Bounce Limit Exceeded - [bounces=7]" },
  { by: "IONOS, since the account has sent too much,", code: 550, text: "mailbox unavailable. Try again later" },
  { by: "cPanel, since the account has sent too much,", code: 550, text: "Domain exceeded the max emails per hour" },
  { by: "a server with a list of spammers", code: 554, text: "Service unavailable; blocked using zen.spamhaus.org" },
])("retries a mail that $by does not take: that says nothing about the address", async ({ code, text }) => {
  await using world = await createWorld();
  await using smtp = await startMailServer();
  smtp.refuseAddress(BOB, { code, text });
  const { owner, invitation } = await inviteBob(world);
  const { metricsUrl } = await world.serve({ ...mailSettings(smtp.url), METRICS_PORT: "0" });

  const waiting = () => world.database.models.mail.findFirst();
  await expect.poll(waiting).toMatchObject({ attempts: 1, lastError: expect.stringContaining(text) as string });

  await expect.poll(() => mailsBy(metricsUrl)).toEqual({ sent: 0, retried: 1, refused: 0, given_up: 0 });
  const { invitations } = await owner.did(teamInvitations, { teamId: invitation.teamId });
  expect(invitations).toMatchObject([{ status: "pending", bouncedAt: null }]);
});

it("retries a code at least every minute, one code at a time, until it would have expired", async () => {
  await using world = await createWorld();
  await using smtp = await startMailServer();
  smtp.refuse("come back later");
  const { url } = await world.serve(mailSettings(smtp.url));
  await ask(`${url}/signup`, { body: { email: BOB } });
  await waitAfter(world, 1);
  await world.database.pool.query(
    "UPDATE mail SET attempts = 9, due_at = now() - interval '1 second', last_error = NULL",
  );
  const wait = await waitAfter(world, 10);
  const codes = await world.database.models.signUpCode.count();
  await ask(`${url}/signup`, { body: { email: "carol@example.com" } });
  await world.database.pool.query("UPDATE mail SET created_at = now() - interval '15 minutes' WHERE email = $1", [BOB]);
  smtp.refuse(undefined);
  await retryNow(world);
  await expectNoneWaits(world);

  expect(wait).toBeGreaterThan(50);
  expect(wait).toBeLessThanOrEqual(60);
  expect(codes).toBe(1);
  expect(smtp.mails.map(({ to }) => to)).toEqual(["carol@example.com"]);
});

/** How many seconds a mail waits after its n-th attempt was refused. */
async function waitAfter({ database }: World, attempts: number): Promise<number> {
  const failed = { attempts, lastError: expect.stringContaining("550") };
  await expect.poll(() => database.models.mail.findFirst()).toMatchObject(failed);
  const { rows } = await database.pool.query<{ seconds: number }>(
    "SELECT extract(epoch FROM due_at - now())::float AS seconds FROM mail",
  );
  return rows[0]?.seconds ?? 0;
}

it("sends no mail for an invitation that is no longer pending", async () => {
  await using world = await createWorld();
  await using smtp = await startMailServer();
  const { owner, teamId, invitation } = await inviteBob(world);
  await owner.did(revokeInvitation, { teamId, invitationId: invitation.id });
  const { id: pendingId } = await owner.did(inviteMember, { teamId, email: "dora@example.com", role: "member" });

  await world.serve(mailSettings(smtp.url));
  await expectNoneWaits(world);

  expect(smtp.mails.map(({ to }) => to)).toEqual(["dora@example.com"]);
  const tokens = await world.database.models.invitationToken.findMany();
  expect(tokens.map(({ invitationId }) => invitationId)).toEqual([pendingId]);
});

it("writes mails to files in development without a mail server", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  await ask(`${url}/signup`, { body: { email: BOB } });
  await expectNoneWaits(world);

  const line = world.log.map((text) => JSON.parse(text) as { file?: string }).find(({ file }) => file !== undefined);
  const file = line?.file ?? "";
  expect(await readFile(file, "utf8")).toMatch(/^ {4}\d{8}$/m);
  const mail = file.replace(/txt$/, "eml");
  expect(await readFile(mail, "utf8")).toContain(`To: ${BOB}`);
  // Only the owner may read them: they contain codes.
  for (const secret of [file, mail]) expect(((await stat(secret)).mode & 0o777).toString(8)).toBe("600");
  expect(await readdir(join(file, ".."))).toHaveLength(2);
});

it("keeps mails in production without a mail server, and warns", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({ NODE_ENV: "production" });
  expect((await ask(`${url}/signup`, { body: { email: BOB } })).status).toBe(202);
  expect(world.log.some((line) => line.includes('"warn"') && line.includes("SMTP_URL is not set"))).toBe(true);
  expect(await world.database.models.mail.count()).toBe(1);
});

it("deletes expired and week-old mails in production without a mail server", async () => {
  await using world = await createWorld();
  const { owner, teamId } = await inviteBob(world);
  const invite = async (name: string) => {
    const { id } = await owner.did(inviteMember, { teamId, email: `${name}@example.com`, role: "member" });
    return id;
  };
  await owner.did(revokeInvitation, { teamId, invitationId: await invite("revoked") });
  const [expired, old, young] = [await invite("expired"), await invite("old"), await invite("young")];
  const { mail, invitation } = world.database.models;
  const ago = (milliseconds: number) => new Date(Date.now() - milliseconds);
  await invitation.update({ where: { id: expired }, data: { createdAt: ago(2), expiresAt: ago(1) } });
  await mail.updateMany({ where: { invitationId: old }, data: { createdAt: ago(7 * 86_400_000) } });
  await mail.updateMany({ where: { invitationId: young }, data: { createdAt: ago(7 * 86_400_000 - 600_000) } });
  for (const [name, minutes] of [
    ["late", 15],
    ["fresh", 14],
  ] as const) {
    const email = `${name}@example.com`;
    await mail.create({
      data: { id: world.services.newId(), kind: "sign_up", email, createdAt: ago(minutes * 60_000) },
    });
  }

  await world.serve({ NODE_ENV: "production" });

  const waiting = async () => (await mail.findMany()).map(({ email }) => email.split("@")[0]).sort();
  await expect.poll(waiting).toEqual(["bob", "fresh", "young"]);
});

it.each([
  ["smtp://mail.example.com", true],
  ["smtp://10.0.0.1:25", true],
  ["smtp://localhost.example.com", true],
  ["smtp://user:password@mail.example.com:587?requireTLS=true", true],
  ["smtp://localhost?requireTLS=true", true],
  ["smtp://relay.internal?requireTLS=false", false],
  ["smtp://localhost:25", false],
  ["smtps://mail.example.com", false],
  ["smtp://127.0.0.1", false],
  ["smtp://[::1]:2525", false],
])("requires TLS in production for %s: %s", (url, needed) => {
  expect(needsStartTls(url)).toBe(needed);
});

it("accepts the certificate that a mail server on this machine made for itself, unless SMTP_URL says otherwise", async () => {
  const server = new SMTPServer({ authOptional: true });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => server.close());
  const url = `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}?requireTLS=true`;
  const verify = (setting: string) => verifyMailServer({ smtpUrl: `${url}${setting}`, development: false });

  await expect(verify("")).resolves.toEqual({ lacksUser: true });
  await expect(verify("&tls.rejectUnauthorized=true")).rejects.toThrow(/certificate/);
});

it("refuses to send mails without TLS in production, unless configured, and logs why", async () => {
  await using world = await createWorld();
  await using smtp = await startMailServer();
  await inviteBob(world);
  // An address of this machine that does not count as local.
  const url = smtp.url.replace("127.0.0.1", "0.0.0.0");
  const server = await world.serve({ ...mailSettings(url), NODE_ENV: "production" });
  await expect.poll(() => errorsOfMails(world)).toEqual([expect.stringMatching(/STARTTLS/)]);
  await server[Symbol.asyncDispose]();
  expect(smtp.mails).toHaveLength(0);

  await world.serve({ ...mailSettings(`${url}?requireTLS=false`), NODE_ENV: "production" });
  await retryNow(world);
  await expectNoneWaits(world);

  expect(smtp.mails).toHaveLength(1);
});

it.each([
  [{ SMTP_URL: "http://mail.example.com" }, "SMTP_URL must be a URL that begins with smtp:// or smtps://"],
  [{ SMTP_URL: "smtp:mail" }, "SMTP_URL must be a URL"],
  [{ SMTP_URL: "smtp://mail.example.com", NODE_ENV: "production" }, "MAIL_FROM must be set"],
  [{ SMTP_URL: "smtp://mail.example.com", NODE_ENV: "production" }, "PUBLIC_URL must be set"],
  [{ RETENTION_MAILS_DAYS: "0" }, "RETENTION_MAILS_DAYS must be a whole number from 1 to 36500"],
  [{ MAIL_FROM: "somebody" }, "MAIL_FROM must be an address"],
  [{ MAIL_FROM: "a@example.com, b@example.com" }, "MAIL_FROM must be an address"],
])("refuses to start with %j", (environment, problem) => {
  expect(() => readConfig(environment)).toThrow(problem);
});

it("sends no mail that another process is claiming, and does not wait for it", async () => {
  await using world = await createWorld();
  const { pool } = world.database;
  for (const email of ["ann@example.com", BOB]) {
    await queueNotice(world.database, { id: world.services.newId(), email, subject: "A notice", body: "A text." });
  }
  const other = await pool.connect();
  await other.query("BEGIN");
  await other.query("SELECT FROM mail WHERE email <> $1 FOR UPDATE", [BOB]);

  expect(await world.database.run(claimDueMails, {})).toMatchObject([{ email: BOB }]);
  await other.query("COMMIT");
  other.release();
});

it("sends those mails first that have been due for longest", async () => {
  await using world = await createWorld();
  const { batch } = LIMITS.mails;
  const queued = Array.from({ length: 2 * batch }, (_, n) => n);
  await world.database.models.mail.createMany({
    data: queued.map((n) => ({
      id: world.services.newId(),
      kind: "notice",
      email: `${n}@example.com`,
      subject: "A notice",
      body: "A text.",
      dueAt: new Date(Date.now() - 1_000 * n),
    })),
  });

  const claimed = await world.database.run(claimDueMails, {});

  const earliest = queued.slice(batch).map((n) => `${n}@example.com`);
  expect(claimed.map(({ email }) => email).sort()).toEqual(earliest.sort());
});

it("sends codes first, for which people wait, however many other mails are due", async () => {
  await using world = await createWorld();
  for (let count = 0; count < LIMITS.mails.batch; count++) {
    await queueNotice(world.database, { id: world.services.newId(), email: BOB, subject: "A notice", body: "A text." });
  }
  await world.database.models.mail.create({ data: { id: world.services.newId(), kind: "sign_up", email: BOB } });
  const kinds = async () => (await world.database.run(claimDueMails, {})).map(({ kind }) => kind).sort();

  expect(await kinds()).toEqual([...Array.from({ length: LIMITS.mails.batch - 1 }, () => "notice"), "sign_up"]);
  expect(await kinds()).toEqual(["notice"]);
});

it("sends other mails, too, however many codes strangers have requested", async () => {
  await using world = await createWorld();
  const { batch, codesOfBatch } = LIMITS.mails;
  const asked = Array.from({ length: 2 * batch }, (_, n) => {
    return { id: world.services.newId(), kind: "sign_up" as const, email: `${n}@example.com` };
  });
  await world.database.models.mail.createMany({ data: asked });
  await queueNotice(world.database, { id: world.services.newId(), email: BOB, subject: "A notice", body: "A text." });
  const kinds = async () => (await world.database.run(claimDueMails, {})).map(({ kind }) => kind).sort();

  expect(await kinds()).toEqual(["notice", ...Array(codesOfBatch).fill("sign_up")]);
  // The next batch follows at once, as long as this one has as many codes as it may.
  const sent: string[] = [];
  const mailer = { send: async ({ to }: { to: string }) => void sent.push(to), close() {} };
  const runs = [await sendDueMails({ ...world.services, mailer }), await sendDueMails({ ...world.services, mailer })];
  expect([sent.length, ...runs]).toEqual([2 * batch - codesOfBatch, true, false]);
});

it("leaves a mail of a kind that only a newer server knows to that server", async () => {
  await using world = await createWorld();
  const { models, pool } = world.database;
  await pool.query("ALTER TABLE mail DROP CONSTRAINT mail_kind_check");
  await models.mail.create({ data: { id: world.services.newId(), kind: "newer", email: BOB } });
  await queueNotice(world.database, { id: world.services.newId(), email: BOB, subject: "A notice", body: "A text." });
  const mailer = { send: async () => {}, close() {} };

  await sendDueMails({ ...world.services, mailer });

  expect(await models.mail.findMany()).toMatchObject([{ kind: "newer", attempts: 0 }]);
});

it("keeps a mail from other processes for as long as sending it may take", async () => {
  await using world = await createWorld();
  await queueNotice(world.database, { id: world.services.newId(), email: BOB, subject: "A notice", body: "A text." });
  expect(await world.database.run(claimDueMails, {})).toHaveLength(1);

  await world.database.pool.query("UPDATE mail SET due_at = due_at - $1 * interval '1 ms'", [LIMITS.mails.sendMs]);

  expect(await world.database.run(claimDueMails, {})).toEqual([]);
});

it("claims a mail in the millisecond in which it was queued", async () => {
  await using world = await createWorld();
  const claimed = [];
  for (let times = 0; times < 8; times++) {
    const mails = await world.database.transaction(async (database) => {
      await queueNotice(database, { id: world.services.newId(), email: BOB, subject: "A notice", body: "A text." });
      // In a transaction the database's clock stands still.
      return database.run(claimDueMails, {});
    });
    claimed.push(mails.length);
  }

  expect(claimed).toEqual(claimed.map(() => 1));
});

it("ends a run only when all of its mails have ended, even if one of them fails", async () => {
  await using world = await createWorld();
  const { pool } = world.database;
  for (const email of ["ann@example.com", BOB]) {
    await queueNotice(world.database, { id: world.services.newId(), email, subject: "A notice", body: "A text." });
  }
  // What fails is the database, not the mail server.
  await pool.query("CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'kept'; END $$");
  await pool.query(
    `CREATE TRIGGER kept BEFORE DELETE ON mail FOR EACH ROW WHEN (OLD.email <> '${BOB}') EXECUTE FUNCTION keep()`,
  );
  const ended: string[] = [];
  const mailer = {
    async send({ to }: { readonly to: string }) {
      if (to !== BOB) return;
      // Longer than the failure takes.
      for (let trip = 0; trip < 50; trip++) await pool.query("SELECT 1");
      ended.push("Bob's mail");
    },
  };

  const run = sendDueMails({ ...world.services, mailer }).finally(() => ended.push("the run"));

  await expect(run).rejects.toThrow("kept");
  expect(ended).toEqual(["Bob's mail", "the run"]);
  expect((await world.database.models.mail.findMany()).map(({ email }) => email)).toEqual(["ann@example.com"]);
});

it("lists mails that wait, the oldest first, with the reasons, and retries the one that is named", async () => {
  await using world = await createWorld();
  const { mail } = world.database.models;
  const ids = Array.from({ length: 5 }, () => world.services.newId());
  const [past, later] = [new Date("2020-01-02T03:04:05Z"), new Date("2100-01-02T03:04:05Z")];
  await mail.createMany({
    data: ids.map((id, n) => ({
      id,
      kind: "sign_up",
      email: `p${n}@example.com`,
      attempts: n,
      dueAt: n === 4 ? past : later,
      // The first is new, the last but one is just being sent again, and the process that was sending the last one ended.
      lastError: [1, 2].includes(n) ? `550 No, ${n}` : null,
      createdAt: new Date(Date.now() - 1_000 * n),
    })),
  });

  const listed = await inWords(world, "list");
  const retried = await command(world, "retry", ids[1] ?? "", "--json");
  const mails = await mail.findMany({ orderBy: { id: "asc" } });
  const all = await inWords(world, "retry");

  const rows = [4, 3, 2, 1, 0].map((n) => {
    const next = n === 3 ? "being sent          " : `${n === 4 ? 2020 : 2100}-01-02 03:04 UTC`;
    return `${ids[n]}  sign-up  ${n}      ${next}  p${n}@example.com\n`;
  });
  const reasons = [2, 1].map((n) => `${ids[n]}  550 No, ${n}\n`);
  expect(listed.replace(/^MAIL .* TO$/m, "1").replace(/^MAIL .* FAILED$/m, "2")).toBe(
    `1\n${rows.join("")}\n2\n${reasons.join("")}`,
  );
  expect(retried).toEqual({ ids: [ids[1]] });
  expect(mails.map(({ attempts, dueAt }) => [attempts, dueAt < later])).toEqual([
    [0, false],
    [0, true],
    [2, false],
    [3, false],
    [4, true],
  ]);
  expect(all).toBe("Mails that are retried now: 2.\n");
  await mail.deleteMany();
  expect(await inWords(world, "list")).toBe("No mails are waiting.\n");
});

it("says how many more mails wait than it lists, and how to list them", async () => {
  await using world = await createWorld();
  const { mail } = world.database.models;
  const data = Array.from({ length: 1_003 }, (_, n) => ({ kind: "sign_up", email: `p${n}@example.com` }));
  await mail.createMany({ data: data.map((one) => ({ ...one, id: world.services.newId() })) });

  const listed = await inWords(world, "list");
  const two = (await command(world, "list", "--limit", "2", "--json")) as { mails: object[]; total: number };
  const all = await inWords(world, "list", "--limit", "1003");

  expect(listed).toMatch(/^MAIL .*\n(.*@example\.com\n){1000}\n3 more wait: --limit 1003 lists all\.\n$/);
  expect([two.mails.length, two.total]).toEqual([2, 1_003]);
  expect(all).toMatch(/^MAIL .*\n(.*@example\.com\n){1003}$/);
});

it("retries very many mails by short statements, so that no server waits long for one that it has claimed", async () => {
  await using world = await createWorld();
  const { mail } = world.database.models;
  const ids = Array.from({ length: 1_003 }, () => world.services.newId()).sort();
  const data = ids.map((id, n) => ({ id, kind: "sign_up", email: `p${n}@example.com`, lastError: "550 No" }));
  await mail.createMany({ data: data.map((one) => ({ ...one, attempts: 1 })) });
  const holder = await world.database.pool.connect();
  onTestFinished(() => holder.release());
  await holder.query("BEGIN");
  await holder.query("SELECT FROM mail WHERE id = $1 FOR UPDATE", [ids.at(-1)]);

  await expect(retryMails(world.database, undefined)).rejects.toThrow("lock timeout");

  expect(await mail.count({ where: { attempts: 0 } })).toBe(1_000);
  await holder.query("ROLLBACK");
  expect(await retryMails(world.database, undefined)).toEqual(ids);
});

/** How many mails the metrics count, by outcome. */
async function mailsBy(metricsUrl: string | undefined): Promise<Record<string, number>> {
  const text = String((await ask(metricsUrl ?? "")).body);
  const series = text.matchAll(/^memory_graph_mails_total\{outcome="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries(Array.from(series, ([, outcome = "", count]) => [outcome, Number(count)]));
}

async function errorsOfMails({ database }: World): Promise<Array<string | null>> {
  return (await database.models.mail.findMany()).map(({ lastError }) => lastError);
}

const retryNow = (world: World) => command(world, "retry", "--json");

const command = async (world: World, ...words: readonly string[]): Promise<unknown> =>
  JSON.parse(await inWords(world, ...words));

const inWords = async ({ databaseUrl }: World, ...words: readonly string[]): Promise<string> =>
  (await runHere(program, words, { DATABASE_URL: databaseUrl })).output;
