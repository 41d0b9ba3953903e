import type { AssignableRole } from "../../src/features/teams/members/update-member-role.js";
import { inviteMember } from "../../src/features/teams/invitations/invite-member.js";
import type { Invitation } from "../../src/features/teams/invitations/invitation.js";
import { createTeam } from "../../src/features/teams/create-team.js";
import type { Actor, World } from "./world.js";

/** A team with a user of each role. */
export interface Staff {
  readonly teamId: string;
  readonly owner: Actor;
  readonly admin: Actor;
  readonly member: Actor;
}

/** A team of three, by default with room for more. */
export async function aTeam(world: World, { maxMembers = 10 }: { maxMembers?: number } = {}): Promise<Staff> {
  const [owner, admin, member] = [await world.user(), await world.user(), await world.user()];
  const { id: teamId } = await owner.did(createTeam, { name: "Team", maxMembers });
  for (const actor of [admin, member]) await world.seat(actor, teamId);
  const { teamMember } = world.database.models;
  await teamMember.update({ where: { userId: admin.caller.userId }, data: { role: "admin" } });
  return { teamId, owner, admin, member };
}

/** A user without a team who was invited to this one, and the token from the mail. */
export interface Invitee {
  readonly actor: Actor;
  readonly invitation: Invitation;
  readonly token: string;
}

export async function anInvitee(
  world: World,
  { teamId, owner }: Pick<Staff, "teamId" | "owner">,
  role: `${AssignableRole}` = "member",
  address?: string,
): Promise<Invitee> {
  const actor = await world.user(address === undefined ? {} : { email: address });
  const invitation = await owner.did(inviteMember, { teamId, email: actor.email, role });
  const token = `token of ${invitation.id}`;
  await world.giveToken(invitation.id, token);
  return { actor, invitation, token };
}

export async function manyOf<Made>(count: number, make: (index: number) => Promise<Made>): Promise<Made[]> {
  const made: Made[] = [];
  for (let index = 0; index < count; index++) made.push(await make(index));
  return made;
}

/** Makes an invitation expire, by the database's clock. */
export async function letExpire({ database }: World, invitationId: string): Promise<void> {
  await database.pool.query(
    `UPDATE invitation SET created_at = now() - interval '7 days 1 second', expires_at = now() - interval '1 second'
     WHERE id = $1`,
    [invitationId],
  );
}

/** The broken invariants of teams, members and invitations; empty if all hold. */
export async function brokenInvariants({ database }: World): Promise<string[]> {
  const { rows } = await database.pool.query<{ broken: string }>(`
    SELECT 'a user is in two teams' AS broken FROM team_member GROUP BY user_id HAVING count(*) > 1
    UNION ALL
    SELECT 'a team has ' || count(m.user_id) || ' owners, or another than it names' FROM team t
      LEFT JOIN team_member m ON m.team_id = t.id AND m.role = 'owner'
      GROUP BY t.id HAVING count(m.user_id) <> 1 OR bool_or(m.user_id <> t.owner_id)
    UNION ALL
    SELECT 'a team of ' || count(m.user_id) || ' counts ' || t.member_count || ' of ' || t.max_members FROM team t
      LEFT JOIN team_member m ON m.team_id = t.id
      GROUP BY t.id HAVING count(m.user_id) <> t.member_count OR t.member_count > t.max_members
    UNION ALL
    SELECT 'an address has two pending invitations' FROM invitation WHERE status = 'pending'
      GROUP BY team_id, lower(email) HAVING count(*) > 1
    UNION ALL
    SELECT 'an accepted invitation seated nobody' FROM invitation i JOIN user_account u ON u.email = i.email
      WHERE i.status = 'accepted'
        AND NOT EXISTS (SELECT FROM team_member m WHERE m.team_id = i.team_id AND m.user_id = u.id)
        AND NOT EXISTS (SELECT FROM audit_entry a WHERE a.team_id = i.team_id AND a.subject = u.id::text
          AND a.action IN ('leaveTeam', 'removeMember'))
    UNION ALL
    SELECT 'a team has no graph' FROM team t WHERE NOT EXISTS (SELECT FROM graph g WHERE g.team_id = t.id)`);
  return rows.map(({ broken }) => broken);
}

/** Counts the outcomes of many attempts, refusals by their reason. */
export function tally(
  verdicts: ReadonlyArray<{ ok: true } | { ok: false; failure: { kind: string; reason?: string } }>,
) {
  const counts: Record<string, number> = {};
  for (const verdict of verdicts) {
    const outcome = verdict.ok ? "ok" : (verdict.failure.reason ?? verdict.failure.kind);
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  return counts;
}

/** Makes the counts of invitations to each address older, by the database's clock. */
export async function ageAllowances({ database }: World, time: string): Promise<void> {
  await database.pool.query(
    `UPDATE invitation_allowance SET last_sent_at = last_sent_at - $1::interval,
       sent_at = ARRAY(SELECT sent - $1::interval FROM unnest(sent_at) sent)`,
    [time],
  );
}
