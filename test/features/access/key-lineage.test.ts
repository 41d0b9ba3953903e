import fc from "fast-check";
import { expect, it } from "vitest";
import { createApiKey } from "../../../src/features/access/create-api-key.js";
import type { NewApiKey } from "../../../src/features/access/api-key.js";
import { apiKeys } from "../../../src/features/access/list-api-keys.js";
import { revokeApiKey } from "../../../src/features/access/revoke-api-key.js";
import { rotateApiKey } from "../../../src/features/access/rotate-api-key.js";
import type { Scope } from "../../../src/operation/permission.js";
import { opens } from "../../support/keys.js";
import { type Actor, type World, createWorld } from "../../support/world.js";
import { roundsOf } from "../../support/rounds.js";

const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();

it("lists a key with the key that created it, and with its successor", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const made = await ann.did(createApiKey, { name: "CI" });
  const next = await ann.did(rotateApiKey, { id: made.id });

  const { keys } = await ann.did(apiKeys);

  const first = ann.caller.keyId;
  expect(keys.map(({ id, createdByKey, replacedBy }) => [id, createdByKey, replacedBy])).toEqual([
    [next.id, first, null],
    [made.id, first, next.id],
    [first, null, null],
  ]);
});

it("lets no key live longer than the key that creates it, whatever end is requested", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const expiresAt = inDays(2);
  const maker = await as(ann, await ann.did(createApiKey, { name: "Short", expiresAt }));
  const ends = [];
  for (const wish of [undefined, null, inDays(1), inDays(3), "9999-12-31T00:00:00Z"]) {
    ends.push((await maker.did(createApiKey, { name: "Made", expiresAt: wish })).expiresAt?.toISOString());
  }
  // The key in use has no end; the one that created the old key has.
  const { id } = await maker.did(createApiKey, { name: "Made" });
  world.travel(3_600_000);
  ends.push((await ann.did(rotateApiKey, { id })).expiresAt?.toISOString());
  ends.push((await maker.did(rotateApiKey, { id: maker.caller.keyId })).expiresAt?.toISOString());
  expect(ends.map((end) => (end ?? "never") <= expiresAt)).toEqual([true, true, true, true, true, true, true]);
});

it("ends a key with all its descendants, and lists them", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const child = await ann.did(createApiKey, { name: "Child" });
  const grandchild = await (await as(ann, child)).did(createApiKey, { name: "Grandchild" });
  const other = await ann.did(createApiKey, { name: "Other" });

  const { alsoRevoked } = await ann.did(revokeApiKey, { id: child.id });

  expect(alsoRevoked).toEqual([grandchild.id]);
  expect(await open(world, [child, grandchild, other])).toEqual([false, false, true]);
  const entry = await world.database.models.auditEntry.findFirst({ where: { action: "revokeApiKey" } });
  expect(entry?.detail).toBe("with 1 that it had made");
});

it("keeps the keys that a replaced key created, and ends them with its successor", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const old = await ann.did(createApiKey, { name: "Old" });
  const child = await (await as(ann, old)).did(createApiKey, { name: "Child" });
  const successor = await (await as(ann, old)).did(rotateApiKey, { id: old.id, graceSeconds: 0 });
  await ann.did(revokeApiKey, { id: old.id });
  const afterOld = await open(world, [child, successor]);

  await ann.did(revokeApiKey, { id: successor.id });

  expect(afterOld).toEqual([true, true]);
  expect(await open(world, [child, successor])).toEqual([false, false]);
});

it("refuses to replace or revoke a key with more scopes, and to replace an ancestor", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const small = await as(ann, await ann.did(createApiKey, { name: "Small", scopes: ["keys:write"] }));
  const equal = await as(ann, await ann.did(createApiKey, { name: "Equal" }));
  const large = await ann.did(createApiKey, { name: "Large", scopes: ["keys:write", "teams:read"] });

  for (const id of [large.id, ann.caller.keyId]) {
    expect(await small.does(revokeApiKey, { id })).toBeRefused("forbidden", "scope_not_held");
    expect(await small.does(rotateApiKey, { id })).toBeRefused("forbidden", "scope_not_held");
  }
  expect(await equal.does(rotateApiKey, { id: ann.caller.keyId })).toBeRefused("forbidden", "maker_is_protected");
  expect(await open(world, [ann, large])).toEqual([true, true]);
  expect(await equal.does(rotateApiKey, { id: large.id })).toMatchObject({ ok: true });
  expect(await small.does(revokeApiKey, { id: small.caller.keyId })).toMatchObject({ ok: true });
});

it("lets no new key survive a key that is revoked while it creates it", async () => {
  await using world = await createWorld();
  for (let round = 0; round < 15; round++) {
    const ann = await world.user();
    const thief = await as(ann, await ann.did(createApiKey, { name: "Stolen" }));
    const making = Array.from({ length: 5 }, () => thief.does(createApiKey, { name: "Kept" }).catch(() => undefined));

    await Promise.all([...making, ann.did(revokeApiKey, { id: thief.caller.keyId })]);

    const made = (await Promise.all(making)).flatMap((verdict) => (verdict?.ok ? [verdict.output] : []));
    expect(await open(world, made)).toEqual(made.map(() => false));
  }
});

it("lets a user create a hundred keys an hour, including replacements, and no more", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  for (let n = 0; n < 50; n++) {
    const { id } = await ann.did(createApiKey, { name: "CI" });
    await ann.did(rotateApiKey, { id, graceSeconds: 0 });
    await world.database.models.apiKey.deleteMany({ where: { name: "CI" } });
  }

  expect(await ann.does(createApiKey, { name: "CI" })).toBeRefused("rate_limited");
  expect(await ann.does(rotateApiKey, { id: ann.caller.keyId })).toBeRefused("rate_limited");
});

it("lets two hundred keys work at a time, including replaced ones, and no more", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await world.database.pool.query(
    `INSERT INTO api_key (id, user_id, name, prefix, hash, scopes)
     SELECT gen_random_uuid(), $1, 'Old', '', sha256(n::text::bytea), '{}' FROM generate_series(1, 198) n`,
    [ann.caller.userId],
  );

  const made = await ann.did(rotateApiKey, { id: ann.caller.keyId });
  const successor = await as(ann, made);

  const refused = await successor.does(rotateApiKey, { id: made.id });
  expect(refused).toBeRefused("conflict", "too_many_api_keys");
  await successor.did(revokeApiKey, { id: ann.caller.keyId });
  expect(await successor.does(rotateApiKey, { id: made.id })).toMatchObject({ ok: true });
});

/** A key in the model: which key created it, and by when it must have ended. */
interface Known {
  readonly made: Pick<NewApiKey, "id" | "key" | "scopes">;
  maker: Known | undefined;
  end: number;
  ended: boolean;
  replaced: boolean;
}

const SCOPE_SETS: readonly Scope[][] = [
  ["keys:write"],
  ["keys:write", "memories:read"],
  ["keys:write", "memories:read", "teams:read"],
];

const step = fc.record({
  what: fc.constantFrom("create", "create", "rotate", "revoke"),
  actor: fc.nat(20),
  target: fc.nat(20),
  scopes: fc.constantFrom(undefined, ...SCOPE_SETS),
  days: fc.constantFrom(undefined, 1, 30),
  graceSeconds: fc.constantFrom(0, 3_600),
});

it("never lets a key do more than its ancestors, or outlive them, after any sequence of steps", async () => {
  await using world = await createWorld();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), async (steps) => {
      const ann = await world.user({ scopes: SCOPE_SETS[2] ?? [] });
      const first = { id: ann.caller.keyId, key: ann.key, scopes: SCOPE_SETS[2] ?? [] };
      const known: Known[] = [{ made: first, maker: undefined, end: Infinity, ended: false, replaced: false }];
      for (const { actor, target, ...wish } of steps) {
        const [by, other] = [known[actor % known.length], known[target % known.length]];
        if (by && other && !by.ended) await take(ann, known, { ...wish, by, other });
      }
      const shouldOpen = known.map(({ ended }) => !ended);
      expect(
        await open(
          world,
          known.map(({ made }) => made),
        ),
      ).toEqual(shouldOpen);
    }),
    // Shrinking a failing case must not exceed the test's timeout.
    { numRuns: roundsOf(25), interruptAfterTimeLimit: 40_000 },
  );
});

interface Step {
  readonly what: string;
  readonly by: Known;
  readonly other: Known;
  readonly scopes: Scope[] | undefined;
  readonly days: number | undefined;
  readonly graceSeconds: number;
}

/** Does a step, and updates the model with the expected result. */
async function take(ann: Actor, known: Known[], { what, by, other, scopes, days, graceSeconds }: Step): Promise<void> {
  const actor = await ann.withKey(by.made.key);
  const { id } = other.made;
  const add = (made: NewApiKey, maker: Known | undefined) => {
    const end = made.expiresAt?.getTime() ?? Infinity;
    expect(covers(by, made.scopes)).toBe(true);
    expect(end).toBeLessThanOrEqual(by.end);
    if (maker) expect(end).toBeLessThanOrEqual(maker.end);
    const next = { made, maker, end, ended: false, replaced: false };
    known.push(next);
    return next;
  };
  if (what === "create") {
    const verdict = await actor.does(createApiKey, { name: "K", scopes, expiresAt: days && inDays(days) });
    expect(verdict.ok).toBe(covers(by, scopes ?? []));
    if (verdict.ok) add(verdict.output, by);
  } else if (what === "revoke") {
    const verdict = await actor.does(revokeApiKey, { id });
    expect(verdict.ok).toBe(by === other || covers(by, other.made.scopes));
    if (verdict.ok) for (const each of known) each.ended ||= comesFrom(each, other);
  } else {
    const verdict = await actor.does(rotateApiKey, { id, graceSeconds });
    const isFree = by === other || !comesFrom(by, other);
    expect(verdict.ok).toBe(covers(by, other.made.scopes) && isFree && !other.ended && !other.replaced);
    if (!verdict.ok) return;
    const keepsPlace = comesFrom(other, by);
    const next = add(verdict.output, keepsPlace ? other.maker : by);
    if (keepsPlace) for (const each of known) if (each.maker === other && !each.ended) each.maker = next;
    const end = Date.now() + graceSeconds * 1_000;
    for (const each of known.filter((candidate) => comesFrom(candidate, other))) {
      each.end = Math.min(each.end, end);
      each.ended ||= graceSeconds === 0;
    }
    other.replaced = true;
  }
}

const covers = (by: Known, scopes: readonly Scope[]): boolean =>
  scopes.every((scope) => by.made.scopes.includes(scope));

function comesFrom(key: Known, ancestor: Known): boolean {
  for (let at: Known | undefined = key; at; at = at.maker) if (at === ancestor) return true;
  return false;
}

const as = (actor: Actor, { key }: Pick<NewApiKey, "key">): Promise<Actor> => actor.withKey(key);

const open = (world: World, keys: ReadonlyArray<{ readonly key: string }>): Promise<boolean[]> =>
  Promise.all(keys.map(({ key }) => opens(world, key)));
