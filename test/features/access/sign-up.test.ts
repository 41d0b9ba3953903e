import { describe, expect, it } from "vitest";
import { confirmSignUp } from "../../../src/features/access/confirm-sign-up.js";
import { newSignUpCode } from "../../../src/features/access/sign-up-code.js";
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

describe("asking for a code", () => {
  it("is answered alike whether the address is known or not, and queues one mail", async () => {
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

  it.each(["", "ann", "ann@", "ann@example.com\r\nBcc: bob@example.com", "änn@example.com", "a@b,c@example.com"])(
    "refuses the address %j",
    async (email) => {
      await using world = await createWorld();
      expect(await asAnybody(world, signUp, { email })).toBeRefused("bad_request");
      expect(await world.database.models.mail.count()).toBe(0);
    },
  );

  it("sends at most five mails an hour to one address, and 30 for one client", async () => {
    await using world = await createWorld();
    const verdicts = [];
    for (let n = 0; n < 6; n++) verdicts.push(await asAnybody(world, signUp, { email: EMAIL }));
    const others = [];
    for (let n = 0; n < 26; n++) others.push(await asAnybody(world, signUp, { email: `a${n}@example.com` }));

    expect(verdicts.slice(0, 5).every(({ ok }) => ok)).toBe(true);
    expect(verdicts[5]).toBeRefused("rate_limited");
    // The refused one counted for the client, so 24 are left to it.
    expect(others.filter(({ ok }) => ok)).toHaveLength(24);
    expect(await asAnybody(world, signUp, { email: "b@example.com" }, "192.0.2.7")).toMatchObject({ ok: true });
  });

  it("says by every door when to try again", async () => {
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
    expect(byGraphQL.body).toMatchObject({ errors: [{ extensions: { code: "RATE_LIMITED" } }] });
    for (const { headers } of [answers[5], byGraphQL].filter((answer) => answer !== undefined)) {
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(3_500);
      expect(Number(headers.get("retry-after"))).toBeLessThanOrEqual(3_600);
    }
  });
});

describe("a code", () => {
  it("makes a user with a personal graph, the plan free, a verified address and a key that may do all", async () => {
    await using world = await createWorld();
    await world.giveCode(EMAIL, CODE);

    const made = await confirmed(world, { email: "ANN@example.com", code: CODE, keyName: "Laptop" });

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

  it("gives somebody who is a user already another key, and leaves the rest as it is", async () => {
    await using world = await createWorld();
    const ann = await world.user({ email: EMAIL, plan: "pro" });
    const { user } = world.database.models;
    await user.update({ where: { email: EMAIL }, data: { emailVerifiedAt: null } });
    await world.giveCode(EMAIL, CODE);

    const { userId, key } = await confirmed(world, { email: EMAIL, code: CODE });

    expect(userId).toBe(ann.caller.userId);
    expect([await opens(world, key), await opens(world, ann.key)]).toEqual([true, true]);
    const after = await user.findUniqueOrThrow({ where: { email: EMAIL } });
    expect(after.plan).toBe("pro");
    expect(after.emailVerifiedAt).toBeInstanceOf(Date);
    expect(await world.database.models.graph.count()).toBe(1);
  });

  it("is refused alike when it is wrong, ended, used, overtaken or was never sent", async () => {
    await using world = await createWorld();
    const { signUpCode } = world.database.models;
    for (const email of ["wrong", "ended", "used", "overtaken"]) await world.giveCode(`${email}@example.com`, CODE);
    const past = new Date(Date.now() - 1_000);
    await signUpCode.update({ where: { email: "ended@example.com" }, data: { expiresAt: past } });
    await confirmed(world, { email: "used@example.com", code: CODE });
    await newSignUpCode(world.database, "overtaken@example.com", world.services.newId());

    const attempts = { wrong: "87654321", ended: CODE, used: CODE, overtaken: CODE, never: CODE };
    const verdicts = [];
    for (const [name, code] of Object.entries(attempts)) {
      verdicts.push(await asAnybody(world, confirmSignUp, { email: `${name}@example.com`, code }));
    }

    const messages = verdicts.map((verdict) => (verdict.ok ? "accepted" : verdict.failure.message));
    for (const verdict of verdicts) expect(verdict).toBeRefused("bad_request", "code_invalid");
    expect(new Set(messages).size).toBe(1);
  });

  it("can be guessed at five times, even at once", async () => {
    await using world = await createWorld();
    await world.giveCode(EMAIL, CODE);
    const guess = (n: number) => asAnybody(world, confirmSignUp, { email: EMAIL, code: `${n}`.padStart(8, "0") });

    await Promise.all(Array.from({ length: 10 }, (_, n) => guess(n)));

    const row = await world.database.models.signUpCode.findUniqueOrThrow({ where: { email: EMAIL } });
    expect(row.triesLeft).toBe(0);
    expect(await asAnybody(world, confirmSignUp, { email: EMAIL, code: CODE })).toBeRefused(
      "bad_request",
      "code_invalid",
    );
  });

  it("works after four wrong guesses", async () => {
    await using world = await createWorld();
    await world.giveCode(EMAIL, CODE);
    for (let n = 0; n < 4; n++) await asAnybody(world, confirmSignUp, { email: EMAIL, code: "00000000" });
    expect(await asAnybody(world, confirmSignUp, { email: EMAIL, code: CODE })).toMatchObject({ ok: true });
  });

  it("gives exactly one key to 20 who use it at once", async () => {
    await using world = await createWorld();
    await world.giveCode(EMAIL, CODE);
    const attempts = Array.from({ length: 20 }, () => asAnybody(world, confirmSignUp, { email: EMAIL, code: CODE }));

    const verdicts = await Promise.all(attempts);

    expect(verdicts.filter(({ ok }) => ok)).toHaveLength(1);
    for (const verdict of verdicts.filter(({ ok }) => !ok)) expect(verdict).toBeRefused("bad_request", "code_invalid");
    expect(await world.database.models.apiKey.count()).toBe(1);
    expect(await world.database.models.user.count()).toBe(1);
  });

  it("is kept when the user has no room for a key, so that it serves once there is", async () => {
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
    expect(await asAnybody(world, confirmSignUp, { email: EMAIL, code: CODE })).toMatchObject({ ok: true });
  });

  it("can be tried 20 times an hour for one address, whoever tries", async () => {
    await using world = await createWorld();
    const verdicts = [];
    for (let n = 0; n < 21; n++) {
      verdicts.push(await asAnybody(world, confirmSignUp, { email: EMAIL, code: CODE }, `192.0.2.${n}`));
    }
    expect(verdicts[19]).toBeRefused("bad_request", "code_invalid");
    expect(verdicts[20]).toBeRefused("rate_limited");
  });
});

/** Does it as somebody without a key, from this address. */
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

async function confirmed(world: World, input: { email: string; code: string; keyName?: string }) {
  const verdict = await asAnybody(world, confirmSignUp, input);
  if (!verdict.ok) throw verdict.failure;
  return verdict.output;
}
