import type { TeamRole } from "../../src/operation/context.js";
import { ANY, type Model, type Team } from "./model.js";
import type { Draw } from "./draw.js";
import { type Caller, Unasked, defineMove, refuse } from "./move.js";
import { inRole, members, standing } from "./team-moves.js";

/** More upgrades of one team within a minute are refused, because Stripe limits how many invoices it creates. */
const UPGRADES_ENOUGH = 6;

/** @throws Refused for a caller without a team, or with too small a role. */
function ownTeam(model: Model, me: Caller, needed: TeamRole): Team {
  const team = model.teamOf(me.user) ?? refuse("not_found", "no_team");
  return standing(model, me, { teamId: team.id }, needed);
}

/** Paid seats count as soon as the provider is asked, even if the request is then refused. */
export function maxMembersOf({ billing, ...team }: Team): number {
  return billing.status === "active"
    ? Math.max(team.members.size, billing.nextSeats ?? billing.seats ?? 0)
    : team.maxMembers;
}

/** The caller's own team, if they own it and pay for it. */
function subscribedTeam(model: Model, me: Caller): Team {
  const team = ownTeam(model, me, "owner");
  team.maxMembers = maxMembersOf(team);
  if (team.billing.status !== "active") refuse("conflict", "subscription_required");
  return team;
}

const shown = ({ billing, members }: Team) => {
  const { status, seats, nextSeats, ending } = billing;
  const plan = status === "active" ? "team" : null;
  const still = status === "active" && ending;
  return {
    status,
    seats,
    plan,
    memberCount: members.size,
    nextSeats,
    ...(status === "active" ? { cancelAtPeriodEnd: still } : {}),
  };
};

export const createTeamCheckout = defineMove<{ successUrl?: string | undefined }>({
  who: inRole("owner", "admin"),
  weight: 4,
  input: (_model, _me, draw) => ({
    successUrl: draw.once(5) ? draw.one(["https://app.example.com/paid", "https://evil.example.com/"]) : undefined,
  }),
  check({ successUrl }) {
    if (successUrl?.includes("evil")) refuse("bad_request");
  },
  expect(model, me) {
    const team = ownTeam(model, me, "owner");
    team.maxMembers = maxMembersOf(team);
    const { billing, maxMembers } = team;
    if (billing.status === "active") refuse("conflict", "already_subscribed");
    const open = billing.checkout?.seats === maxMembers ? billing.checkout : null;
    const detail = `seats: ${maxMembers}`;
    return {
      ...(open
        ? { output: { sessionId: open.sessionId } }
        : { audit: () => ({ teamId: team.id, subject: null, detail }) }),
      check: ({ sessionId }) =>
        !open && sessionId === billing.checkout?.sessionId ? "it is a checkout for other seats" : undefined,
      effect({ sessionId }) {
        billing.checkout = { sessionId: String(sessionId), seats: maxMembers };
        billing.hasCustomer = true;
      },
    };
  },
});

export const teamSubscription = defineMove<object>({
  who: members,
  weight: 2,
  input: () => ({}),
  expect: (model, me) => ({ output: { ...shown(ownTeam(model, me, "member")), stale: false } }),
});

export const upgradeTeam = defineMove<{ maxMembers: number }>({
  who: inRole("owner", "admin"),
  weight: 2,
  input(model, { user }, draw) {
    const team = model.teamOf(user);
    if (team && team.billing.upgrades >= UPGRADES_ENOUGH) throw new Unasked();
    const seats = team?.billing.seats ?? 5;
    return { maxMembers: Math.min(1_000, Math.max(1, seats + draw.one([1, 3, 0, -1]))) };
  },
  expect(model, me, { maxMembers }) {
    const team = subscribedTeam(model, me);
    const { billing } = team;
    if (maxMembers < (billing.seats ?? 0)) refuse("bad_request");
    if (maxMembers === billing.seats) return { output: { ...shown(team), seats: maxMembers } };
    if (billing.nextSeats !== null) refuse("conflict", "decrease_pending");
    const detail = `seats: ${billing.seats} → ${maxMembers}`;
    return {
      output: { ...shown(team), seats: maxMembers },
      audit: () => ({ teamId: team.id, subject: ANY, detail }),
      async effect(_output, { world }) {
        await world.stripe.delivered();
        billing.seats = maxMembers;
        billing.upgrades += 1;
        billing.invoices += 1;
        team.maxMembers = maxMembersOf(team);
      },
    };
  },
});

export const cancelTeamSubscription = defineMove<object>({
  who: inRole("owner", "admin"),
  weight: 1,
  input: () => ({}),
  expect(model, me) {
    const team = subscribedTeam(model, me);
    const { billing } = team;
    const audit = () => ({ teamId: team.id, subject: ANY, detail: "at the end of the period" });
    return {
      output: { ...shown(team), cancelAtPeriodEnd: true },
      ...(billing.ending ? {} : { audit }),
      async effect(_output, { world }) {
        await world.stripe.delivered();
        billing.ending = true;
      },
    };
  },
});

export const resumeTeamSubscription = defineMove<object>({
  who: inRole("owner", "admin"),
  weight: 1,
  input: () => ({}),
  expect(model, me) {
    const team = subscribedTeam(model, me);
    const { billing } = team;
    const audit = () => ({ teamId: team.id, subject: ANY, detail: "it is renewed again" });
    return {
      output: { ...shown(team), cancelAtPeriodEnd: false },
      ...(billing.ending ? { audit } : {}),
      async effect(_output, { world }) {
        await world.stripe.delivered();
        billing.ending = false;
      },
    };
  },
});

export const openBillingPortal = defineMove<{ returnUrl?: string | undefined }>({
  who: inRole("owner", "admin"),
  weight: 1,
  input: (_model, _me, draw) => ({
    returnUrl: draw.once(5) ? draw.one(["https://app.example.com/paid", "https://evil.example.com/"]) : undefined,
  }),
  check({ returnUrl }) {
    if (returnUrl?.includes("evil")) refuse("bad_request");
  },
  expect(model, me) {
    const team = ownTeam(model, me, "owner");
    if (!team.billing.hasCustomer) refuse("conflict", "subscription_required");
    return {
      audit: () => ({ teamId: team.id, subject: null, detail: null }),
      check: ({ url }) => (String(url).startsWith("http") ? undefined : "it is no link"),
    };
  },
});

export const teamInvoices = defineMove<object>({
  who: inRole("owner", "admin"),
  weight: 1,
  input: () => ({}),
  expect(model, me) {
    const team = ownTeam(model, me, "owner");
    return {
      check({ invoices }) {
        const isRight = Array.isArray(invoices) && invoices.length > 0 === (team.billing.status !== "none");
        return isRight ? undefined : "the invoices are not those of the subscription";
      },
    };
  },
});

const aboutAsMany = (model: Model, { user }: Caller, draw: Draw) => ({
  maxMembers: Math.min(1_000, Math.max(1, (model.teamOf(user)?.billing.seats ?? 5) + draw.one([1, 0, -1, -3]))),
});

export const downgradeTeam = defineMove<{ maxMembers: number }>({
  who: inRole("owner", "admin"),
  weight: 2,
  input: aboutAsMany,
  expect(model, me, { maxMembers }) {
    const team = subscribedTeam(model, me);
    const { billing } = team;
    const seats = billing.seats ?? 0;
    if (maxMembers > seats) refuse("bad_request");
    const nextSeats = maxMembers < seats ? maxMembers : null;
    const output = { ...shown(team), nextSeats };
    const before = billing.nextSeats ?? seats;
    if (maxMembers === before) return { output };
    if (team.members.size + model.pendingOf(team).length > maxMembers) refuse("conflict", "seats_in_use");
    return {
      output,
      audit: () => ({ teamId: team.id, subject: ANY, detail: `seats: ${before} → ${maxMembers}` }),
      async effect(_output, { world }) {
        await world.stripe.delivered();
        billing.nextSeats = nextSeats;
        team.maxMembers = maxMembersOf(team);
      },
    };
  },
});

export const teamUpgradePreview = defineMove<{ maxMembers: number }>({
  who: inRole("owner", "admin"),
  weight: 1,
  input: aboutAsMany,
  expect(model, me, { maxMembers }) {
    const team = ownTeam(model, me, "owner");
    const { status, seats, nextSeats } = team.billing;
    if (status !== "active") refuse("conflict", "subscription_required");
    const isMore = maxMembers > (seats ?? 0);
    if (isMore && nextSeats !== null) refuse("conflict", "decrease_pending");
    return {
      output: { seats: maxMembers, currency: "usd" },
      check: ({ proration }) => (Number(proration) > 0 === isMore ? undefined : "the price is not for these seats"),
    };
  },
});
