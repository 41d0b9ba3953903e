import { describe, expect, it, vi } from "vitest";
import { changeEmail } from "../../../src/features/accounts/change-email.js";
import { deleteAccount } from "../../../src/features/accounts/delete-account.js";
import { moveUserTo } from "../../../src/features/accounts/manage-user.js";
import { REFUSED } from "../../../src/features/billing/account.js";
import { createTeamCheckout } from "../../../src/features/billing/create-team-checkout.js";
import { PaymentProviderError } from "../../../src/features/billing/failures.js";
import { noteFormerPayer } from "../../../src/features/billing/payer.js";
import { reconcileAccount, reconcileDueAccount } from "../../../src/features/billing/reconcile.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import { deleteTeam } from "../../../src/features/teams/delete-team.js";
import { transferTeam } from "../../../src/features/teams/transfer-team.js";
import { LIMITS } from "../../../src/limits.js";
import { Payments } from "../../../src/platform/billing/payments.js";
import { stripeClient } from "../../../src/platform/billing/stripe-client.js";
import type { Fault } from "../../../src/stand-in/stripe/index.js";
import { type StripeWorld, createStripeWorld, customerOf, holdLock } from "../../support/billing.js";
import { waitingForLocks } from "../../support/locks.js";
import { roundsOf } from "../../support/rounds.js";
import { columnsWith } from "../../support/tables.js";
import { type Staff, aTeam } from "../../support/teams.js";
import type { Actor } from "../../support/world.js";

const CREATION = /^\/v1\/customers$/;
const CUSTOMER = /^\/v1\/customers\/cus_/;
const ROUNDS = roundsOf(100);
const BOOKKEEPER = "billing@company.example.com";

interface Scene extends Staff {
  /** The team's customer at the provider. */
  readonly customer: string;
}

/** A team of three whose owner has opened a checkout, so that it has a customer. */
async function aCustomer(world: StripeWorld): Promise<Scene> {
  const staff = await aTeam(world);
  await staff.owner.did(createTeamCheckout);
  return { ...staff, customer: await customerOf(world, staff) };
}

const customersOf = ({ stripe }: StripeWorld) => stripeClient(stripe.secretKey, stripe.url).customers;

async function addressOf(world: StripeWorld, { customer }: Pick<Scene, "customer">): Promise<string | null> {
  const known = await customersOf(world).retrieve(customer);
  return "deleted" in known ? null : known.email;
}

const transfer = ({ teamId }: Staff, from: Actor, to: Actor) =>
  from.did(transferTeam, { teamId, userId: to.caller.userId });

const reconcile = (world: StripeWorld, { teamId }: Staff) => reconcileAccount(world.services, teamId);

/** The changes of customers that the provider was asked for. */
const changesIn = ({ stripe }: StripeWorld) =>
  stripe.requests.filter(({ method, path }) => method === "POST" && CUSTOMER.test(path));

/** The same for readings. */
const readingsIn = ({ stripe }: StripeWorld) =>
  stripe.requests.filter(({ method, path }) => method === "GET" && CUSTOMER.test(path));

/** What is noted of the addresses that the customer must not keep. */
async function notesOf({ database }: StripeWorld, { teamId }: Staff): Promise<readonly string[]> {
  return (await database.models.billingAccount.findUniqueOrThrow({ where: { teamId } })).formerPayers;
}

/** Whether the customer still has to be compared with the team's owner. */
async function isPending(world: StripeWorld, team: Staff): Promise<boolean> {
  const notes = await notesOf(world, team);
  return notes.length > 0 && !notes.includes(REFUSED);
}

async function changeAddress(world: StripeWorld, actor: Actor, email: string): Promise<void> {
  await world.giveCode(email, "01234567");
  await actor.did(changeEmail, { email, code: "01234567" });
}

describe("the customer at the provider", () => {
  it.each(["before anybody has paid", "with a subscription"])("gets the address of a new owner %s", async (when) => {
    await using world = await createStripeWorld();
    const team = await aCustomer(world);
    const { owner, admin } = team;
    if (when === "with a subscription") {
      await world.stripe.pay((await owner.did(createTeamCheckout)).sessionId);
      await reconcile(world, team);
    }
    await transfer(team, owner, admin);
    expect([await addressOf(world, team), changesIn(world)]).toEqual([owner.email, []]);

    await reconcile(world, team);
    await reconcile(world, team);

    expect([await addressOf(world, team), await isPending(world, team)]).toEqual([admin.email, false]);
    expect(changesIn(world).map(({ params }) => params)).toEqual([{ email: admin.email }]);
    expect(await columnsWith(world.database.pool, admin.email)).not.toContain("billing_operation.request");
  });

  it("gets the new address of the owner, by themselves or by an operator, and of nobody else", async () => {
    await using world = await createStripeWorld();
    const team = await aCustomer(world);

    await changeAddress(world, team.owner, "new@example.com");
    await reconcile(world, team);
    expect(await addressOf(world, team)).toBe("new@example.com");
    await moveUserTo(world.services, "new@example.com", "newer@example.com");
    await reconcile(world, team);
    expect(await addressOf(world, team)).toBe("newer@example.com");

    await customersOf(world).update(team.customer, { email: team.member.email });
    await changeAddress(world, team.member, "member@example.com");
    expect(await isPending(world, team)).toBe(false);
  });

  it("keeps an address that somebody set in the portal, also at the next transfers", async () => {
    await using world = await createStripeWorld();
    const team = await aCustomer(world);
    const { owner, admin, member } = team;
    await customersOf(world).update(team.customer, { email: BOOKKEEPER });
    for (const [from, to] of [
      [owner, admin],
      [admin, member],
    ] as const) {
      await transfer(team, from, to);
      await reconcile(world, team);

      expect([await addressOf(world, team), await isPending(world, team)]).toEqual([BOOKKEEPER, false]);
    }
    // The owner's own address, in other letters.
    await customersOf(world).update(team.customer, { email: member.email.toUpperCase() });
    await transfer(team, member, owner);
    await reconcile(world, team);
    expect(await addressOf(world, team)).toBe(owner.email);
  });

  it("gets the last of several owners at once, and is not changed for one who was owner before", async () => {
    await using world = await createStripeWorld();
    const team = await aCustomer(world);
    const { owner, admin, member } = team;
    await transfer(team, owner, admin);
    await transfer(team, admin, owner);
    await reconcile(world, team);
    expect([await addressOf(world, team), changesIn(world), await isPending(world, team)]).toEqual([
      owner.email,
      [],
      false,
    ]);

    await transfer(team, owner, admin);
    await changeAddress(world, admin, "admin@example.com");
    await transfer(team, admin, member);
    await reconcile(world, team);

    expect(await addressOf(world, team)).toBe(member.email);
    expect(changesIn(world)).toHaveLength(1);
  });

  it("gets the last owner if the team is transferred while the one before is sent", async () => {
    await using world = await createStripeWorld();
    const team = await aCustomer(world);
    const { owner, admin, member } = team;
    await transfer(team, owner, admin);
    world.stripe.fail({ kind: "slow", delayMs: 500, method: "POST", path: CUSTOMER });

    const sending = reconcile(world, team);
    await vi.waitFor(() => expect(changesIn(world)).toHaveLength(1), 60_000);
    await transfer(team, admin, member);
    await sending;
    expect([await addressOf(world, team), await isPending(world, team)]).toEqual([admin.email, true]);
    await reconcile(world, team);

    expect([await addressOf(world, team), await isPending(world, team)]).toEqual([member.email, false]);
  });

  it("is compared again if the team is transferred while it is compared", async () => {
    await using world = await createStripeWorld();
    const team = await aCustomer(world);
    const { owner, admin, member } = team;
    // Back to the owner, whose address is noted now: the next transfer notes nothing new.
    await transfer(team, owner, admin);
    await transfer(team, admin, owner);
    world.stripe.fail({ kind: "slow", delayMs: 500, method: "GET", path: CUSTOMER });

    const comparing = reconcile(world, team);
    await vi.waitFor(() => expect(readingsIn(world)).toHaveLength(1), 60_000);
    await transfer(team, owner, member);
    await comparing;
    expect(await notesOf(world, team)).toHaveLength(2);
    await reconcile(world, team);

    expect([await addressOf(world, team), await isPending(world, team)]).toEqual([member.email, false]);
  });

  it.each([
    ["while its owner is read", "LOCK TABLE team_member", undefined],
    ["while the outcome is stored", "SELECT FROM team FOR UPDATE", "POST"],
    ["while the notes are cleared", "SELECT FROM team FOR UPDATE", "GET"],
  ] as const)("gets the last owner if the team is transferred %s", async (_when, lock, slow) => {
    await using world = await createStripeWorld();
    const team = await aCustomer(world);
    const { owner, admin, member, teamId } = team;
    // Nothing is sent if the first new owner has set their own address already.
    if (slow !== "POST") await customersOf(world).update(team.customer, { email: admin.email });
    await transfer(team, owner, admin);
    const earlier = world.stripe.requests.length;
    if (slow) world.stripe.fail({ kind: "slow", delayMs: 500, method: slow, path: CUSTOMER });
    const isAsked = ({ method, path }: { method: string; path: string }) => method === slow && CUSTOMER.test(path);
    const client = await world.database.pool.connect();
    const begin = () => client.query(`BEGIN; ${lock}`);
    if (!slow) await begin();

    const comparing = reconcile(world, team);
    if (slow) {
      await vi.waitFor(() => expect(world.stripe.requests.slice(earlier).some(isAsked)).toBe(true), 60_000);
      await begin();
    }
    await expect.poll(() => waitingForLocks(world), { timeout: 60_000 }).toBe(1);
    // What a transfer does, in its order.
    await client.query("UPDATE team_member SET role = 'admin' WHERE team_id = $1 AND role = 'owner'", [teamId]);
    await client.query("UPDATE team_member SET role = 'owner' WHERE user_id = $1", [member.caller.userId]);
    await noteFormerPayer(world.database, teamId, admin.email);
    await client.query("COMMIT");
    client.release();
    await comparing;
    await reconcile(world, team);

    expect([await addressOf(world, team), await isPending(world, team)]).toEqual([member.email, false]);
  });

  it.each([
    ["is resent first", 0, 4],
    ["is abandoned, if it is an hour old", 61, 3],
  ])("gets the last owner after a change whose outcome is unknown, which %s", async (_what, minutes, requests) => {
    await using world = await createStripeWorld();
    const team = await aCustomer(world);
    const { owner, admin, member } = team;
    await transfer(team, owner, admin);
    world.stripe.fail({ kind: "cut-after", times: 2, method: "POST", path: CUSTOMER });
    await expect(reconcile(world, team)).rejects.toThrow(PaymentProviderError);
    expect(await addressOf(world, team)).toBe(admin.email);
    await world.database.pool.query(
      `UPDATE billing_operation SET created_at = now() - interval '${minutes} minutes' WHERE outcome IS NULL`,
    );

    await transfer(team, admin, member);
    await reconcile(world, team);

    expect([await addressOf(world, team), await isPending(world, team)]).toEqual([member.email, false]);
    const [first, ...others] = changesIn(world).map(({ idempotencyKey }) => idempotencyKey);
    expect(others).toEqual([...Array(requests - 2).fill(first), expect.any(String)]);
    expect(others.at(-1)).not.toBe(first);
  });

  it("gets the new owner if it is created while the team is transferred", async () => {
    await using world = await createStripeWorld();
    const team = await aTeam(world);
    const { owner, admin } = team;
    world.stripe.fail({ kind: "slow", delayMs: 500, method: "POST", path: CREATION });
    const opening = owner.does(createTeamCheckout);
    await vi.waitFor(() => expect(world.stripe.requests).toHaveLength(1), 60_000);
    await transfer(team, owner, admin);
    await opening;
    const customer = await customerOf(world, team);
    expect(await addressOf(world, { customer })).toBe(owner.email);

    await reconcile(world, team);

    expect(await addressOf(world, { customer })).toBe(admin.email);
  });

  it("gets the owner's present address if it is created with one that changed while the owner waited", async () => {
    await using world = await createStripeWorld();
    const team = await aTeam(world);
    const { owner, teamId } = team;
    await world.database.models.billingAccount.create({ data: { teamId } });
    const lock = await holdLock(world, teamId);
    const opening = owner.does(createTeamCheckout);
    await lock.waitedFor();
    await changeAddress(world, owner, "new@example.com");
    // As if whoever held the lock had compared: there was no customer.
    await world.database.models.billingAccount.update({ where: { teamId }, data: { formerPayers: [] } });
    await lock.release();
    expect(await opening).toMatchObject({ ok: true });

    await reconcile(world, team);

    expect(await addressOf(world, { customer: await customerOf(world, team) })).toBe("new@example.com");
  });

  it("gets the new owner although the former one has deleted their account, whose address is kept nowhere", async () => {
    await using world = await createStripeWorld();
    const team = await aCustomer(world);
    const { owner, admin } = team;
    await transfer(team, owner, admin);
    await owner.did(deleteAccount, { email: owner.email });
    await world.database.models.mail.deleteMany();
    expect(await columnsWith(world.database.pool, owner.email)).toEqual([]);

    await reconcile(world, team);

    expect(await addressOf(world, team)).toBe(admin.email);
  });
});

/** Every fault of the provider, repeated more often than the client retries by itself. */
const FAULTS: readonly Fault[] = [
  { kind: "hang", times: 2 },
  { kind: "slow", times: 2, delayMs: 2_000 },
  { kind: "cut-before", times: 2 },
  { kind: "cut-after", times: 2 },
  { kind: "429", times: 2 },
  { kind: "429-lock", times: 60 },
  { kind: "500", times: 2 },
  { kind: "502-html", times: 2 },
  { kind: "json-number", times: 2 },
  { kind: "hollow", times: 1 },
];

function reconcileImpatiently({ services, stripe }: StripeWorld, { teamId }: Staff) {
  const waits = { ...LIMITS.payments, requestMs: 700, changeMs: 1_500 };
  const payments = new Payments({ ...stripe, apiBase: stripe.url }, waits);
  return reconcileAccount({ ...services, billing: { ...services.billing, payments } }, teamId);
}

describe.concurrent("a provider that fails", () => {
  it.each([
    ...FAULTS.map((fault) => ["POST", fault.kind, fault] as const),
    ["GET", "502-html", { kind: "502-html", times: 2 }] as const,
  ])("at %s with %s delays the change of the address, which is then made once", async (method, _kind, fault) => {
    await using world = await createStripeWorld();
    const team = await aCustomer(world);
    const { owner, admin } = team;
    await transfer(team, owner, admin);
    world.stripe.fail({ ...fault, method, path: CUSTOMER });

    await expect(reconcileImpatiently(world, team)).rejects.toThrow(PaymentProviderError);
    world.stripe.clearFaults();
    expect(await isPending(world, team)).toBe(true);
    await reconcile(world, team);

    expect([await addressOf(world, team), await isPending(world, team)]).toEqual([admin.email, false]);
    const done = changesIn(world).filter(({ status }) => (status ?? 500) < 300);
    expect(new Set(done.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(world.bugs).toEqual([]);
  });
});

it("answers a transfer without asking the provider, and does not let readers wait for the comparison", async () => {
  await using world = await createStripeWorld();
  const team = await aCustomer(world);
  const earlier = world.stripe.requests.length;

  await transfer(team, team.owner, team.admin);
  await changeAddress(world, team.admin, "new@example.com");

  expect(world.stripe.requests).toHaveLength(earlier);
  await team.admin.did(teamSubscription);
  expect(world.stripe.requests.length).toBeGreaterThan(earlier);
  expect([...readingsIn(world), ...changesIn(world)]).toEqual([]);
});

it(`follows the owner through ${ROUNDS} transfers that race with comparisons, whose outcomes are often unknown`, async () => {
  await using world = await createStripeWorld();
  const team = await aCustomer(world);
  const people = [team.owner, team.admin, team.member] as const;
  const ignore = (error: unknown) => {
    if (!(error instanceof PaymentProviderError)) throw error;
  };
  for (let round = 0; round < ROUNDS; round++) {
    const [from, to] = [people[round % 3] ?? team.owner, people[(round + 1) % 3] ?? team.owner];
    if (round % 2 === 0) world.stripe.fail({ kind: "cut-after", times: 2, method: "POST", path: CUSTOMER });
    const comparing = [1, 2].map(() => reconcile(world, team).catch(ignore));
    await Promise.all([transfer(team, from, to), ...comparing]);
    if (round % 3 > 0) continue;
    world.stripe.clearFaults();
    while (await isPending(world, team)) await reconcile(world, team);

    expect(await addressOf(world, team)).toBe(to.email);
  }
  expect(world.bugs).toEqual([]);
});

it("does not ask again for an address that the provider refuses, and logs that", async () => {
  await using world = await createStripeWorld();
  const team = await aCustomer(world);
  await transfer(team, team.owner, team.admin);
  world.stripe.fail({ kind: "400", method: "POST", path: CUSTOMER });

  await reconcile(world, team);
  await reconcile(world, team);

  expect([changesIn(world).length, await isPending(world, team)]).toEqual([1, false]);
  expect(world.log.join("")).toContain("refuses the address of a team's owner");
});

it.each([
  ["the owner changes it", ({ admin }: Staff, world: StripeWorld) => changeAddress(world, admin, "new@example.com")],
  ["the team gets another owner", (team: Staff) => transfer(team, team.admin, team.member)],
])("sends the next address after one that the provider has refused, once %s", async (_when, change) => {
  await using world = await createStripeWorld();
  const team = await aCustomer(world);
  await transfer(team, team.owner, team.admin);
  world.stripe.fail({ kind: "400", method: "POST", path: CUSTOMER });
  await reconcile(world, team);
  expect(await addressOf(world, team)).toBe(team.owner.email);
  const due = async () => {
    await world.database.pool.query("UPDATE billing_account SET checked_at = now() - interval '61 seconds'");
    return reconcileDueAccount(world.services);
  };
  expect(await due()).toBe(false);

  await change(team, world);

  expect(await due()).toBe(true);
  const { email } = await world.database.models.user.findFirstOrThrow({
    where: { membership: { teamId: team.teamId, role: "owner" } },
  });
  expect([await addressOf(world, team), await notesOf(world, team)]).toEqual([email, []]);
  expect([changesIn(world).length, await due()]).toEqual([2, false]);
});

it("keeps the former owner's address if that one gets the team back after a refusal of the new one's", async () => {
  await using world = await createStripeWorld();
  const team = await aCustomer(world);
  await transfer(team, team.owner, team.admin);
  world.stripe.fail({ kind: "400", method: "POST", path: CUSTOMER });
  await reconcile(world, team);
  await transfer(team, team.admin, team.owner);

  await reconcile(world, team);

  expect([await addressOf(world, team), await notesOf(world, team)]).toEqual([team.owner.email, []]);
  expect(changesIn(world)).toHaveLength(1);
});

it("asks for nothing where the customer was deleted at the provider, or is deleted meanwhile", async () => {
  await using world = await createStripeWorld();
  const team = await aCustomer(world);
  const { owner, admin, member } = team;
  await transfer(team, owner, admin);
  world.stripe.fail({ kind: "slow", delayMs: 1_500, method: "GET", path: CUSTOMER });
  const comparing = reconcile(world, team);
  await vi.waitFor(() => expect(readingsIn(world)).toHaveLength(1), 60_000);
  await customersOf(world).del(team.customer);
  await comparing;
  expect([changesIn(world).map(({ status }) => status), await isPending(world, team)]).toEqual([[404], false]);

  await transfer(team, admin, member);
  await reconcile(world, team);

  expect([changesIn(world).length, await isPending(world, team)]).toEqual([1, false]);
});

it("asks for nothing for a team without a customer, or one that was deleted", async () => {
  await using world = await createStripeWorld();
  const [young, ended] = [await aTeam(world), await aCustomer(world)];
  await world.database.models.billingAccount.create({ data: { teamId: young.teamId } });
  for (const team of [young, ended]) await transfer(team, team.owner, team.admin);
  await ended.admin.did(deleteTeam, { teamId: ended.teamId });

  for (const team of [young, ended]) {
    await reconcile(world, team);

    expect(await isPending(world, team)).toBe(false);
  }
  expect(changesIn(world)).toEqual([]);
});

it("is a reason for the background job to read the account within a minute, until it is done", async () => {
  await using world = await createStripeWorld();
  const team = await aCustomer(world);
  const runs = async () => {
    await world.database.pool.query("UPDATE billing_account SET checked_at = now() - interval '61 seconds'");
    return reconcileDueAccount(world.services);
  };
  expect(await runs()).toBe(false);
  await transfer(team, team.owner, team.admin);
  world.stripe.fail({ kind: "502-html", times: 2, method: "POST", path: CUSTOMER });
  await expect(runs()).rejects.toThrow(PaymentProviderError);

  expect(await runs()).toBe(true);

  expect(await addressOf(world, team)).toBe(team.admin.email);
  expect(await runs()).toBe(false);
});
