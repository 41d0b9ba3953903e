import { DAY_MS } from "../../durations.js";
import { LIMITS } from "../../limits.js";
import { type Guide, type Step, TourStopped, WITHOUT_PAYMENTS, standInLost } from "./guide.js";
import { type TourUsers, type OwnedTeam, createTeamAsOwner, invite, isEnumValue } from "./walk-team.js";

const SEATS = 6;
const MORE_SEATS = 8;
const DAYS = 32;
const REQUESTS = LIMITS.budgets.requestsByPlan.team.toLocaleString("en");

/** A team buys seats at the stand-in for Stripe, fills them, buys more, and cancels. */
export async function walkBilling(guide: Guide, users: TourUsers, known?: OwnedTeam): Promise<void> {
  guide.heading("Seats paid by card");
  const ownedTeam = known ?? (await createTeamAsOwner(guide, users));
  const { owner, teamId } = ownedTeam;
  await guide.step({
    title: `Make room for ${SEATS} members`,
    as: owner,
    rest: { method: "PUT", path: `/teams/${teamId}`, body: { max_members: SEATS } },
    graphql: {
      document: "mutation ($input: UpdateTeamInput!) { updateTeam(input: $input) { id maxMembers } }",
      variables: { input: { teamId, maxMembers: SEATS } },
    },
    shows: "Five seats are free; a checkout buys max_members seats.",
  });
  const checkout = await guide.step({
    title: "Start the checkout",
    as: owner,
    rest: { method: "POST", path: "/billing/team-checkout", body: {} },
    graphql: {
      document: "mutation { createTeamCheckout(input: {}) { sessionId url } }",
    },
    shows: "In a browser, you would open the url and press Pay.",
  });
  const standIn = await standInBehind(String(checkout["url"]));
  await guide.aside({
    title: "Pay, as the page does",
    url: `${standIn}/pay`,
    body: { session: checkout["session_id"] },
    shows: "The stand-in accepted the payment; no card is charged.",
  });
  await settle(guide, standIn);
  const paid = await lookAt(guide, ownedTeam, {
    title: "Look at the subscription",
    isRight: ({ status, seats }) => isEnumValue(status, "active") && seats === SEATS,
    shows: `It is active, with ${SEATS} seats. Every member has ${REQUESTS} requests a minute.`,
  });
  for (let seat = Number(paid["member_count"]) + 1; seat <= SEATS; seat++) {
    await invite(guide, ownedTeam, { email: users.addressOf(`member${seat}`), shows: `Seat ${seat} of ${SEATS}.` });
  }
  await invite(guide, ownedTeam, {
    email: users.addressOf("onemore"),
    refusal: "team_full",
    shows: "Pending invitations take seats, so one more is refused: team_full.",
  });
  await growAndCancel(guide, ownedTeam);
  await guide.aside({
    title: `Let ${DAYS} days pass at the stand-in`,
    url: `${standIn}/advance`,
    body: { milliseconds: DAYS * DAY_MS },
    shows: "Only the stand-in's clock moved, not the service's.",
  });
  await settle(guide, standIn);
  await lookAt(guide, ownedTeam, {
    title: "Look at the subscription again",
    isRight: ({ status }) => isEnumValue(status, "canceled"),
    shows: "It has ended. Nobody was removed, but the team accepts new members only up to five.",
  });
}

async function growAndCancel(guide: Guide, ownedTeam: OwnedTeam): Promise<void> {
  const as = ownedTeam.owner;
  await guide.step({
    title: `Buy more: ${MORE_SEATS} seats`,
    as,
    rest: { method: "POST", path: "/billing/team-upgrade", body: { max_members: MORE_SEATS } },
    graphql: {
      document: "mutation ($input: UpgradeTeamInput!) { upgradeTeam(input: $input) { status seats } }",
      variables: { input: { maxMembers: MORE_SEATS } },
    },
    isRight: ({ seats }) => seats === MORE_SEATS,
    shows: "The rest of the month was charged at once, so the seats count at once.",
  });
  await guide.step({
    title: "Cancel",
    as,
    rest: { method: "POST", path: "/billing/team-cancel" },
    graphql: { document: "mutation { cancelTeamSubscription { status cancelAtPeriodEnd currentPeriodEnd } }" },
    isRight: ({ status, cancel_at_period_end }) => isEnumValue(status, "active") && cancel_at_period_end === true,
    shows: "The paid seats stay until the end of the month.",
  });
}

const lookAt = (guide: Guide, { owner }: OwnedTeam, step: Pick<Step, "title" | "isRight" | "shows">) =>
  guide.step({
    as: owner,
    ...step,
    rest: { method: "GET", path: "/billing/team-subscription" },
    graphql: { document: "{ teamSubscription { status seats memberCount pendingUpdate { seats } } }" },
  });

/** Waits for webhook events, which the stand-in sends after its answers. */
const settle = (guide: Guide, standIn: string): Promise<void> =>
  guide.aside({
    title: "Wait until the stand-in has sent its events to the service",
    url: `${standIn}/delivered`,
    body: {},
    shows: "Every webhook event was delivered.",
  });

/**
 * The control address of the stand-in for Stripe.
 * @throws TourStopped when it does not answer, or the checkout is at Stripe itself, with real money.
 */
async function standInBehind(checkoutUrl: string): Promise<string> {
  const control = `${new URL(checkoutUrl).origin}/_stand-in`;
  const answer = await fetch(`${control}/`, { redirect: "manual" }).catch((error: unknown) => {
    throw standInLost(control, error);
  });
  if (answer.ok) return control;
  throw new TourStopped(
    "This server uses Stripe itself, but the tour pays only at the stand-in, which `npm start` provides if " +
      `STRIPE_SECRET_KEY is not set. ${WITHOUT_PAYMENTS}`,
  );
}
