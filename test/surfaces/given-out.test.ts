import { randomInt } from "node:crypto";
import { simpleParser } from "mailparser";
import { createTransport } from "nodemailer";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newApiKey } from "../../src/features/access/key-text.js";
import { hashCode, newSignUpCode } from "../../src/features/access/sign-up-code.js";
import { invitationMail } from "../../src/features/mail/invitation-mail.js";
import { newInvitationToken } from "../../src/features/teams/invitations/invitation-token.js";
import { inviteMember } from "../../src/features/teams/invitations/invite-member.js";
import { createTeam } from "../../src/features/teams/create-team.js";
import { ask } from "../support/http.js";
import { OAuthWalker, serveWithOAuth } from "../support/oauth.js";
import { type World, createWorld } from "../support/world.js";

/*
 * What the service gives out, it must take back at every door that asks for it, in each form in which people and
 * programs bring it back.
 */

/** One world for all: each test has addresses of its own. */
let world: World;
let url: string;

beforeAll(async () => {
  world = await createWorld();
  ({ url } = await serveWithOAuth(world));
});
afterAll(async () => {
  expect(world.bugs).toEqual([]);
  await world[Symbol.asyncDispose]();
});

/** Another network for each request, so that none uses up the limits of another. */
const elsewhere = () => ({ "x-forwarded-for": `10.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}` });

const SHORT = "01204567";
/** As mails before had them; those of now have no dashes. */
const LONG = `-${"a_B-".repeat(10)}--`;

const FORMS: ReadonlyArray<readonly [how: string, code: string]> = [
  ["as it is", SHORT],
  ["with spaces and a line end from copying", ` ${SHORT}\r\n`],
  ["in groups", "0120 4567"],
  ["in groups with a dash", "0120-4567"],
  ["in groups with a dash that a keyboard has made longer", "0120–4567"],
  ["in groups with a space that does not break", "0120\u00A04567"],
  ["in the wide digits of a Japanese keyboard", "０１２０４５６７"],
  ["as the longer code", LONG],
  ["as the longer code, broken over two lines", `  ${LONG.slice(0, 20)}\n  ${LONG.slice(20)}`],
];

/** Every door that takes a code which was sent to an address. @returns whether the code was accepted */
const DOORS: Readonly<Record<string, (email: string, code: string) => Promise<boolean>>> = {
  async rest(email, code) {
    const answer = await ask(`${url}/signup/confirm`, { headers: elsewhere(), body: { email, code } });
    return answer.status === 201;
  },
  async graphql(email, code) {
    const query = `mutation { confirmSignUp(input: {email: "${email}", code: ${JSON.stringify(code)}}) { key } }`;
    const answer = await ask(`${url}/graphql`, { headers: elsewhere(), body: { query } });
    const { data } = answer.body as { data?: { confirmSignUp: { key: string } | null } };
    return data?.confirmSignUp?.key.startsWith("mg_live_") ?? false;
  },
  async "the change of an address"(email, code) {
    const { key } = await world.user();
    return (await ask(`${url}/users/me/email`, { key, headers: elsewhere(), body: { email, code } })).status === 200;
  },
  async "the page of an invitation"(email, code) {
    const token = await invite(email);
    const body = new URLSearchParams({ code, answer: "accept" });
    const answer = await fetch(`${url}/invitations/${token}/answer`, { method: "POST", headers: elsewhere(), body });
    return /mg_live_\w+/.test(await answer.text());
  },
  async "the page of a program"(email, code) {
    const walker = new OAuthWalker(url, world);
    const { body: client } = await walker.register();
    const { location: page } = await walker.begin(client.client_id);
    await walker.visit(`${page}/code`, { email });
    const answered = await walker.visit(`${page}/answer`, { code, answer: "allow" });
    const { location } = await walker.visit(answered.location);
    return location.includes("?code=");
  },
};

async function invite(email: string): Promise<string> {
  const owner = await world.user();
  const { id: teamId } = await owner.did(createTeam, { name: "Platform", maxMembers: 5 });
  const { id } = await owner.did(inviteMember, { teamId, email, role: "member" });
  const sent = await newInvitationToken(world.services, id);
  return sent?.token ?? "";
}

let addresses = 0;

async function giveCodes(): Promise<string> {
  const email = `person${++addresses}@example.com`;
  await world.giveCode(email, SHORT);
  await world.database.models.signUpCode.updateMany({ where: { email }, data: { longHash: hashCode(email, LONG) } });
  return email;
}

describe.each(Object.entries(DOORS))("a code of a mail at %s", (_door, confirm) => {
  it.each(FORMS)("is accepted %s", async (_how, code) => {
    expect(await confirm(await giveCodes(), code)).toBe(true);
  });

  it("is refused with a digit too few or too many", async () => {
    const email = await giveCodes();

    expect(await confirm(email, SHORT.slice(1))).toBe(false);
    expect(await confirm(email, `${SHORT}0`)).toBe(false);
  });
});

describe("the secrets that people copy", () => {
  /*
   * At the end of a link many programs leave out a dash or an underscore, a double click selects only up to a dash, and
   * a command takes a word that begins with one as an option.
   */
  it("have only letters and digits", async () => {
    const owner = await world.user();
    const { id: teamId } = await owner.did(createTeam, { name: "Platform", maxMembers: 5 });
    const { id: invitationId } = await owner.did(inviteMember, { teamId, email: "bob@example.com", role: "member" });
    const secrets: string[] = [];
    for (let n = 0; n < 10; n++) {
      const { dueAt, id, email } = await world.database.models.mail.create({
        data: { id: world.services.newId(), kind: "sign_up", email: `bob${n}@example.com` },
      });
      const code = await newSignUpCode(world.database, { id, email, dueAt });
      const invitation = await newInvitationToken(world.services, invitationId);
      secrets.push(code?.long ?? "", invitation?.token ?? "");
    }

    expect(secrets.filter((secret) => !/^[\dA-Za-z]{43}$/.test(secret))).toEqual([]);
    expect(new Set(secrets).size).toBe(20);
    expect(newApiKey()).toMatch(/^mg_live_[\dA-Za-z]{38}$/);
  });

  it("lead to the page of an invitation from its mail, as programs find the link in its text and in its HTML", async () => {
    const transport = createTransport({ streamTransport: true, buffer: true });
    for (const inviterName of ["Ann", "Jürgen", null]) {
      const token = await invite("carol@example.com");
      const invitation = { token, inviterName, inviterEmail: "ann@example.com", role: "member" as const };
      const mail = invitationMail({ ...invitation, teamName: "Platform", expiresAt: new Date() }, url);
      const { message } = await transport.sendMail({ to: "carol@example.com", ...mail });
      const { text = "", html } = await simpleParser(String(message));

      // So Android does: it leaves out what follows the last letter or digit.
      const [inText = ""] = /https?:\/\/\S+\b/.exec(text) ?? [];
      const [, inHtml = ""] = /href="([^"]+)"/.exec(String(html)) ?? [];
      expect([inText, inHtml]).toEqual([`${url}/invitations/${token}`, `${url}/invitations/${token}`]);
      expect(text).toContain(`-X POST ${url}/teams/invitations/${token}/accept -H`);
      expect((await ask(inText, { headers: elsewhere() })).status).toBe(200);
    }
  });
});

it.each(["-_--", "a+b/c==", "%2F%", "a b&code=x#y", "é☃", "007", "x".repeat(500)])(
  "gives a program its state back: %s",
  async (state) => {
    const walker = new OAuthWalker(url, world);
    const callback = "https://app.example.com/callback?from=a%2Bb";
    const { body: client } = await walker.register({ redirect_uris: [callback] });
    const { location: page } = await walker.begin(client.client_id, { state, redirect_uri: callback });
    const answered = await walker.visit(`${page}/answer`, { answer: "refuse" });
    const { location } = await walker.visit(answered.location);

    const { searchParams } = new URL(location);
    expect(location.split("?")[0]).toBe("https://app.example.com/callback");
    expect([searchParams.get("state"), searchParams.get("from")]).toEqual([state, "a+b"]);
  },
);
