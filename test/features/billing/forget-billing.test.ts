import { expect, it } from "vitest";
import { deleteTeam } from "../../../src/features/teams/delete-team.js";
import { cancelTeamSubscription } from "../../../src/features/billing/cancel-team-subscription.js";
import { createTeamCheckout } from "../../../src/features/billing/create-team-checkout.js";
import { type Payer, aPayer, aSubscriber, createBillingWorld, forgetBilling } from "../../support/billing.js";

const MONTH_MS = 32 * 24 * 3_600_000;

it("deletes the accounts of deleted teams after their retention time, and keeps all others", async () => {
  await using world = await createBillingWorld();
  const { pool, models } = world.database;
  const end = async ({ owner, teamId }: Payer) => void (await owner.did(deleteTeam, { teamId }));
  const ended = await aSubscriber(world);
  const live = await aSubscriber(world);
  for (const { owner } of [ended, live]) await owner.did(cancelTeamSubscription);
  await world.stripe.advance(MONTH_MS);
  await world.stripe.delivered();
  for (const payer of [ended, live]) await end(payer);
  const young = await aPayer(world);
  const neverPaid = await aPayer(world);
  const locked = await aPayer(world);
  const doubted = await aPayer(world);
  const unanswered = await aPayer(world);
  for (const payer of [young, neverPaid, locked, doubted, unanswered]) {
    await payer.owner.did(createTeamCheckout);
    await end(payer);
  }
  // Accounts that a refused request left.
  const empty = await aPayer(world);
  await models.billingAccount.create({ data: { teamId: empty.teamId } });
  await end(empty);
  const living = await aPayer(world);
  await living.owner.did(createTeamCheckout);
  const subscribed = await aSubscriber(world);
  const names = new Map(
    Object.entries({ ended, young, neverPaid, locked, doubted, unanswered, empty, living, subscribed, live }).map(
      ([name, { teamId }]) => [teamId, name],
    ),
  );
  const shift = (days: number, but: Payer) =>
    pool.query(
      `WITH r AS (UPDATE billing_operation SET created_at = now() - make_interval(days => $1) WHERE team_id <> $2)
       UPDATE billing_account SET mirrored_at = now() - make_interval(days => $1) WHERE team_id <> $2`,
      [days, but.teamId],
    );
  const set = (column: string, value: string, { teamId }: Payer) =>
    pool.query(`UPDATE billing_account SET ${column} = ${value} WHERE team_id = $1`, [teamId]);
  const kept = async () => {
    await forgetBilling(world);
    return (await models.billingAccount.findMany()).map(({ teamId }) => names.get(teamId)).sort();
  };

  await shift(89, young);
  expect(await kept()).toEqual([...names.values()].filter((name) => name !== "empty").sort());
  await shift(91, young);
  await set("locked_until", "now() + interval '1 minute'", locked);
  await set("mirrored_at", "NULL", doubted);
  await set("status", "'past_due'", live);
  // Otherwise it is due at once, and resent or given up.
  await set("checked_at", "now()", unanswered);
  await models.billingRequest.updateMany({
    where: { teamId: unanswered.teamId, kind: "checkout" },
    data: { outcome: null, endedAt: null },
  });
  expect(await kept()).toEqual(["doubted", "live", "living", "locked", "subscribed", "unanswered", "young"]);
  await set("locked_until", "NULL", locked);
  expect(await kept()).not.toContain("locked");
});
