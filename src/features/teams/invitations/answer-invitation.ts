import { Field, InputType } from "type-graphql";
import { TextLength } from "../../../operation/bounds.js";
import type { Caller, Context } from "../../../operation/context.js";
import { Failure } from "../../../operation/failure.js";
import { defineOperation } from "../../../operation/operation.js";
import { lockRow } from "../../../operation/lock-row-statement.js";
import { CHECK_VIOLATION, sqlStateOf } from "../../../platform/database/database-errors.js";
import { NoPaidSeat, assertPaidSeat } from "../../billing/index.js";
import { AlreadyInTeam, NoFreeSeat } from "../team.js";
import {
  INVITATION_EXAMPLE,
  Invitation,
  InvitationNotFound,
  InvitationNotPending,
  TOKEN_EXAMPLE,
  invitationOf,
  settleInvitation,
} from "./invitation.js";

@InputType({ description: "The invitation to answer." })
export class AnswerInvitationInput {
  @Field(() => String, { description: "The token from the mail." })
  @TextLength(1, 1_000)
  token!: string;
}

export class InvitationEmailMismatch extends Failure {
  readonly kind = "forbidden";
  override readonly reason = "invitation_email_mismatch";

  static readonly example = new InvitationEmailMismatch("other");

  constructor(why: "other" | "unverified") {
    super(
      why === "other"
        ? "The invitation is for another address. Use a key of the invited address; `signUp` with it gives one."
        : "Your address is not verified yet. Verify it with `signUp` and `confirmSignUp`, then answer again.",
    );
  }
}

const failures = [InvitationNotFound, InvitationNotPending, InvitationEmailMismatch] as const;

export const acceptInvitation = defineOperation({
  name: "acceptInvitation",
  effect: "transaction",
  summary: "Joins the team that the caller was invited to.",
  input: AnswerInvitationInput,
  output: Invitation,
  permission: "teams:write",
  failures: [...failures, AlreadyInTeam, NoFreeSeat, NoPaidSeat],
  rest: { method: "POST", path: "/teams/invitations/:token/accept" },
  example: { input: { token: TOKEN_EXAMPLE }, output: { ...INVITATION_EXAMPLE, status: "accepted" } },
  audit: (_context, _input, invitation) => noteAccepted(invitation),
  handle: (context, { token }) => accept(context, token),
});

type Noted = Pick<Invitation, "teamId" | "id" | "role">;
/** What the audit says of the answers. */
export const noteAccepted = ({ teamId, id, role }: Noted) => ({ teamId, subject: id, detail: `role: ${role}` });
export const noteDeclined = ({ teamId, id }: Noted) => ({ teamId, subject: id });

/** What answering an invitation needs, and who answers. */
export interface Answering extends Pick<Context, "database" | "publicUrl" | "billing" | "now"> {
  readonly caller: Pick<Caller, "userId" | "email" | "emailIsVerified">;
}

/** Called in a transaction. */
export async function accept(context: Answering, token: string): Promise<Invitation> {
  const invitation = await findOwnInvitation(context, token);
  const { teamId } = invitation;
  // Locks in the order of every change to a team: first the team, then its rows.
  await lockRow(context.database, "team", { id: teamId });
  const settled = await settleInvitation(context, invitation, "accepted", InvitationNotFound);
  const seated = await addMember(context, settled);
  if (!seated) throw new AlreadyInTeam();
  await assertStillAddressed(context, settled);
  await assertPaidSeat(context, teamId, seated.members);
  return settled;
}

/**
 * Adds the caller to the team and returns the new number of members; undefined for a caller who is already in a team.
 * The database counts seats, and refuses one too many.
 */
async function addMember(
  { database, caller }: Answering,
  { teamId, role }: Invitation,
): Promise<{ members: number } | undefined> {
  try {
    const data = { userId: caller.userId, teamId, role };
    // Inserts nothing if the user is in a team: the user is the key of this table.
    const { count } = await database.models.teamMember.createMany({ data, skipDuplicates: true });
    if (count === 0) return undefined;
    const team = await database.models.team.findUniqueOrThrow({ where: { id: teamId }, select: { memberCount: true } });
    return { members: team.memberCount };
  } catch (error) {
    if (sqlStateOf(error) === CHECK_VIOLATION) throw new NoFreeSeat();
    throw error;
  }
}

export const declineInvitation = defineOperation({
  name: "declineInvitation",
  effect: "transaction",
  summary: "Declines an invitation to the caller.",
  input: AnswerInvitationInput,
  output: Invitation,
  permission: "teams:write",
  failures,
  rest: { method: "POST", path: "/teams/invitations/:token/decline" },
  example: { input: { token: TOKEN_EXAMPLE }, output: { ...INVITATION_EXAMPLE, status: "declined" } },
  audit: (_context, _input, invitation) => noteDeclined(invitation),
  handle: async (context, { token }) =>
    settleInvitation(context, await findOwnInvitation(context, token), "declined", InvitationNotFound),
});

/**
 * The caller may have changed their address since their key was read. From the membership on, which refers to the user,
 * a change of the address waits for the end of this transaction.
 */
async function assertStillAddressed({ database, caller }: Answering, { email }: Invitation): Promise<void> {
  const isStill = await database.models.user.count({ where: { id: caller.userId, email } });
  if (isStill === 0) throw new InvitationEmailMismatch("other");
}

/**
 * Only the invited user may learn the status of an invitation; the token is not enough.
 * @throws InvitationNotFound for an unknown token.
 * @throws InvitationEmailMismatch when the caller's address is different, or not verified.
 */
async function findOwnInvitation(context: Answering, token: string): Promise<Invitation> {
  const invitation = await invitationOf(context, token);
  const { email, emailIsVerified } = context.caller;
  if (email !== invitation.email) throw new InvitationEmailMismatch("other");
  if (!emailIsVerified) throw new InvitationEmailMismatch("unverified");
  return invitation;
}
