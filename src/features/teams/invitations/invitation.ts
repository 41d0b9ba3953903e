import { createHash } from "node:crypto";
import { Field, ID, ObjectType, registerEnumType } from "type-graphql";
import type { Context, TeamRole } from "../../../operation/context.js";
import { Failure } from "../../../operation/failure.js";
import type { Statement } from "../../../platform/database.js";
import { AssignableRole } from "../members/update-member-role.js";

/** How long an invitation can be accepted. */
export const LIFETIME_DAYS = 7;

export enum InvitationStatusName {
  PENDING = "pending",
  ACCEPTED = "accepted",
  DECLINED = "declined",
  REVOKED = "revoked",
  EXPIRED = "expired",
}
registerEnumType(InvitationStatusName, {
  name: "InvitationStatus",
  description: "What became of an invitation.",
  valuesConfig: {
    PENDING: { description: "It can be accepted or declined." },
    ACCEPTED: { description: "The invited person joined." },
    DECLINED: { description: "The invited person declined." },
    REVOKED: { description: "The team took it back." },
    EXPIRED: { description: "Nobody answered in time." },
  },
});

@ObjectType({ description: "An invitation to a team, by e-mail." })
export class Invitation {
  @Field(() => ID, { description: "Its id. The token that accepts it is another thing, and stands in the mail alone." })
  id!: string;

  @Field(() => String, { description: "The address that was invited." })
  email!: string;

  @Field(() => AssignableRole, { description: "What the invited person will be." })
  role!: Exclude<TeamRole, "owner">;

  @Field(() => InvitationStatusName, { description: "What became of it." })
  status!: `${InvitationStatusName}`;

  @Field(() => Date, { description: "Until when it can be accepted." })
  expiresAt!: Date;

  @Field(() => Date, { description: "When it was made." })
  createdAt!: Date;

  /** Undeclared, so it never leaves. */
  teamId!: string;
}

export const INVITATION_EXAMPLE: Invitation = {
  id: "019cb0c9-6e3a-7c53-ad64-7e8f9a0b1c2d",
  teamId: "019cb0c4-19d2-7a31-8b42-5c6d7e8f9a0b",
  email: "bob@example.com",
  role: "member",
  status: "pending",
  expiresAt: new Date("2026-03-09T23:01:53.000Z"),
  createdAt: new Date("2026-03-02T23:01:53.000Z"),
};

/** The columns of a row, named as an Invitation is. One whose time is over has expired, noted or not. */
export const INVITATION_COLUMNS = `i.id, i.team_id AS "teamId", i.email, i.role::text AS role,
  CASE WHEN i.status = 'pending' AND i.expires_at <= now() THEN 'expired' ELSE i.status::text END AS status,
  i.expires_at AS "expiresAt", i.created_at AS "createdAt"`;

export class InvitationNotFound extends Failure {
  readonly kind = "not_found";

  constructor() {
    super("There is no such invitation. Use the link of the newest mail, or ask the team to invite you again.");
  }
}

/** An invitation that is no longer pending: its reason says what became of it. */
export class InvitationNotPending extends Failure {
  static readonly example = new InvitationNotPending("expired");
  readonly kind = "conflict";
  override readonly reason: string;

  constructor(status: string) {
    super(`This invitation is no longer pending: it is ${status}. A new one can be sent with \`inviteMember\`.`);
    this.reason = `invitation_${status}`;
  }
}

/** What is stored of a token. Plain SHA-256 is enough: 256 random bits cannot be guessed from their hash. */
export const hashToken = (token: string): Buffer => createHash("sha256").update(token).digest();

const invitationByToken: Statement = {
  name: "invitation_by_token",
  text: `SELECT ${INVITATION_COLUMNS} FROM invitation i JOIN invitation_token t ON t.invitation_id = i.id
    WHERE t.hash = $1`,
};

/** @throws InvitationNotFound for a token that no mail has held. */
export async function invitationOf({ database }: Pick<Context, "database">, token: string): Promise<Invitation> {
  const [invitation] = await database.run<Invitation>(invitationByToken, [hashToken(token)]);
  if (!invitation) throw new InvitationNotFound();
  return invitation;
}

export const invitationById: Statement = {
  name: "invitation_by_id",
  text: `SELECT ${INVITATION_COLUMNS} FROM invitation i WHERE i.team_id = $1::uuid AND i.id = $2::uuid`,
};

/** Every way out of pending is this one statement: whoever comes second, or too late by the database's clock, changes nothing. */
const settle: Statement = {
  name: "settle_invitation",
  text: `UPDATE invitation i SET status = $2::invitation_status
    WHERE i.id = $1::uuid AND i.status = 'pending' AND i.expires_at > now() RETURNING ${INVITATION_COLUMNS}`,
};

/** @throws InvitationNotPending when it had left that state before. */
export async function settleInvitation(
  { database }: Pick<Context, "database">,
  { id, teamId }: Pick<Invitation, "id" | "teamId">,
  status: "accepted" | "declined" | "revoked",
): Promise<Invitation> {
  const [settled] = await database.run<Invitation>(settle, [id, status]);
  if (settled) return settled;
  const [present] = await database.run<Invitation>(invitationById, [teamId, id]);
  throw present ? new InvitationNotPending(present.status) : new InvitationNotFound();
}
