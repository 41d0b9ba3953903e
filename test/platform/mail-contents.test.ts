import { expect, it } from "vitest";
import { acceptInvitation } from "../../src/features/teams/invitations/answer-invitation.js";
import { PRODUCT } from "../../src/operation/product.js";
import { ask } from "../support/http.js";
import {
  BOB,
  codeIn,
  expectNoneWaits,
  inviteBob,
  mailSettings,
  startMailServer,
  tokenIn,
} from "../support/mail-server.js";
import { useLimits } from "../support/limits.js";
import { createWorld } from "../support/world.js";

useLimits("mails", { lookedEveryMs: 50 });

it("invites by a mail with inviter, team, role, expiry, and a working link and token", async () => {
  await using world = await createWorld();
  await using smtp = await startMailServer();
  await world.serve(mailSettings(smtp.url));
  const { owner, invitation } = await inviteBob(world, { team: "Platform" });

  const mail = await smtp.take(BOB);

  const token = tokenIn(mail);
  const ends = `${invitation.expiresAt.toISOString().slice(0, 16).replace("T", " ")} UTC`;
  expect(mail.from).toBe('"Memory Graph" <mail@example.com>');
  expect(mail.subject).toBe(`${owner.email} invites you to the team Platform`);
  expect(mail.replyTo).toBe(owner.email);
  expect(mail.headers.get("auto-submitted")).toBe("auto-generated");
  expect(mail.headers.get("x-auto-response-suppress")).toBe("OOF, AutoReply");
  for (const form of [mail.text, mail.html]) {
    expect(form).toContain(owner.email);
    expect(form).toContain("Platform");
    expect(form).toContain("as an admin");
    expect(form).toContain(PRODUCT);
    expect(form).toContain(ends);
    expect(form).toContain(`https://memory.example.com/invitations/${token}`);
    expect(form).toContain(`curl -X POST https://memory.example.com/teams/invitations/${token}/accept`);
  }
  // It fits a phone, and has the link before the token.
  expect(mail.html).toContain('name="viewport"');
  expect(mail.text.indexOf("/invitations/")).toBeLessThan(mail.text.indexOf("use the token"));
  expect(mail.html).not.toMatch(/<(img|script|link|iframe)|@import|url\(/i);
  const bob = await world.user({ email: BOB });
  expect(await bob.did(acceptInvitation, { token })).toMatchObject({ status: "accepted", role: "admin" });
  await expectNoneWaits(world);
});

it("stores only the token's hash, and logs neither token, code nor address", async () => {
  await using world = await createWorld();
  await using smtp = await startMailServer();
  const { url } = await world.serve(mailSettings(smtp.url));
  await inviteBob(world);
  await ask(`${url}/signup`, { body: { email: "carol@example.com" } });

  const token = tokenIn(await smtp.take(BOB));
  const code = codeIn(await smtp.take("carol@example.com"));
  await expectNoneWaits(world);

  const tables = ["invitation_token", "invitation", "sign_up_code", "audit_entry"];
  const rows = await Promise.all(
    tables.map((table) => world.database.pool.query<{ row: string }>(`SELECT t::text AS row FROM ${table} t`)),
  );
  const stored = rows.flatMap((result) => result.rows.map(({ row }) => row)).join("\n");
  expect(token).toHaveLength(43);
  expect(code).toHaveLength(8);
  for (const secret of [token, code]) expect(stored + world.log.join("\n")).not.toContain(secret);
  for (const address of [BOB, "carol@"]) expect(world.log.join("\n")).not.toContain(address);
});

it("sends a code with its lifetime, and says what to do if somebody else requested it", async () => {
  await using world = await createWorld();
  await using smtp = await startMailServer();
  const { url } = await world.serve(mailSettings(smtp.url));
  await ask(`${url}/signup`, { body: { email: BOB } });

  const mail = await smtp.take(BOB);

  for (const form of [mail.text, mail.html]) {
    expect(form).toContain(codeIn(mail));
    expect(form).toContain("15 minutes");
    expect(form).toContain("If you did not request it");
  }
  const answer = await ask(`${url}/signup/confirm`, { body: { email: BOB, code: codeIn(mail) } });
  expect(answer).toMatchObject({ status: 201, body: { key: expect.stringMatching(/^mg_live_/) } });
});

it("lets a team's name become neither a header nor markup", async () => {
  await using world = await createWorld();
  await using smtp = await startMailServer();
  await world.serve(mailSettings(smtp.url));
  await inviteBob(world, { team: 'A\r\nBcc: eve@example.com\r\n\r\n<img src="x" onerror=alert(1)> & "B"' });

  const mail = await smtp.take(BOB);

  expect(mail.subject).toMatch(/^\S+@example\.com invites you to a team on Memory Graph$/);
  expect(mail.text).toContain('the team "A Bcc: eve[@]example[.]com <img src="x" onerror=alert(1)> & "B""');
  expect(mail.headers.has("bcc")).toBe(false);
  expect(mail.html).not.toContain("<img");
  expect(smtp.mails).toHaveLength(1);
});
