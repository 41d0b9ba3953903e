import { LIMITS } from "../../limits.js";
import { NIL_ID } from "../../operation/id.js";
import { TeamNotFound } from "../../operation/standing.js";
import { type BillingAccount, type BillingServices, accountOf } from "./account.js";
import { claimDueAccount } from "./claim-due-account-statement.js";
import { AccountBusy, PaymentProviderError } from "./failures.js";
import { followOwner } from "./payer.js";
import { type BillingSession, withBillingSession } from "./session.js";

/** If the provider fails for so many accounts in a row, the next ones wait for the next run: it may be down. */
const FAILING_MAX = 10;

/**
 * Reconciles one due account; returns whether there may be more. This finishes the requests of killed servers, and
 * finds changes whose events were lost. An account for which the provider fails does not delay the next one: it is tried
 * again later.
 * @throws what `withBillingSession` throws, when it fails for `FAILING_MAX` accounts, or for all that are due.
 */
export async function reconcileDueAccount(services: BillingServices): Promise<boolean> {
  if (!services.billing.payments) return false;
  const failures: unknown[] = [];
  while (failures.length < FAILING_MAX) {
    const [due] = await services.database.run(claimDueAccount, {});
    if (!due) break;
    try {
      await reconcileAccount(services, due.teamId);
      if (due.customerId !== null) await markOlderEventsProcessed(services, due.customerId, due.now);
      return true;
    } catch (error) {
      if (!isOfOneAccount(error)) throw error;
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return false;
}

const isOfOneAccount = (error: unknown): boolean =>
  [PaymentProviderError, AccountBusy, TeamNotFound].some((known) => error instanceof known);

/**
 * The copy was read after these events came, so it contains their changes. Those that seem to come later than now came
 * while the database's clock was ahead.
 */
async function markOlderEventsProcessed(
  { database: { models }, now }: BillingServices,
  customerId: string,
  readAt: Date,
): Promise<void> {
  const ahead = new Date(readAt.getTime() + LIMITS.clock.aheadMs);
  await models.paymentEvent.updateMany({
    where: { customerId, processedAt: null, OR: [{ receivedAt: { lt: readAt } }, { receivedAt: { gt: ahead } }] },
    data: { processedAt: now() },
  });
}

/**
 * Finishes the team's open request, and reads its subscription from the provider again. Unless a reader waits for it, it
 * also lets the provider's customer follow the team's owner.
 * @param patience which limit of `LIMITS.payments` holds.
 * @throws what `withBillingSession` throws.
 */
export function reconcileAccount(
  services: BillingServices,
  teamId: string,
  patience: "changeMs" | "readMs" = "changeMs",
): Promise<BillingAccount> {
  const reconcile = async (session: BillingSession) => {
    await session.requests.resend();
    const account = await session.copy.refresh();
    if (patience === "changeMs") await followOwner(session);
    return account;
  };
  return withBillingSession(services, teamId, reconcile, patience);
}

const PAGE = 100;

/**
 * One account before and after; without `after` the provider failed, or others worked for the team. If it refused, as
 * for a wrong secret key, trying again does not help.
 */
export interface Reconciled {
  readonly teamId: string;
  readonly before: BillingAccount;
  readonly after?: BillingAccount;
  readonly wasRefused?: boolean;
}

/**
 * Reconciles every account, one after the other, or only the account of one team.
 * @param only the id of that team.
 * @throws BillingNotConfigured without a provider. A provider that fails for one team does not end it.
 */
export async function* reconcileAccounts(services: BillingServices, only?: string): AsyncGenerator<Reconciled> {
  let last = NIL_ID;
  for (;;) {
    const page = await services.database.models.billingAccount.findMany({
      where: { teamId: { gt: last, ...(only !== undefined && { equals: only }) } },
      select: { teamId: true },
      orderBy: { teamId: "asc" },
      take: PAGE,
    });
    for (const { teamId } of page) {
      const before = await accountOf(services, teamId);
      yield { teamId, before, ...(await tryReconcile(services, teamId)) };
      last = teamId;
    }
    if (page.length === 0) return;
  }
}

/**
 * If the provider fails for one team, the next one is still tried: also for a deleted one, whose account is kept for a
 * while. Other errors stop everything.
 */
async function tryReconcile(
  services: BillingServices,
  teamId: string,
): Promise<Pick<Reconciled, "after" | "wasRefused">> {
  try {
    return { after: await reconcileAccount(services, teamId) };
  } catch (error) {
    if (!isOfOneAccount(error)) throw error;
    return { wasRefused: error instanceof PaymentProviderError && error.outcome === "refused" };
  }
}
