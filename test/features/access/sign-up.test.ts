import { describe, expect, it } from "vitest";
import { confirmSignUp } from "../../../src/features/access/confirm-sign-up.js";
import { type SignUpCode, newSignUpCode } from "../../../src/features/access/sign-up-code.js";
import { signUp } from "../../../src/features/access/sign-up.js";
import { contextOf } from "../../../src/operation/context.js";
import { execute } from "../../../src/operation/execute.js";
import { Failure } from "../../../src/operation/failure.js";
import type { Operation } from "../../../src/operation/operation.js";
import { SCOPES } from "../../../src/operation/permission.js";
import { ask } from "../../support/http.js";
import { opens } from "../../support/keys.js";
import { type Verdict, type World, createWorld } from "../../support/world.js";

const EMAIL = "ann@example.com";
const CODE = "12345678";

describe("signUp", () => {
  it("gives the same answer for known and unknown addresses, and queues one mail", async () => {
    await using world = await createWorld();
    await world.user({ email: EMAIL });

    const known = await asAnybody(world, signUp, { email: "Ann@Example.COM" });
    const unknown = await asAnybody(world, signUp, { email: "bob@example.com" });

    expect([known, unknown]).toEqual([
      { ok: true, output: { email: EMAIL } },
      { ok: true, output: { email: "bob@example.com" } },
    ]);
    const mails = await world.database.models.mail.findMany({ orderBy: { id: "asc" } });
    expect(mails.map(({ kind, email }) => [kind, email])).toEqual([
      ["sign_up", EMAIL],
      ["sign_up", "bob@example.com"],
    ]);
    expect(await world.database.models.user.count()).toBe(1);
  });

  it.each([
    "",
    "ann",
    "ann@",
    "ann@example.com\r\nBcc: bob@example.com",
    "änn@example.com",
    "a@b,c@example.com",
    '"https://evil.com/x"@example.com',
  ])("refuses the address %j", async (email) => {
    await using world = await createWorld();
    expect(await asAnybody(world, signUp, { email })).toBeRefused("bad_request");
    expect(await world.database.models.mail.count()).toBe(0);
  });

  it("lets a client request five codes in 15 minutes for one address, and 30 an hour in total", async () => {
    await using world = await createWorld();
    const verdicts = [];
    for (let n = 0; n < 6; n++) {
      verdicts.push(await asAnybody(world, signUp, { email: n % 2 === 0 ? EMAIL : EMAIL.toUpperCase() }));
    }
    const others = [];
    for (let n = 0; n < 26; n++) others.push(await asAnybody(world, signUp, { email: `a${n}@example.com` }));

    expect(verdicts.slice(0, 5).every(({ ok }) => ok)).toBe(true);
    expect(verdicts[5]).toBeRefused("rate_limited");
    // The refused one counted for the client, which has 24 left.
    expect(others.filter(({ ok }) => ok)).toHaveLength(24);
    expect(await asAnybody(world, signUp, { email: "b@example.com" }, "192.0.2.7")).toMatchObject({ ok: true });
    expect(await asAnybody(world, signUp, { email: EMAIL }, "192.0.2.7")).toMatchObject({ ok: true });
  });

  it("queues one mail for an address, even with many requests at once", async () => {
    await using world = await createWorld();
    const asks = Array.from({ length: 20 }, (_, n) => asAnybody(world, signUp, { email: EMAIL }, `192.0.2.${n}`));

    expect((await Promise.all(asks)).every(({ ok }) => ok)).toBe(true);
    expect(await world.database.models.mail.count()).toBe(1);
  });

  it("sends a network a second code after a minute, and an address at most three while they are valid", async () => {
    await using world = await createWorld();
    const asks = async (client: string) => {
      await asAnybody(world, signUp, { email: EMAIL }, client);
      return (await deliver(world)).length;
    };
    const sent = [await asks(STRANGER), await asks(STRANGER)];
    await passes(world, "60 seconds");
    sent.push(await asks(STRANGER));
    await passes(world, "60 seconds");
    sent.push(await asks(STRANGER), await asks(ANN), await asks("198.51.100.1"));
    await passes(world, "13 minutes 1 second");
    sent.push(await asks(STRANGER));

    expect(sent).toEqual([1, 0, 1, 0, 1, 0, 1]);
  });

  it("sends another code, and takes no earlier one, after the database's clock was ahead", async () => {
    await using world = await createWorld();
    const sent = [];
    for (const client of [STRANGER, ANN, "198.51.100.1"]) {
      await asAnybody(world, signUp, { email: EMAIL }, client);
      sent.push(...(await deliver(world)));
    }
    await passes(world, "-1 day");

    await asAnybody(world, signUp, { email: EMAIL }, STRANGER);
    const [later] = await deliver(world);

    for (const { short, long } of sent) {
      for (const code of [short, long])
        expect(await asAnybody(world, confirmSignUp, { email: EMAIL, code })).toBeRefused(
          "bad_request",
          "code_invalid",
        );
    }
    expect(await asAnybody(world, confirmSignUp, { email: EMAIL, code: later?.short ?? "" })).toMatchObject({
      ok: true,
    });
  });

  it("says at every door when to try again", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const byRest = () => ask(`${url}/signup`, { body: { email: EMAIL } });
    const answers = [];
    for (let n = 0; n < 6; n++) answers.push(await byRest());
    const query = `mutation { signUp(input: {email: "${EMAIL}"}) { email } }`;
    const byGraphQL = await ask(`${url}/graphql`, { body: { query } });

    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202, 429]);
    expect(answers[0]?.body).toEqual({ email: EMAIL });
    expect(answers[5]?.body).toMatchObject({ error: { code: "rate_limited" } });
    const retryAfterSeconds = Number(byGraphQL.headers.get("retry-after"));
    expect(byGraphQL.body).toMatchObject({ errors: [{ extensions: { code: "RATE_LIMITED", retryAfterSeconds } }] });
    for (const { headers } of [answers[5], byGraphQL].filter((answer) => answer !== undefined)) {
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(800);
      expect(Number(headers.get("retry-after"))).toBeLessThanOrEqual(900);
    }
  });
});

describe("a code", () => {
  it("creates a user with a personal graph, the plan free, a verified address and a key with every scope", async () => {
    await using world = await createWorld();
    await world.giveCode(EMAIL, CODE);

    const made = await confirm(world, { email: "ANN@example.com", code: CODE, keyName: "Laptop" });

    expect(made).toMatchObject({ name: "Laptop", scopes: SCOPES, expiresAt: null });
    expect(await opens(world, made.key)).toBe(true);
    const user = await world.database.models.user.findUniqueOrThrow({
      where: { email: EMAIL },
      include: { graph: true },
    });
    expect(user).toMatchObject({ id: made.userId, plan: "free", graph: { userId: made.userId } });
    expect(user.emailVerifiedAt).toBeInstanceOf(Date);
    const entries = await world.database.models.auditEntry.findMany();
    expect(entries).toMatchObject([{ action: "confirmSignUp", actorId: made.userId, keyId: made.id, teamId: null }]);
    expect(await world.database.models.signUpCode.count()).toBe(0);
  });

  it("gives an existing user another key, and changes nothing else", async () => {
    await using world = await createWorld();
    const ann = await world.user({ email: EMAIL, plan: "pro" });
    const { user } = world.database.models;
    await user.update({ where: { email: EMAIL }, data: { emailVerifiedAt: null } });
    await world.giveCode(EMAIL, CODE);

    const { userId, key } = await confirm(world, { email: EMAIL, code: CODE });

    expect(userId).toBe(ann.caller.userId);
    expect([await opens(world, key), await opens(world, ann.key)]).toEqual([true, true]);
    const after = await user.findUniqueOrThrow({ where: { email: EMAIL } });
    expect(after.plan).toBe("pro");
    expect(after.emailVerifiedAt).toBeInstanceOf(Date);
    await world.giveCode(EMAIL, CODE);
    await confirm(world, { email: EMAIL, code: CODE });
    expect(await user.findUniqueOrThrow({ where: { email: EMAIL } })).toEqual(after);
    expect(await world.database.models.graph.count()).toBe(1);
  });

  it("is refused with the same answer when it is wrong, expired, used or was never sent", async () => {
    await using world = await createWorld();
    const { signUpCode } = world.database.models;
    for (const email of ["wrong", "ended", "used"]) await world.giveCode(`${email}@example.com`, CODE);
    const hashes = (await signUpCode.findMany()).map(({ hash }) => Buffer.from(hash).toString("hex"));
    const past = new Date(Date.now() - 1_000);
    const ended = { email: "overdue@example.com" };
    await asAnybody(world, signUp, ended);
    const [overdue] = await deliver(world);
    await signUpCode.updateMany({
      where: { email: { in: ["ended@example.com", ended.email] } },
      data: { expiresAt: past },
    });
    await confirm(world, { email: "used@example.com", code: CODE });

    const attempts = { wrong: "87654321", ended: CODE, overdue: overdue?.long ?? "", used: CODE, never: CODE };
    const verdicts = [];
    for (const [name, code] of Object.entries(attempts)) {
      verdicts.push(await asAnybody(world, confirmSignUp, { email: `${name}@example.com`, code }));
    }

    const messages = verdicts.map((verdict) => (verdict.ok ? "accepted" : verdict.failure.message));
    for (const verdict of verdicts) expect(verdict).toBeRefused("bad_request", "code_invalid");
    expect(new Set(messages).size).toBe(1);
    // Whoever sees the table does not see that these are the same code.
    expect(new Set(hashes).size).toBe(3);
  });

  it("allows five guesses from one network and 20 from all, even at the same time", async () => {
    await using world = await createWorld();
    for (const code of [CODE, "87654321"]) await world.giveCode(EMAIL, code);
    const guess = (n: number, client: string) =>
      asAnybody(world, confirmSignUp, { email: EMAIL, code: `${n}`.padStart(8, "0") }, client);

    // Of IPv6, a client has as many addresses of its network as it wants.
    await Promise.all(Array.from({ length: 10 }, (_, n) => guess(n, `2001:db8:1:2::${n}`)));
    const tries = async () => (await world.database.models.signUpCode.findMany()).map(({ triedBy }) => triedBy.length);
    const ofOne = await tries();
    await Promise.all(Array.from({ length: 40 }, (_, n) => guess(n, `192.0.2.${100 + n}`)));

    expect([ofOne, await tries()]).toEqual([
      [5, 5],
      [20, 20],
    ]);
    const late = await asAnybody(world, confirmSignUp, { email: EMAIL, code: CODE }, ANN);
    expect(late).toBeRefused("bad_request", "code_invalid");
  });

  it("has all its guesses when its mail is sent again, since the first one may have come and been typed", async () => {
    await using world = await createWorld();
    await asAnybody(world, signUp, { email: EMAIL });
    const mail = await world.database.models.mail.findFirstOrThrow();
    await newSignUpCode(world.database, mail);
    for (let guess = 0; guess < 5; guess++) await asAnybody(world, confirmSignUp, { email: EMAIL, code: "x" });
    const again = await newSignUpCode(world.database, mail);

    expect((await confirm(world, { email: EMAIL, code: again?.short ?? "" })).key).toMatch(/^mg_live_/);
    // One that was withdrawn meanwhile, as with the account, gets no code.
    await world.database.models.mail.deleteMany();
    expect(await newSignUpCode(world.database, mail)).toBeNull();
  });

  it("works after four wrong guesses", async () => {
    await using world = await createWorld();
    await world.giveCode(EMAIL, CODE);
    for (let n = 0; n < 4; n++) await asAnybody(world, confirmSignUp, { email: EMAIL, code: "00000000" });
    expect(await asAnybody(world, confirmSignUp, { email: EMAIL, code: CODE })).toMatchObject({ ok: true });
  });

  it("gives exactly one key to 20 requests at the same time", async () => {
    await using world = await createWorld();
    await world.giveCode(EMAIL, CODE);
    const attempts = Array.from({ length: 20 }, () => asAnybody(world, confirmSignUp, { email: EMAIL, code: CODE }));

    const verdicts = await Promise.all(attempts);

    expect(verdicts.filter(({ ok }) => ok)).toHaveLength(1);
    for (const verdict of verdicts.filter(({ ok }) => !ok)) expect(verdict).toBeRefused("bad_request", "code_invalid");
    expect(await world.database.models.apiKey.count()).toBe(1);
    expect(await world.database.models.user.count()).toBe(1);
  });

  it("is kept when the user has too many keys, so that it works after one is revoked", async () => {
    await using world = await createWorld();
    const ann = await world.user({ email: EMAIL });
    const { apiKey } = world.database.models;
    const keyOf = (n: number) => ({
      id: world.services.newId(),
      userId: ann.caller.userId,
      name: "Key",
      prefix: "",
      hash: new Uint8Array(32).fill(n),
      scopes: [],
    });
    await apiKey.createMany({ data: Array.from({ length: 99 }, (_, n) => keyOf(n)) });
    await world.giveCode(EMAIL, CODE);

    const full = await asAnybody(world, confirmSignUp, { email: EMAIL, code: CODE });
    await apiKey.deleteMany({ where: { name: "Key" } });

    expect(full).toBeRefused("conflict", "too_many_api_keys");
    // Whoever has lost all of them can revoke none.
    const message = expect.stringContaining("If you have none of them any more, ask the operator of this service");
    expect(full).toMatchObject({ failure: { message } });
    expect(await asAnybody(world, confirmSignUp, { email: EMAIL, code: CODE })).toMatchObject({ ok: true });
  });

  it("gives a key to a user who has too many, if some are programs': the one unused for longest ends", async () => {
    await using world = await createWorld();
    const ann = await world.user({ email: EMAIL });
    const { apiKey, auditEntry } = world.database.models;
    const userId = ann.caller.userId;
    const programs = Array.from({ length: 99 }, (_, n) => ({
      id: world.services.newId(),
      userId,
      name: "Key",
      prefix: "oauth",
      client: "app.example.com",
      hash: new Uint8Array(32).fill(n),
      scopes: [],
      createdAt: new Date(Date.now() - 3_600_000),
      // The fourth was never used, but made later than the third was used.
      lastUsedAt: n === 3 ? null : new Date(Date.now() - (n === 2 ? 7_200_000 : 60_000)),
    }));
    await apiKey.createMany({ data: programs });
    await world.giveCode(EMAIL, CODE);

    const made = await asAnybody(world, confirmSignUp, { email: EMAIL, code: CODE });

    expect(made.ok && (await opens(world, made.output.key))).toBe(true);
    const ended = await apiKey.findMany({ where: { userId, revokedAt: { not: null } } });
    expect(ended.map(({ id }) => id)).toEqual([programs[2]?.id]);
    const notes = await auditEntry.findMany({ where: { action: "disconnectClient" } });
    expect(notes).toMatchObject([{ subject: programs[2]?.id, detail: "app.example.com", actorId: userId }]);
  });

  it("counts no guesses for an address without codes", async () => {
    await using world = await createWorld();
    const guess = (client: string) => asAnybody(world, confirmSignUp, { email: EMAIL, code: "00000000" }, client);
    for (let n = 0; n < 25; n++) await guess(`192.0.2.${n}`);
    await world.giveCode(EMAIL, CODE);

    expect(await asAnybody(world, confirmSignUp, { email: EMAIL, code: CODE }, ANN)).toMatchObject({ ok: true });
  });
});

describe("a stranger", () => {
  it("cannot lock anybody out by requesting codes and guessing all the time", async () => {
    await using world = await createWorld();
    const asks = (client: string) => asAnybody(world, signUp, { email: EMAIL }, client);
    const guesses = async (times: number) => {
      for (let n = 0; n < times; n++) {
        await asAnybody(world, confirmSignUp, { email: EMAIL, code: `${n}`.padStart(8, "0") }, STRANGER);
      }
    };
    for (let n = 0; n < 8; n++) await asks(STRANGER);
    const theirs = await deliver(world);
    await guesses(10);

    expect(await asks(ANN)).toMatchObject({ ok: true });
    const anns = await deliver(world);
    for (let n = 0; n < 8; n++) await asks(STRANGER);
    await guesses(40);

    expect([theirs.length, anns.length, (await deliver(world)).length]).toEqual([1, 1, 0]);
    // Both codes work: the stranger cannot read them, and Ann may use any in her inbox.
    for (const { short } of [...anns, ...theirs]) {
      const verdict = await asAnybody(world, confirmSignUp, { email: EMAIL, code: short }, ANN);
      expect(verdict).toMatchObject({ ok: true });
    }
  });

  it("can use up the short code from many networks, but never the long one", async () => {
    await using world = await createWorld();
    for (let n = 0; n < 40; n++) await asAnybody(world, signUp, { email: EMAIL }, `192.0.2.${n}`);
    const inbox = await deliver(world);
    for (let n = 0; n < 40; n++) {
      await asAnybody(world, confirmSignUp, { email: EMAIL, code: "00000000" }, `192.0.2.${n}`);
    }
    const [code] = inbox;
    const enter = (text: string) => asAnybody(world, confirmSignUp, { email: EMAIL, code: text }, ANN);

    expect(inbox).toHaveLength(1);
    expect(await enter(code?.short ?? "")).toBeRefused("bad_request", "code_invalid");
    expect(await enter((code?.long ?? "").toLowerCase())).toBeRefused("bad_request", "code_invalid");
    expect(await enter(code?.long ?? "")).toMatchObject({ ok: true });
    expect(await enter(code?.long ?? "")).toBeRefused("bad_request", "code_invalid");
  });

  it("can use up the guesses of a shared network, but never the long code", async () => {
    await using world = await createWorld();
    await asAnybody(world, signUp, { email: EMAIL });
    const [code] = await deliver(world);
    for (let n = 0; n < 31; n++) await asAnybody(world, confirmSignUp, { email: EMAIL, code: "00000000" });

    const short = await asAnybody(world, confirmSignUp, { email: EMAIL, code: code?.short ?? "" });
    expect(short).toBeRefused("rate_limited");
    expect(await asAnybody(world, confirmSignUp, { email: EMAIL, code: code?.long ?? "" })).toMatchObject({ ok: true });
  });
});

const ANN = "203.0.113.5";
const STRANGER = "198.51.100.7";

/** Sends waiting mails, like the chore, and returns the codes in the inboxes. */
async function deliver({ database }: World): Promise<SignUpCode[]> {
  const codes: SignUpCode[] = [];
  for (const mail of await database.models.mail.findMany()) {
    const code = await newSignUpCode(database, mail);
    if (code) codes.push(code);
    await database.models.mail.delete({ where: { id: mail.id } });
  }
  return codes;
}

/** Makes codes older, by the database's clock. */
async function passes({ database }: World, time: string): Promise<void> {
  await database.pool.query(
    "UPDATE sign_up_code SET created_at = created_at - $1::interval, expires_at = expires_at - $1::interval",
    [time],
  );
}

/** Runs it without a key, from this address. */
async function asAnybody<Input extends object, Output extends object>(
  { services }: World,
  operation: Operation<Input, Output>,
  input: Input,
  clientAddress = "127.0.0.1",
): Promise<Verdict<Output>> {
  const facts = { caller: undefined, door: "rest", clientAddress, selects: () => true } as const;
  try {
    const value = Object.assign(new operation.input(), input);
    return { ok: true, output: await execute(operation, contextOf(services, facts), value) };
  } catch (failure) {
    if (failure instanceof Failure) return { ok: false, failure };
    throw failure;
  }
}

async function confirm(world: World, input: { email: string; code: string; keyName?: string }) {
  const verdict = await asAnybody(world, confirmSignUp, input);
  if (!verdict.ok) throw verdict.failure;
  return verdict.output;
}
