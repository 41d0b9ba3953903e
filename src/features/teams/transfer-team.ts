import { ACCOUNT_PATH } from "../../operation/product.js";
import { InputType } from "type-graphql";
import { tellChanges } from "../../operation/audit.js";
import type { Context } from "../../operation/context.js";
import { Failure, InvalidInput } from "../../operation/failure.js";
import { IdField } from "../../operation/id.js";
import { queueNotice } from "../../operation/notice.js";
import { defineTeamOperation } from "../../operation/operation.js";
import { noteFormerPayer } from "../billing/index.js";
import { TEAM_EXAMPLE, Team } from "./team.js";
import { MemberNotFound } from "./member-not-found.js";

@InputType({ description: "The new owner of a team." })
export class TransferTeamInput {
  @IdField("The team's id.")
  teamId!: string;

  @IdField("The user id of the member who becomes the owner; the present owner becomes an admin.")
  userId!: string;
}

/** Otherwise nobody could manage the team, or end its subscription. */
export class MemberSuspended extends Failure {
  readonly kind = "conflict";
  override readonly reason = "member_suspended";

  constructor() {
    super("The operator of this service has suspended this member, who could not manage the team. Choose another one.");
  }
}

export const transferTeam = defineTeamOperation({
  name: "transferTeam",
  effect: "transaction",
  summary: "Makes another member the owner of a team.",
  notes:
    "The previous owner becomes an admin, so invitations that they sent stay valid. A mail tells the new owner. " +
    "If the payment provider sends mails and invoices to the previous owner, it sends them to the new one within a few " +
    "minutes; another address that was set in the customer portal stays. The postal address and the card remain those " +
    "of the person who paid, until the new owner changes them in the portal (`openBillingPortal`).",
  input: TransferTeamInput,
  output: Team,
  permission: "teams:write",
  team: { which: "given", role: "owner" },
  failures: [MemberNotFound, MemberSuspended],
  rest: { method: "POST", path: "/teams/:team_id/transfer" },
  example: {
    input: { teamId: TEAM_EXAMPLE.id, userId: "019bb153-9a51-7d3e-9f40-516273849506" },
    output: { ...TEAM_EXAMPLE, ownerId: "019bb153-9a51-7d3e-9f40-516273849506" },
  },
  audit: (_context, { teamId, userId }, { ownerId }, { team: before }) => ({
    teamId,
    subject: userId,
    detail: tellChanges([["owner", before.ownerId, ownerId]]),
  }),
  async handle(context, { teamId, userId }) {
    if (userId === context.caller.userId) {
      throw InvalidInput.at("userId", "must be another member: you already own the team");
    }
    const { team, teamMember, user } = context.database.models;
    const suspended = { teamId, userId, user: { suspendedAt: { not: null } } };
    if ((await teamMember.count({ where: suspended })) > 0) throw new MemberSuspended();
    // The old owner first: a team must never have two.
    await teamMember.updateMany({ where: { teamId, role: "owner" }, data: { role: "admin" } });
    const { count } = await teamMember.updateMany({ where: { teamId, userId }, data: { role: "owner" } });
    if (count === 0) throw new MemberNotFound();
    const { email } = await user.findUniqueOrThrow({ where: { id: context.caller.userId }, select: { email: true } });
    await noteFormerPayer(context.database, teamId, email);
    await tellNewOwner(context, userId);
    return team.update({ where: { id: teamId }, data: { ownerId: userId } });
  },
});

/** Queues a mail, so that nobody becomes responsible for a team and its payments without knowing it. */
async function tellNewOwner({ database, newId, publicUrl }: Context, userId: string): Promise<void> {
  const { email } = await database.models.user.findUniqueOrThrow({ where: { id: userId }, select: { email: true } });
  const subject = "You are now the owner of your team on Memory Graph";
  await queueNotice(database, { id: newId(), email, subject, body: toNewOwner(publicUrl() + ACCOUNT_PATH) });
}

/** Without the previous owner's address: they may delete their account before the mail is sent. */
const toNewOwner = (
  page: string,
): string => `The owner of your team has made you the owner, and is one of its admins now.

Only you can change its settings and its seats, make another member the owner, or delete it.

If it has a subscription, that goes on, and the same card is charged until you change it. Invoices go to your address, unless another one than the previous owner's was set in the customer portal. Look here whether a payment is due:

${page}`;
