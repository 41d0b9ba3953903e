import { randomBytes } from "node:crypto";
import type { Database, Statement } from "../../../platform/database.js";
import { type Invitation, hashToken } from "./invitation.js";

/** All that an invitation's mail says. */
export interface InvitationToSend extends Pick<Invitation, "role" | "expiresAt"> {
  readonly token: string;
  readonly teamName: string;
  readonly inviterName: string | null;
  readonly inviterEmail: string;
}

const storeToken: Statement = {
  name: "store_invitation_token",
  text: `
    WITH stored AS (
      INSERT INTO invitation_token (hash, invitation_id)
      SELECT $2, id FROM invitation WHERE id = $1::uuid AND status = 'pending' AND expires_at > now()
      RETURNING invitation_id
    )
    SELECT i.role::text AS role, i.expires_at AS "expiresAt", t.name AS "teamName",
      u.name AS "inviterName", u.email AS "inviterEmail"
    FROM stored s JOIN invitation i ON i.id = s.invitation_id JOIN team t ON t.id = i.team_id
      JOIN user_account u ON u.id = i.invited_by`,
};

/** Makes the token that a mail is about to carry: 256 random bits. Null when the invitation is no longer pending. */
export async function newInvitationToken(database: Database, invitationId: string): Promise<InvitationToSend | null> {
  const token = randomBytes(32).toString("base64url");
  const [found] = await database.run<Omit<InvitationToSend, "token">>(storeToken, [invitationId, hashToken(token)]);
  return found ? { ...found, token } : null;
}
