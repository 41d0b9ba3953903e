import type { TeamRole } from "../../src/operation/context.js";
import { ANY, type Model, type Team } from "./model.js";
import { type Caller, Unasked, defineMove, refuse } from "./move.js";
import { inRole, members, standing } from "./team-moves.js";

/** More upgrades of one team within a minute are refused: Stripe makes only so many invoices. */
const UPGRADES_ENOUGH = 6;

/** @throws Refused for a caller who is in no team, or below the role that is needed. */
function ownTeam(model: Model, me: Caller, needed: TeamRole): Team {
  const team = model.teamOf(me.user) ?? refuse("not_found");
  return standing(model, me, { teamId: team.id }, needed);
}

/** What is paid for counts as soon as the provider is asked, even where the question is then refused. */
export function grantPaidSeats({ billing, ...team }: Team): number {
  return billing.status === "active" ? Math.max(team.members.size, billing.seats ?? 0) : team.maxMembers;
}

const shown = ({ billing, members }: Team) => {
  const { status, seats, ending } = billing;
  const plan = status === "active" ? "team" : null;
  const still = status === "active" && ending;
  return {
    status,
    seats,
    plan,
    memberCount: members.size,
    ...(status === "active" ? { cancelAtPeriodEnd: still } : {}),
  };
};

export const createTeamCheckout = defineMove<{ successUrl?: string | undefined }>({
  who: inRole("owner", "admin"),
  weight: 4,
  input: (_model, _me, draw) => ({
    successUrl: draw.once(5) ? draw.one(["https://app.example.com/paid", "https://evil.example.com/"]) : undefined,
  }),
  expect(model, me, { successUrl }) {
    if (successUrl?.includes("evil")) refuse("bad_request");
    const team = ownTeam(model, me, "owner");
    team.maxMembers = grantPaidSeats(team);
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
      effect: ({ sessionId }) => void (billing.checkout = { sessionId: String(sessionId), seats: maxMembers }),
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
    const team = ownTeam(model, me, "owner");
    const { billing } = team;
    team.maxMembers = grantPaidSeats(team);
    if (billing.status !== "active") refuse("conflict", "subscription_required");
    if (maxMembers <= (billing.seats ?? 0)) refuse("bad_request");
    const detail = `seats: ${billing.seats} → ${maxMembers}`;
    return {
      output: { ...shown(team), seats: maxMembers },
      audit: () => ({ teamId: team.id, subject: ANY, detail }),
      async effect(_output, { world }) {
        await world.stripe.delivered();
        billing.seats = maxMembers;
        billing.upgrades += 1;
        team.maxMembers = grantPaidSeats(team);
      },
    };
  },
});

export const cancelTeamSubscription = defineMove<object>({
  who: inRole("owner", "admin"),
  weight: 1,
  input: () => ({}),
  expect(model, me) {
    const team = ownTeam(model, me, "owner");
    const { billing } = team;
    team.maxMembers = grantPaidSeats(team);
    if (billing.status !== "active") refuse("conflict", "subscription_required");
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
