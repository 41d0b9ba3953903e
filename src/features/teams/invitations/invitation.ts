import { Field, ID, ObjectType, registerEnumType } from "type-graphql";
import { DAY_MS } from "../../../durations.js";
import { LIMITS } from "../../../limits.js";
import { timeOf } from "../../../operation/clock-statement.js";
import type { Services, TeamRole } from "../../../operation/context.js";
import { Failure } from "../../../operation/failure.js";
import { sha256 } from "../../../operation/sha256.js";
import type { Prisma } from "../../../platform/prisma/client.js";
import { AssignableRole } from "../members/update-member-role.js";
import { pendingAt } from "./pending.js";

/** How long an invitation can be accepted. */
export const LIFETIME_MS = 7 * DAY_MS;

export enum InvitationStatusName {
  PENDING = "pending",
  ACCEPTED = "accepted",
  DECLINED = "declined",
  REVOKED = "revoked",
  EXPIRED = "expired",
}
registerEnumType(InvitationStatusName, {
  name: "InvitationStatus",
  description: "The status of an invitation.",
  valuesConfig: {
    PENDING: { description: "It can be accepted or declined." },
    ACCEPTED: { description: "The invited person joined." },
    DECLINED: { description: "The invited person declined." },
    REVOKED: { description: "The team revoked it, or whoever sent it may no longer invite." },
    EXPIRED: { description: "Nobody answered in time." },
  },
});

@ObjectType({ description: "An invitation to a team, by e-mail." })
export class Invitation {
  @Field(() => ID, { description: "Its id. This is not the token, which is only in the mail." })
  id!: string;

  @Field(() => String, { description: "The invited address." })
  email!: string;

  @Field(() => AssignableRole, { description: "The role that the invited person gets." })
  role!: Exclude<TeamRole, "owner">;

  @Field(() => InvitationStatusName, { description: "Its status." })
  status!: `${InvitationStatusName}`;

  @Field(() => Date, { description: "Until when it can be accepted." })
  expiresAt!: Date;

  @Field(() => Date, {
    nullable: true,
    description:
      `When its mail was given up, since the address's mail server refused it permanently or no server took it for ` +
      `${LIMITS.mails.givenUpAfterHours} hours; null otherwise.`,
  })
  bouncedAt!: Date | null;

  @Field(() => Date, { description: "When it was created." })
  createdAt!: Date;

  @Field(() => String, {
    description:
      "Its page, which you can send to the invited person in any way. The link contains no secret: whoever opens it " +
      "sees who invites to which team, and can have the mail with the token sent again, to the invited address only.",
  })
  link!: string;

  /** Not a declared field, so no client sees it. */
  teamId!: string;
}

export const INVITATION_EXAMPLE: Invitation = {
  id: "019cb0c9-6e3a-7c53-ad64-7e8f9a0b1c2d",
  teamId: "019cb0c4-19d2-7a31-8b42-5c6d7e8f9a0b",
  email: "bob@example.com",
  role: "member",
  status: "pending",
  expiresAt: new Date("2026-03-09T23:01:53.000Z"),
  bouncedAt: null,
  createdAt: new Date("2026-03-02T23:01:53.000Z"),
  link: "https://memory.example.com/invitations/by-id/019cb0c9-6e3a-7c53-ad64-7e8f9a0b1c2d",
};

/** A token as the documentation shows it. */
export const TOKEN_EXAMPLE = "q7Jx0pM3vK9sT2wYbR5nL8eHcZ1aD4fGuVi6oXkPmQA";

/** For those who manage a team's invitations. */
export class TeamInvitationNotFound extends Failure {
  readonly kind = "not_found";
  override readonly reason = "no_such_invitation";

  constructor(message = "The team has no invitation with this id. `teamInvitations` lists them.") {
    super(message);
  }
}

/** For the invited person, and whoever has the link. */
export class InvitationNotFound extends TeamInvitationNotFound {
  constructor() {
    super("There is no such invitation. Use the link in the newest mail, or ask the team to invite you again.");
  }
}

/** The reason contains the invitation's status. */
export class InvitationNotPending extends Failure {
  static readonly example = (["accepted", "declined", "revoked", "expired"] as const).map(
    (status) => new InvitationNotPending(status),
  );
  readonly kind = "conflict";
  override readonly reason: string;

  /** The status when the change was refused. If it is pending, it had expired and was sent again since. */
  constructor(status: Invitation["status"]) {
    const refused = status === "pending" ? "expired" : status;
    const past = refused === "expired" ? "has expired" : `was ${refused}`;
    super(`This invitation ${past}. If it is still needed, the team can send a new one with \`inviteMember\`.`);
    this.reason = `invitation_${refused}`;
  }
}

export const INVITATION_FIELDS = {
  id: true,
  teamId: true,
  email: true,
  role: true,
  status: true,
  expiresAt: true,
  createdAt: true,
  bouncedAt: true,
} as const;
type Row = Prisma.InvitationGetPayload<{ select: typeof INVITATION_FIELDS }>;

/** A pending invitation after its time is `expired`, even if that is not stored yet. */
export const toInvitation = (
  { publicUrl }: Pick<Services, "publicUrl">,
  { role, status, ...row }: Row,
  now: Date,
): Invitation => ({
  ...row,
  link: `${publicUrl()}/invitations/by-id/${row.id}`,
  // The database does not allow invitations as owner.
  role: role as Invitation["role"],
  status: status === "pending" && row.expiresAt <= now ? "expired" : status,
});

/** Invitations in the order of their ids. */
export async function readInvitations(
  services: Reading,
  { where, status, order, limit }: Wanted,
): Promise<Invitation[]> {
  const { database } = services;
  const now = await timeOf(database);
  const rows = await database.models.invitation.findMany({
    where: { AND: [where, status ? withStatus(status, now) : {}] },
    orderBy: { id: order },
    take: limit,
    select: INVITATION_FIELDS,
  });
  return rows.map((row) => toInvitation(services, row, now));
}

/** What reading an invitation needs. */
export type Reading = Pick<Services, "database" | "publicUrl">;

interface Wanted {
  readonly where: Prisma.InvitationWhereInput;
  readonly status?: Invitation["status"] | null | undefined;
  readonly order: "asc" | "desc";
  readonly limit: number;
}

function withStatus(status: Invitation["status"], now: Date): Prisma.InvitationWhereInput {
  if (status === "pending") return pendingAt(now);
  return status === "expired" ? { OR: [{ status }, { status: "pending", expiresAt: { lte: now } }] } : { status };
}

/** @throws InvitationNotFound for an unknown token. */
export async function invitationOf(services: Reading, token: string): Promise<Invitation> {
  const { database } = services;
  const found = await database.models.invitationToken.findUnique({
    where: { hash: sha256(token) },
    select: { invitation: { select: INVITATION_FIELDS } },
  });
  if (!found) throw new InvitationNotFound();
  return toInvitation(services, found.invitation, await timeOf(database));
}

/** @throws TeamInvitationNotFound when the team has no invitation with this id. */
export async function readInvitation(services: Reading, invitation: OfTeam): Promise<Invitation> {
  const found = await findInvitation(services, invitation);
  if (!found) throw new TeamInvitationNotFound();
  return found;
}

type OfTeam = Pick<Invitation, "id" | "teamId">;

async function findInvitation(services: Reading, { id, teamId }: OfTeam): Promise<Invitation | undefined> {
  const [found] = await readInvitations(services, { where: { id, teamId }, order: "asc", limit: 1 });
  return found;
}

/**
 * Changes the status of a pending invitation. The update itself checks the status and the expiry, by the database's
 * clock: of several changes at the same time one succeeds.
 * @throws InvitationNotPending when the invitation is not pending, `NotFound` when it was deleted.
 */
export async function settleInvitation(
  services: Reading,
  { id, teamId }: OfTeam,
  status: "accepted" | "declined" | "revoked",
  NotFound: new () => TeamInvitationNotFound,
): Promise<Invitation> {
  const { database } = services;
  const now = await timeOf(database);
  const [settled] = await database.models.invitation.updateManyAndReturn({
    where: { id, ...pendingAt(now) },
    data: { status },
    select: INVITATION_FIELDS,
  });
  if (settled) return toInvitation(services, settled, now);
  const left = await findInvitation(services, { id, teamId });
  throw left ? new InvitationNotPending(left.status) : new NotFound();
}
