import { expect, it } from "vitest";
import { isCodeRight } from "../../src/features/access/sign-up-code.js";
import { LIMITS } from "../../src/limits.js";
import { CLAIM_MS, claimDueMails } from "../../src/features/mail/mail-statements.js";
import { sendDueMails } from "../../src/features/mail/outbox.js";
import { resendInvitation } from "../../src/features/teams/invitations/resend-invitation.js";
import { queueNotice } from "../../src/operation/notice.js";
import { BOB, codeIn, inviteBob, sendAll, startMailServer } from "../support/mail-server.js";
import { onceAfter } from "../support/statements.js";
import { type World, createWorld } from "../support/world.js";

/** Queues a mail to Bob. */
const QUEUED: Readonly<Record<string, (world: World) => Promise<unknown>>> = {
  "an invitation": inviteBob,
  "a notice": ({ database, services }) =>
    queueNotice(database, { id: services.newId(), email: BOB, subject: "A notice", body: "A text." }),
  "a code": ({ database, services }) =>
    database.models.mail.create({ data: { id: services.newId(), kind: "sign_up", email: BOB } }),
};

/** The statements after which a process has claimed a mail and has not sent it. */
const STEPS = ["claim_due_mails", "database_clock"];
const pauses = Object.keys(QUEUED).flatMap((what) => STEPS.map((step) => [what, step] as const));

it.each(pauses)("sends %s once, if a process pauses after %s until another one has sent it", async (what, step) => {
  await using world = await createWorld();
  await using smtp = await startMailServer();
  await QUEUED[what]?.(world);
  const { mail } = world.database.models;
  const waiting: number[] = [];
  onceAfter(world, step, async () => {
    // Its claim ends during the pause.
    await mail.updateMany({ data: { dueAt: new Date(0) } });
    await sendAll(world, smtp.url);
    waiting.push(await mail.count());
  });

  await sendAll(world, smtp.url);

  expect(waiting).toEqual([0]);
  expect(smtp.mails.map(({ to }) => to)).toEqual([BOB]);
  const code = codeIn(await smtp.take(BOB));
  expect(await isCodeRight(world.database, BOB, code, "Bob's network")).toBe(what === "a code");
});

it.each([
  ["cannot take it now", { responseCode: 450 }],
  ["does not know its address", { responseCode: 550, command: "RCPT TO", response: "550 no such user" }],
])("leaves a mail to the process that has it by now, if the mail server %s", async (_why, refusal) => {
  await using world = await createWorld();
  const { owner, teamId, invitation } = await inviteBob(world);
  let claimed: Awaited<ReturnType<typeof claimAll>> = [];
  const claimAll = () => world.database.run(claimDueMails, {});
  const send = async () => {
    await owner.did(resendInvitation, { teamId, invitationId: invitation.id });
    claimed = await claimAll();
    throw Object.assign(new Error("refused"), refusal);
  };

  await sendDueMails({ ...world.services, mailer: { send } });

  // Requested again, it counts its attempts from the beginning.
  expect(claimed).toMatchObject([{ attempts: 1 }]);
  const [{ id, dueAt } = {}] = claimed;
  expect(await world.database.models.mail.findMany()).toMatchObject([{ id, dueAt, attempts: 1, lastError: null }]);
  expect(await world.database.models.invitation.findMany()).toMatchObject([{ bouncedAt: null }]);
});

it("sends a mail soon that a process has put off while the database's clock was ahead", async () => {
  await using world = await createWorld();
  await using smtp = await startMailServer();
  await inviteBob(world);
  const { mail } = world.database.models;
  const longest = 1_000 * Math.max(...Object.values(LIMITS.mails.retrySeconds));
  await mail.updateMany({ data: { dueAt: new Date(Date.now() + longest), lastError: "450" } });
  await sendAll(world, smtp.url);
  const waits = (await mail.findFirstOrThrow()).dueAt.getTime() - Date.now();
  await mail.updateMany({ data: { dueAt: new Date(Date.now() + 10 * longest) } });

  // Whoever was just sending it has time to end.
  await sendAll(world, smtp.url);

  const [{ dueAt } = { dueAt: new Date(0) }] = await mail.findMany();
  expect(waits).toBeGreaterThan(longest / 2);
  expect(dueAt.getTime()).toBeLessThanOrEqual(Date.now() + CLAIM_MS);
  expect(smtp.mails).toEqual([]);
  await mail.updateMany({ data: { dueAt: new Date() } });
  await sendAll(world, smtp.url);
  expect(smtp.mails.map(({ to }) => to)).toEqual([BOB]);
});
