import type { AuditAction } from "../../operation/audit-action.js";
import { recordAudit, type Actor } from "../../operation/audit.js";
import type { Context } from "../../operation/context.js";
import { Unauthorized } from "../../operation/failure.js";
import { lockRow } from "../../operation/lock-row-statement.js";
import { queueNotice } from "../../operation/notice.js";
import type { Database } from "../../platform/database/database.js";
import { type PastAddress, cameTo } from "../access/index.js";
import { OwnerMustTransfer, forgetInvitationsTo, withdrawInvitationsBy } from "../teams/index.js";
import { lockTeamOf } from "./lock-team-of.js";

interface Deletion {
  readonly action: AuditAction;
  readonly actor: Actor;
  /** Whether a mail tells of it, if their address is verified: otherwise it may belong to a stranger. */
  readonly isTold: boolean;
}

/**
 * Deletes a user with all personal data, in one transaction: keys, results of Idempotency-Keys, the membership, codes,
 * mails and invitations of their addresses, and these addresses in the audit. The personal graph loses its user and is
 * deleted in the background. What they stored in a team's graph stays there; their id there and in the audit no longer
 * refers to anybody. Notices are still sent, also of a change of the address: whoever stole a key could else take the
 * account away without a word. Only they contain the addresses until then.
 * @throws OwnerMustTransfer for the owner of a team, Unauthorized for a user who is already deleted.
 */
export async function deleteUser(
  context: Pick<Context, "database" | "newId" | "door">,
  id: string,
  { action, actor, isTold }: Deletion,
): Promise<void> {
  await context.database.transaction(async (database) => {
    // Locks in the order of every change to a team: the team, then the user. From then on no team can add the user.
    const left = await leaveTeam(database, id);
    await lockRow(database, "user_account", { id });
    const teamId = (await leaveTeam(database, id)) ?? left;
    const { models } = database;
    // Not what the caller has read: the address may have changed since, and be somebody else's by now.
    const user = await models.user.findUnique({ where: { id }, select: { email: true, emailVerifiedAt: true } });
    // Another request has just deleted them.
    if (!user) throw new Unauthorized();
    const { email, emailVerifiedAt } = user;
    await withdrawInvitationsBy(database, id);
    const addresses = [{ email, until: STILL }, ...(await findEarlierAddresses(database, id))];
    for (let at = 0; at < addresses.length; at += ADDRESSES_AT_ONCE) {
      await forgetAddresses(database, addresses.slice(at, at + ADDRESSES_AT_ONCE));
    }
    await models.auditEntry.updateMany({ where: changesOfAddress(id), data: { detail: null } });
    // Requests to the payment provider contain their address. Those without an outcome may have to be resent.
    const asked = { actorId: id, kind: "customer", outcome: { not: null } };
    await models.billingRequest.updateMany({ where: asked, data: { request: {} } });
    await models.graph.updateMany({ where: { userId: id }, data: { userId: null } });
    await models.user.deleteMany({ where: { id } });
    await recordAudit({ ...context, database }, action, { teamId: teamId ?? null, subject: id }, actor);
    if (isTold && emailVerifiedAt) await queueNotice(database, { id: context.newId(), email, ...NOTICE });
  });
}

/** For the present address: nothing is later. */
export const STILL = new Date("9999-12-31");
/** PostgreSQL takes 65,535 values in a statement, three for each address. */
const ADDRESSES_AT_ONCE = 1_000;

/** What the audit says of a user's changes of address: the user's own, and those that an operator made. */
const changesOfAddress = (id: string) => ({ action: "changeEmail", subject: id });

/** The addresses that the user has given up, which only the audit still knows. */
async function findEarlierAddresses({ models }: Database, id: string): Promise<PastAddress[]> {
  const changes = await models.auditEntry.findMany({
    where: { ...changesOfAddress(id), detail: { not: null } },
    select: { detail: true, createdAt: true },
  });
  return changes.flatMap(({ detail: email, createdAt: until }) => (email === null ? [] : { email, until }));
}

/** Deletes what came to these addresses, but for notices, and removes them from the audit. Called in a transaction. */
export async function forgetAddresses(database: Database, addresses: readonly PastAddress[]): Promise<void> {
  await forgetInvitationsTo(database, addresses);
  await database.models.mail.deleteMany({ where: { ...cameTo(addresses), kind: { not: "notice" } } });
  await database.models.signUpCode.deleteMany({ where: cameTo(addresses) });
}

const NOTICE = {
  subject: "Your Memory Graph account has been deleted",
  body: `Your account, its API keys and its own memories have been deleted. What you stored in a team's graph stays there.

If this was not you, somebody had one of your API keys. Contact whoever runs this service: they may have a backup.`,
};

/** Returns the id of the team that was left; undefined for a user without a team. */
async function leaveTeam(database: Database, userId: string): Promise<string | undefined> {
  if ((await lockTeamOf(database, userId)) === undefined) return undefined;
  const { teamMember } = database.models;
  const member = await teamMember.findUnique({ where: { userId } });
  if (member?.role === "owner") throw new OwnerMustTransfer();
  await teamMember.deleteMany({ where: { userId } });
  return member?.teamId;
}
