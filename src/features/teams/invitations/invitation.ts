import { createHash } from "node:crypto";
import { Field, ID, ObjectType, registerEnumType } from "type-graphql";
import { timeOf } from "../../../operation/clock-statement.js";
import type { Context, TeamRole } from "../../../operation/context.js";
import { Failure } from "../../../operation/failure.js";
import type { Database } from "../../../platform/database.js";
import type { Prisma } from "../../../platform/prisma/client.js";
import { AssignableRole } from "../members/update-member-role.js";

/** How long an invitation can be accepted. */
export const LIFETIME_MS = 7 * 24 * 3_600_000;

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
export const hashToken = (token: string) => new Uint8Array(createHash("sha256").update(token).digest());

export const INVITATION_FIELDS = {
  ...{ id: true, teamId: true, email: true, role: true, status: true, expiresAt: true, createdAt: true },
} as const;
type Row = Prisma.InvitationGetPayload<{ select: typeof INVITATION_FIELDS }>;

/** One whose time is over has expired, noted or not. */
export const toInvitation = ({ role, status, ...row }: Row, now: Date): Invitation => ({
  ...row,
  // The database lets nobody be invited as an owner.
  role: role as Invitation["role"],
  status: status === "pending" && row.expiresAt <= now ? "expired" : status,
});

/** Invitations in the order of their ids. */
export async function readInvitations(
  database: Database,
  { where, status, order, limit }: Wanted,
): Promise<Invitation[]> {
  const now = await timeOf(database);
  const rows = await database.models.invitation.findMany({
    where: { AND: [where, status ? withStatus(status, now) : {}] },
    orderBy: { id: order },
    take: limit,
    select: INVITATION_FIELDS,
  });
  return rows.map((row) => toInvitation(row, now));
}

interface Wanted {
  readonly where: Prisma.InvitationWhereInput;
  readonly status?: Invitation["status"] | null | undefined;
  readonly order: "asc" | "desc";
  readonly limit: number;
}

function withStatus(status: Invitation["status"], now: Date): Prisma.InvitationWhereInput {
  if (status === "pending") return { status, expiresAt: { gt: now } };
  return status === "expired" ? { OR: [{ status }, { status: "pending", expiresAt: { lte: now } }] } : { status };
}

/** @throws InvitationNotFound for a token that no mail has held. */
export async function invitationOf({ database }: Pick<Context, "database">, token: string): Promise<Invitation> {
  const found = await database.models.invitationToken.findUnique({
    where: { hash: hashToken(token) },
    select: { invitation: { select: INVITATION_FIELDS } },
  });
  if (!found) throw new InvitationNotFound();
  return toInvitation(found.invitation, await timeOf(database));
}

/** @throws InvitationNotFound when the team has none with this id. */
export async function invitationWith(
  { database }: Pick<Context, "database">,
  { id, teamId }: Pick<Invitation, "id" | "teamId">,
): Promise<Invitation> {
  const [found] = await readInvitations(database, { where: { id, teamId }, order: "asc", limit: 1 });
  if (!found) throw new InvitationNotFound();
  return found;
}

/**
 * Every way out of pending is this one update: whoever comes second, or too late by the database's clock, changes nothing.
 * @throws InvitationNotPending when it had left that state before.
 */
export async function settleInvitation(
  { database }: Pick<Context, "database">,
  { id, teamId }: Pick<Invitation, "id" | "teamId">,
  status: "accepted" | "declined" | "revoked",
): Promise<Invitation> {
  const now = await timeOf(database);
  const [settled] = await database.models.invitation.updateManyAndReturn({
    where: { id, status: "pending", expiresAt: { gt: now } },
    data: { status },
    select: INVITATION_FIELDS,
  });
  if (settled) return toInvitation(settled, now);
  throw new InvitationNotPending((await invitationWith({ database }, { id, teamId })).status);
}
