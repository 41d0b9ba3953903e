import { recordAudit } from "../../../operation/audit.js";
import { type Context, within } from "../../../operation/context.js";
import { lockRow } from "../../../operation/lock-row-statement.js";
import { SCOPES } from "../../../operation/permission.js";
import { takeUses } from "../../../operation/use-limit.js";
import { CODE_GUESSES, createKeyForOwner, useCode } from "../../access/index.js";
import { accept, noteAccepted, noteDeclined } from "./answer-invitation.js";
import { InvitationNotFound, invitationOf, settleInvitation } from "./invitation.js";

/** The answer of a person without a key. */
export interface AnswerByCode {
  /** The token from the invitation's mail. */
  readonly token: string;
  /** The code that was sent to the invited address. */
  readonly code: string;
  readonly accepts: boolean;
}

/**
 * Confirms the invited address by a code, and answers, in one transaction: an answer that is refused or fails uses up
 * no code, and leaves no key that nobody has seen.
 * @returns the new key of a person who joins; undefined for one who declines, for whom no account is made.
 * @throws what `confirmSignUp`, `acceptInvitation` and `declineInvitation` throw.
 */
export async function answerByCode(
  context: Context,
  { token, code, accepts }: AnswerByCode,
): Promise<string | undefined> {
  await takeUses(context, [CODE_GUESSES], { code });
  const { email, teamId } = await invitationOf(context, token);
  return useCode(context, email, code, async (database) => {
    const here = within(context, database);
    if (!accepts) return declineFor(here, email, token);
    // Locks in the order of every change to a team: the team, then the user.
    await lockRow(database, "team", { id: teamId });
    const options = { name: "Invitation", scopes: SCOPES, expiresAt: null };
    const { id: keyId, key, userId } = await createKeyForOwner(here, email, "confirmSignUp", options);
    const person = { ...here, caller: { userId, email, emailIsVerified: true } };
    await recordAudit(here, "acceptInvitation", noteAccepted(await accept(person, token)), { userId, keyId });
    return key;
  });
}

/** Called in a transaction. */
async function declineFor(context: Context, email: string, token: string): Promise<undefined> {
  const settled = await settleInvitation(context, await invitationOf(context, token), "declined", InvitationNotFound);
  const user = await context.database.models.user.findUnique({ where: { email }, select: { id: true } });
  const actor = { userId: user?.id ?? null, keyId: null };
  await recordAudit(context, "declineInvitation", noteDeclined(settled), actor);
  return undefined;
}
