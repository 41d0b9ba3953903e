import { lockRow } from "../../operation/lock-row-statement.js";
import { sha256 } from "../../operation/sha256.js";
import { isRefusal } from "../../platform/billing/payments.js";
import type { Database } from "../../platform/database/database.js";
import { normalEmail } from "../access/index.js";
import { REFUSED } from "./account.js";
import { type AccountLock, writeAccount } from "./lock.js";
import { BY_ITSELF } from "./requester.js";
import type { BillingSession } from "./session.js";

/** The address of the team's owner; undefined for a deleted team. */
export async function addressOfOwner({ models }: Database, teamId: string): Promise<string | undefined> {
  const owner = await models.teamMember.findFirst({
    where: { teamId, role: "owner" },
    select: { user: { select: { email: true } } },
  });
  return owner?.user.email;
}

/** Only recognises an address. The address itself must not outlive the account of a former owner. */
const hashOf = (email: string): string => sha256(email).toString("hex");

/**
 * Notes that this is no longer the address of the team's owner, so that the customer at the provider does not keep it.
 * Must be called in the transaction of the change, while the team's row is locked, as for each change of the notes.
 */
export async function noteFormerPayer({ models }: Database, teamId: string, email: string): Promise<void> {
  const account = await models.billingAccount.findUnique({ where: { teamId }, select: { formerPayers: true } });
  if (!account) return;
  const former = new Set([...account.formerPayers, hashOf(email)]);
  former.delete(REFUSED);
  await models.billingAccount.updateMany({ where: { teamId }, data: { formerPayers: [...former] } });
}

/**
 * Stores a customer that has just got this address, in the transaction that stores the outcome of the request. The team
 * may have another owner, or its owner another address, than when the request was made.
 */
export async function keepCustomer(
  inner: Database,
  lock: AccountLock,
  { id, email }: { readonly id: string; readonly email: string },
): Promise<void> {
  const { teamId } = lock;
  await lockRow(inner, "team", { id: teamId });
  const isOwners = (await addressOfOwner(inner, teamId)) === email;
  await writeAccount(inner, lock, { customerId: id, formerPayers: isOwners ? [] : [hashOf(email)] });
}

/**
 * Gives the customer at the provider the address of the team's owner, if it has that of a former one. It keeps one that
 * somebody chose in the customer portal. An address that was refused is not sent again. Compares states, so it may run
 * at any time and again: several changes of the owner need one request or none. The provider is only asked after one.
 * @throws PaymentsError when the provider fails, PaymentProviderError when the lock was lost: it is tried again later.
 */
export async function followOwner(session: BillingSession): Promise<void> {
  const { services, lock, requests } = session;
  const { teamId } = lock;
  // The owner first: a change in between is noted, and found below. In the other order, the address of whoever was the
  // owner in between could be missing in the notes, and the customer could keep it.
  const email = await addressOfOwner(services.database, teamId);
  const known = await services.database.models.billingAccount.findUnique({
    where: { teamId },
    select: { customerId: true, formerPayers: true },
  });
  if (!known || known.formerPayers.length === 0 || known.formerPayers.includes(REFUSED)) return;
  const { customerId: id } = known;
  const isWrong = id !== null && email !== undefined && (await isFormer(session, { ...known, id, email }));
  if (isWrong) {
    try {
      await requests.send("payer", { id, params: { email } }, BY_ITSELF);
      return;
    } catch (error) {
      if (!isRefusal(error) || error.facts.isDoubtful) throw error;
      const facts = { err: error, team_id: teamId, customer: id };
      services.log.warn(facts, "the payment provider refuses the address of a team's owner: set another one there");
    }
  }
  // The customer still has the address of a former owner if the present one's was refused: the next one is tried.
  const formerPayers = isWrong ? [...known.formerPayers, REFUSED] : [];
  await services.database.transaction(async (inner) => {
    await lockRow(inner, "team", { id: teamId });
    if ((await addressOfOwner(inner, teamId)) === email) await writeAccount(inner, lock, { formerPayers });
  });
}

interface Payer {
  readonly id: string;
  readonly email: string;
  readonly formerPayers: readonly string[];
}

/** Whether the customer has another address than the owner's, and it is that of a former owner. */
async function isFormer(session: BillingSession, { id, email, formerPayers }: Payer): Promise<boolean> {
  const known = await session.ask("customer", (stripe, options) => stripe.customers.retrieve(id, {}, options));
  const address = "deleted" in known ? null : normalEmail(known.email ?? "");
  return address !== null && address !== email && formerPayers.includes(hashOf(address));
}
