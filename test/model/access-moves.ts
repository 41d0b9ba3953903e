import { SCOPES, type Scope } from "../../src/operation/permission.js";
import { CODE_GAP_MS, type Key, type Model, type User, newestFirst } from "./model.js";
import type { Draw } from "./draw.js";
import { Disagreement } from "./agree.js";
import type { Real } from "./real.js";
import { type Caller, Unasked, defineMove, drawId, refuse } from "./move.js";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const CODE_MS = 15 * MINUTE_MS;
const CODE_TRIES = 5;
/** The most codes for one address that one network may have open at once. */
const OPEN_CODES = 2;
/** Users with this many active keys create no more: the limit is tested elsewhere, and more keys test nothing new. */
const KEYS_ENOUGH = 60;

/** Addresses without an account, in addition to the users' addresses. */
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
        const known = model.codes.get(email) ?? [];
        const open = model.openCodes(email);
        const isMade = open.length < OPEN_CODES && open.every((code) => code.sentAt + CODE_GAP_MS <= sentAt);
        // A user who was deleted at the same moment: with the codes that were not sent yet.
        const isForgotten = model.users.some((user) => user.email === email) && !(await real.hasUser(email));
        const isSent = isMade && !isForgotten;
        const fresh = (await real.codesTo(email)).filter(({ code }) => !model.seenCodes.has(code));
        if (fresh.length !== (isSent ? 1 : 0)) throw new Disagreement(`${fresh.length} codes came to ${email}.`);
        for (const { code } of fresh) model.seenCodes.add(code);
        const sent = fresh.map((code) => ({ ...code, triesLeft: CODE_TRIES, sentAt, endsAt: sentAt + CODE_MS }));
        model.codes.set(email, [...known, ...sent]);
      },
    };
  },
});

const codesOf = ({ codes }: Model) => [...codes.keys()];

export const confirmSignUp = defineMove<{ email: string; code: string; keyName?: string | undefined }>({
  weight: 2,
  input: (model, me, draw) => ({ ...drawCode(model, me, draw), keyName: draw.once(2) ? "Laptop" : undefined }),
  expect(model, _me, { email, code, keyName = "Sign-up" }) {
    const useUp = tryCode(model, email, code);
    const user = model.userNamed(email);
    return {
      output: { name: keyName, scopes: [...SCOPES], expiresAt: null, ...(user ? { userId: user.id } : {}) },
      audit: ({ id }) => ({ teamId: null, subject: String(id), detail: null }),
      effect(output) {
        useUp();
        const person = user ?? newUser(model, String(output["userId"]), email);
        person.verified = true;
        person.keys.push(keyFrom(model, person, output, null));
      },
    };
  },
});

/**
 * Counts a try of a code. Returns a function that uses up the right code.
 * @throws Refused for a wrong code.
 */
export function tryCode(model: Model, email: string, code: string): () => void {
  const open = model.openCodes(email);
  const triable = open.filter(({ triesLeft }) => triesLeft > 0);
  const right = open.find(({ long }) => long === code) ?? triable.find((each) => each.code === code);
  // A try counts against each code that it could have matched, even if refused; the long form counts against none.
  if (right?.long !== code) for (const each of triable) each.triesLeft -= 1;
  if (!right) return refuse("bad_request", "code_invalid");
  return () => {
    const others = (model.codes.get(email) ?? []).filter((each) => each !== right);
    model.codes.set(email, others);
  };
}

/** Mostly an address with codes, and mostly a right code. */
export function drawCode(model: Model, { user }: Caller, draw: Draw): { email: string; code: string } {
  const email = draw.one(draw.once(5) ? [user.email] : codesOf(model)) ?? user.email;
  const known = draw.one(model.codes.get(email) ?? []);
  const right = (draw.once(4) ? known?.long : known?.code) ?? "00000000";
  return { email, code: draw.once(4) ? "not this" : right };
}

function newUser(model: Model, id: string, email: string): User {
  const user: User = { id, email, verified: true, name: null, keys: [], personal: { team: null } };
  model.users.push(user);
  return user;
}

export function keyFrom(model: Model, owner: User, output: Readonly<Record<string, unknown>>, madeBy: Key | null): Key {
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
    madeBy,
  };
}

const shown = (model: Model, { id, name, scopes, endsAt, madeBy }: Key) => {
  const createdByKey = madeBy?.id ?? null;
  return { id, name, scopes, createdByKey, expiresAt: endsAt === null ? null : model.toService(endsAt) };
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
    const end = earlier(expiresAt === undefined ? null : model.fromService(expiresAt), key.endsAt);
    return {
      output: { name, scopes: [...wanted], expiresAt: end === null ? null : model.toService(end), revokedAt: null },
      audit: ({ id }) => ({ teamId: null, subject: String(id), detail: wanted.join(" ") }),
      effect: (output) => void user.keys.push(keyFrom(model, user, output, key)),
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

const earlier = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.min(one, other);

/** @throws Refused when the key in use lacks a scope that the other key has. */
function assertCovered({ key }: Caller, { scopes }: Key): void {
  if (scopes.some((scope) => !key.scopes.includes(scope))) refuse("forbidden", "scope_not_held");
}

export const revokeApiKey = defineMove<{ id: string }>({
  weight: 1,
  input: (model, { user }, draw) => ({ id: drawId(model, draw, user.keys.slice(1), keysOfAll(model)) }),
  expect(model, me, { id }) {
    const key = keyOf(me, id);
    if (key !== me.key) assertCovered(me, key);
    const ending = model.withDescendants(key).filter(({ revoked }) => !revoked);
    const others = ending.filter((each) => each !== key);
    const detail = others.length > 0 ? `with ${others.length} that it had made` : null;
    return {
      output: { id },
      audit: () => ({ teamId: null, subject: id, detail }),
      effect() {
        for (const each of ending) each.revoked = true;
      },
    };
  },
});

/** The key that created this one, the key that created that one, and so on. */
const makersOf = ({ madeBy }: Key): Key[] => (madeBy ? [madeBy, ...makersOf(madeBy)] : []);

export const rotateApiKey = defineMove<{ id: string; graceSeconds?: number | undefined }>({
  weight: 2,
  input(model, { user }, draw) {
    if (user.keys.length > KEYS_ENOUGH) throw new Unasked();
    const id = drawId(model, draw, user.keys.slice(1), keysOfAll(model));
    return { id, graceSeconds: draw.once(2) ? draw.one([3_600, 0]) : undefined };
  },
  expect(model, me, { id, graceSeconds = 86_400 }) {
    const old = keyOf(me, id);
    assertCovered(me, old);
    if (!model.opens(old) || old.replaced) refuse("conflict", "api_key_not_active");
    if (makersOf(me.key).includes(old)) refuse("forbidden", "maker_is_protected");
    const keepsPlace = old === me.key || makersOf(old).includes(me.key);
    return {
      output: { name: old.name, scopes: old.scopes, revokedAt: null },
      audit: (made) => ({ teamId: null, subject: id, detail: `replaced by ${String(made["id"])}` }),
      async effect(output, real) {
        const made = keyFrom(model, me.user, output, keepsPlace ? old.madeBy : me.key);
        const lifetime = old.endsAt === null ? null : made.madeAt + old.endsAt - old.madeAt;
        const latest = earlier(me.key.endsAt, made.madeBy?.endsAt ?? null);
        const heirs = keepsPlace ? me.user.keys.filter((each) => each.madeBy === old && model.opens(each)) : [];
        for (const heir of heirs) heir.madeBy = made;
        const ends = new Map([[made, earlier(lifetime, latest)]]);
        for (const each of model.withDescendants(old)) {
          ends.set(each, earlier(each.endsAt, made.madeAt + graceSeconds * 1_000));
        }
        old.replaced = true;
        me.user.keys.push(made);
        await takeEnds(model, real, ends);
      },
    };
  },
});

/** The most time between the service's first look at the clock and the stored creation time of a key. */
const CLOCKS_APART_MS = 5_000;

/** Takes keys' ends from the database if they are about right: the service read the clock slightly earlier or later. */
async function takeEnds(model: Model, { world }: Real, ends: ReadonlyMap<Key, number | null>): Promise<void> {
  for (const [key, about] of ends) {
    const { expiresAt } = await world.database.models.apiKey.findUniqueOrThrow({ where: { id: key.id } });
    const exact = expiresAt && model.fromService(expiresAt.toISOString());
    if ((exact === null) !== (about === null) || Math.abs((exact ?? 0) - (about ?? 0)) > CLOCKS_APART_MS) {
      throw new Disagreement(`${model.readable(key.id)} ends at ${exact}, and the model says at about ${about}.`);
    }
    key.endsAt = exact;
  }
}
