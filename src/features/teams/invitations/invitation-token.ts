import { timeOf } from "../../../operation/clock-statement.js";
import { SECRET_LENGTH, randomText } from "../../../operation/random-text.js";
import { sha256 } from "../../../operation/sha256.js";
import { FOREIGN_KEY_VIOLATION, sqlStateOf } from "../../../platform/database/database-errors.js";
import { type Invitation, type Reading, toInvitation } from "./invitation.js";
import { pendingAt } from "./pending.js";
import { SHOWN_FIELDS } from "./shown-invitation.js";

/** The content of an invitation's mail. */
export interface InvitationToSend extends Pick<Invitation, "role" | "expiresAt"> {
  readonly token: string;
  readonly teamName: string;
  readonly inviterName: string | null;
  readonly inviterEmail: string;
}

/** Creates the token of 256 bits for a mail that is about to be sent. Null if the invitation is no longer pending. */
export async function newInvitationToken(services: Reading, invitationId: string): Promise<InvitationToSend | null> {
  const { database } = services;
  const { models } = database;
  const now = await timeOf(database);
  const found = await models.invitation.findUnique({
    where: { id: invitationId, ...pendingAt(now) },
    select: SHOWN_FIELDS,
  });
  const inviter = found && (await models.user.findUnique({ where: { id: found.invitedBy } }));
  if (!inviter) return null;
  const token = randomText(SECRET_LENGTH);
  try {
    await models.invitationToken.create({ data: { hash: sha256(token), invitationId } });
  } catch (error) {
    // The invitation was deleted since it was read.
    if (sqlStateOf(error) === FOREIGN_KEY_VIOLATION) return null;
    throw error;
  }
  const { team, invitedBy: _inviter, ...row } = found;
  const { role, expiresAt } = toInvitation(services, row, now);
  return { token, role, expiresAt, teamName: team.name, inviterName: inviter.name, inviterEmail: inviter.email };
}
