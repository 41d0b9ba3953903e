import { SCOPES, type Scope } from "../../src/operation/permission.js";
import { type Key, type Model, type User, newestFirst } from "./model.js";
import { type Caller, Unasked, defineMove, drawId, refuse } from "./move.js";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const CODE_MS = 15 * MINUTE_MS;
const CODE_TRIES = 5;
/** More than that many active keys are refused; so many of one user make no better test. */
const KEYS_ENOUGH = 60;

/** Addresses of nobody yet, beside those of the users. */
export const strangers = ({ name }: Model): string[] =>
  ["fay", "gil", "hal"].map((who) => `${who}.${name}@example.com`);

const isAddress = (text: string) => text.includes("@");

export const signUp = defineMove<{ email: string }>({
  weight: 2,
  input(model, { user }, draw) {
    return { email: draw.once(15) ? "nobody" : (draw.one([...strangers(model), user.email, ...codesOf(model)]) ?? "") };
  },
  expect(model, _me, { email }) {
    if (!isAddress(email)) refuse("bad_request");
    return {
      output: { email },
      async effect(_output, real) {
        const sentAt = model.now();
        const code = await real.codeFor(email);
        model.codes.set(email, { code, triesLeft: CODE_TRIES, endsAt: sentAt + CODE_MS });
      },
    };
  },
});

const codesOf = ({ codes }: Model) => [...codes.keys()];

export const confirmSignUp = defineMove<{ email: string; code: string; keyName?: string | undefined }>({
  weight: 2,
  input(model, { user }, draw) {
    const email = draw.one(draw.once(5) ? [user.email] : codesOf(model)) ?? user.email;
    const known = model.codes.get(email)?.code ?? "00000000";
    return { email, code: draw.once(4) ? "not this" : known, keyName: draw.once(2) ? "Laptop" : undefined };
  },
  expect(model, _me, { email, code, keyName = "Sign-up" }) {
    const known = model.codes.get(email);
    // A wrong try counts, though it is refused; the model notes it here, since the service asks at once.
    const isOpen = known !== undefined && known.triesLeft > 0 && known.endsAt > model.now();
    if (isOpen) known.triesLeft -= 1;
    if (!isOpen || known.code !== code) refuse("bad_request", "code_invalid");
    const user = model.userNamed(email);
    return {
      output: { name: keyName, scopes: [...SCOPES], expiresAt: null, ...(user ? { userId: user.id } : {}) },
      audit: ({ id }) => ({ teamId: null, subject: String(id), detail: null }),
      effect(output) {
        model.codes.delete(email);
        const person = user ?? newUser(model, String(output["userId"]), email);
        person.verified = true;
        person.keys.push(keyFrom(model, person, output));
      },
    };
  },
});

function newUser(model: Model, id: string, email: string): User {
  const user: User = { id, email, verified: true, keys: [], personal: { team: null } };
  model.users.push(user);
  return user;
}

export function keyFrom(model: Model, owner: User, output: Readonly<Record<string, unknown>>): Key {
  const { id, key, name, scopes, createdAt, expiresAt } = output as { readonly [field: string]: string | null };
  return {
    id: id ?? "",
    secret: key ?? "",
    owner,
    name: name ?? "",
    scopes: scopes as unknown as Scope[],
    madeAt: model.fromService(createdAt),
    endsAt: expiresAt === null || expiresAt === undefined ? null : model.fromService(expiresAt),
    revoked: false,
    replaced: false,
  };
}

const shown = (model: Model, { id, name, scopes, endsAt }: Key) => {
  return { id, name, scopes, expiresAt: endsAt === null ? null : model.toService(endsAt) };
};

export const viewer = defineMove<object>({
  weight: 2,
  input: () => ({}),
  expect(model, { user, key }) {
    const isPaid = model.teamOf(user)?.billing.status === "active";
    return {
      output: { id: user.id, email: user.email, ...(isPaid ? { plan: "team" } : {}), apiKey: shown(model, key) },
      check: ({ emailVerifiedAt, plan }) => {
        if ((emailVerifiedAt !== null) !== user.verified) return "the address is not verified as it should be";
        return isPaid || plan !== "team" ? undefined : "the plan is that of a team that has not paid";
      },
    };
  },
});

export const createApiKey = defineMove<{
  name: string;
  scopes?: readonly Scope[] | undefined;
  expiresAt?: string | undefined;
}>({
  weight: 4,
  input(model, { user }, draw) {
    if (user.keys.length > KEYS_ENOUGH) throw new Unasked();
    const time = model.now() + draw.one([HOUR_MS, DAY_MS, 30 * DAY_MS, -HOUR_MS]);
    return {
      name: "Another",
      scopes: draw.once(2) ? draw.some(SCOPES) : undefined,
      expiresAt: draw.once(3) ? model.toService(time) : undefined,
    };
  },
  expect(model, { user, key }, { name, scopes, expiresAt }) {
    if (expiresAt !== undefined && model.fromService(expiresAt) <= model.now()) refuse("bad_request");
    const wanted = scopes ?? key.scopes;
    if (wanted.some((scope) => !key.scopes.includes(scope))) refuse("forbidden", "scope_not_held");
    return {
      output: { name, scopes: [...wanted], expiresAt: expiresAt ?? null, revokedAt: null },
      audit: ({ id }) => ({ teamId: null, subject: String(id), detail: wanted.join(" ") }),
      effect: (output) => void user.keys.push(keyFrom(model, user, output)),
    };
  },
});

export const apiKeys = defineMove<{ limit: number }>({
  weight: 2,
  input: (_model, _me, draw) => ({ limit: draw.one([20, 2]) }),
  expect(model, { user }) {
    const items = [...user.keys].sort(newestFirst);
    return {
      list: { field: "keys", items: items.map((key) => shown(model, key)) },
    };
  },
});

const keysOfAll = ({ users }: Model): Key[] => users.flatMap(({ keys }) => keys);

function keyOf({ user }: Caller, id: string): Key {
  return user.keys.find((key) => key.id === id) ?? refuse("not_found");
}

export const revokeApiKey = defineMove<{ id: string }>({
  weight: 1,
  input: (model, { user }, draw) => ({ id: drawId(model, draw, user.keys.slice(1), keysOfAll(model)) }),
  expect(_model, me, { id }) {
    const key = keyOf(me, id);
    return {
      output: { id },
      audit: () => ({ teamId: null, subject: id, detail: null }),
      effect: () => void (key.revoked = true),
    };
  },
});

export const rotateApiKey = defineMove<{ id: string; graceSeconds?: number | undefined }>({
  weight: 2,
  input(model, { user }, draw) {
    if (user.keys.length > KEYS_ENOUGH) throw new Unasked();
    const id = drawId(model, draw, user.keys.slice(1), keysOfAll(model));
    return { id, graceSeconds: draw.once(2) ? draw.one([3_600, 0]) : undefined };
  },
  expect(model, me, { id, graceSeconds = 86_400 }) {
    const old = keyOf(me, id);
    if (old.scopes.some((scope) => !me.key.scopes.includes(scope))) refuse("forbidden", "scope_not_held");
    if (!model.opens(old) || old.replaced) refuse("conflict", "api_key_not_active");
    return {
      output: { name: old.name, scopes: old.scopes, revokedAt: null },
      audit: (made) => ({ teamId: null, subject: id, detail: `replaced by ${String(made["id"])}` }),
      check: ({ expiresAt }) =>
        (expiresAt === null) === (old.endsAt === null) ? undefined : "its lifetime is another",
      effect(output) {
        const made = keyFrom(model, me.user, output);
        me.user.keys.push(made);
        old.replaced = true;
        // The grace begins when the service says that the new key does.
        const graceEnd = made.madeAt + graceSeconds * 1_000;
        old.endsAt = old.endsAt !== null && old.endsAt < graceEnd ? old.endsAt : graceEnd;
      },
    };
  },
});
