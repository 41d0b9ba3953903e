import { strangers } from "./access-moves.js";
import type { Draw } from "./draw.js";
import { type Invitation, type Model, type Team, type User, newestFirst } from "./model.js";
import { type Caller, defineMove, drawId, refuse } from "./move.js";
import { type Place, drawTeam, inRole, standing } from "./team-moves.js";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
/** The seats of a team that does not pay. */
const FREE_SEATS = 5;

/** @throws Refused when a team that does not pay would have more members than are free. */
function assertPaid({ billing }: Team, members: number): void {
  if (members > FREE_SEATS && billing.status !== "active") refuse("conflict", "subscription_required");
}

const shown = (model: Model, invitation: Invitation) => {
  const { id, email, role, endsAt } = invitation;
  return { id, email, role, status: model.statusOf(invitation), expiresAt: model.toService(endsAt) };
};

/** Mails to one address: in an hour, and in a day. */
const TO_ADDRESS = { hour: 5, day: 10 };

/** @throws Refused when too many were sent to the address, or by the link. Returns when those of the last day were sent. */
function assertFewSent(
  model: Model,
  who: string,
  reason = "too_many_invitations",
  { hour, day } = TO_ADDRESS,
): readonly number[] {
  const sent = model.invitedAt.get(who) ?? [];
  const within = (milliseconds: number) => sent.filter((time) => time > model.now() - milliseconds).length;
  if (within(HOUR_MS) >= hour || within(DAY_MS) >= day) refuse("rate_limited", reason);
  return sent;
}

export const inviteMember = defineMove<Place & { email: string; role: "admin" | "member" }>({
  who: inRole("owner", "admin", "member"),
  weight: 9,
  input(model, me, draw) {
    const addresses = [...model.users.map(({ email }) => email), ...strangers(model)];
    const email = draw.once(15) ? "nobody" : (draw.one(addresses) ?? "");
    return { ...drawTeam(model, me, draw), email, role: draw.one(["member", "admin"]) };
  },
  check({ email }) {
    if (!email.includes("@")) refuse("bad_request");
  },
  expect(model, me, { teamId, email, role }) {
    const team = standing(model, me, { teamId }, "admin");
    const pending = model.pendingOf(team);
    if ([...team.members.keys()].some((member) => member.email === email)) refuse("conflict", "already_member");
    if (pending.some((known) => known.email === email)) refuse("conflict", "invitation_exists");
    const seated = team.members.size + pending.length;
    if (seated >= team.maxMembers) refuse("conflict", "team_full");
    assertPaid(team, seated + 1);
    const sent = assertFewSent(model, email);
    return {
      output: { email, role, status: "pending" },
      audit: ({ id }) => ({ teamId, subject: String(id), detail: `${email}, role: ${role}` }),
      check({ createdAt, expiresAt }) {
        const lasts = Date.parse(String(expiresAt)) - Date.parse(String(createdAt));
        return lasts === WEEK_MS ? undefined : `it lasts ${lasts} ms, not a week`;
      },
      async effect({ id, expiresAt }, real) {
        const token = await real.tokenOf(String(id), email);
        const endsAt = model.fromService(expiresAt);
        model.invitedAt.set(email, [...sent, endsAt - WEEK_MS]);
        model.invitations.push({ id: String(id), team, email, role, by: me.user, token, endsAt, settled: null });
      },
    };
  },
});

export const teamInvitations = defineMove<Place & { status?: string | undefined; limit: number }>({
  who: inRole("owner", "admin"),
  weight: 2,
  input: (model, me, draw) => ({
    ...drawTeam(model, me, draw),
    status: draw.once(3) ? draw.one(["pending", "expired", "accepted", "revoked"]) : undefined,
    limit: draw.one([20, 2]),
  }),
  expect(model, me, { teamId, status }) {
    const team = standing(model, me, { teamId }, "admin");
    const all = model.invitations.filter((invitation) => invitation.team === team).sort(newestFirst);
    const items = all.map((invitation) => shown(model, invitation));
    return { list: { field: "invitations", items: items.filter((item) => item.status === (status ?? item.status)) } };
  },
});

export const resendInvitation = defineMove<Place & { invitationId: string }>({
  who: inRole("owner", "admin"),
  weight: 2,
  input: drawInvitation,
  expect(model, me, { teamId, invitationId }) {
    const team = standing(model, me, { teamId }, "admin");
    const found = model.invitations.find((known) => known.team === team && known.id === invitationId);
    if (!found) return refuse("not_found", "no_such_invitation");
    const status = model.statusOf(found);
    if (status !== "pending") refuse("conflict", `invitation_${status}`);
    const { email, role } = found;
    const sent = assertFewSent(model, email);
    return {
      output: { id: found.id, email, role, status },
      audit: () => ({ teamId, subject: invitationId, detail: email }),
      async effect({ expiresAt }, real) {
        await real.tokenOf(found.id, email);
        found.endsAt = model.fromService(expiresAt);
        model.invitedAt.set(email, [...sent, found.endsAt - WEEK_MS]);
      },
    };
  },
});

/** Mails by the link of one invitation: in an hour, and in a day. */
const BY_LINK = { hour: 3, day: 5 };

export const mailInvitation = defineMove<{ invitationId: string }>({
  weight: 2,
  input: drawLink,
  expect(model, _me, { invitationId }) {
    const found = model.invitations.find(({ id }) => id === invitationId) ?? refuse("not_found", "no_such_invitation");
    const status = model.statusOf(found);
    if (status !== "pending") refuse("conflict", `invitation_${status}`);
    const { email } = found;
    const ofLink = `link ${found.id}`;
    assertFewSent(model, ofLink, "too_many_mails", BY_LINK);
    assertFewSent(model, email, "too_many_mails");
    return {
      output: { ...offered(model, found), invitedBy: inviterOf(found, masked) },
      async effect(_output, real) {
        await real.tokenOf(found.id, email);
        for (const who of [ofLink, email]) {
          model.invitedAt.set(who, [...(model.invitedAt.get(who) ?? []), model.now()]);
        }
      },
    };
  },
});

export const invitationById = defineMove<{ invitationId: string }>({
  weight: 2,
  input: drawLink,
  expect(model, _me, { invitationId }) {
    const found = model.invitations.find(({ id }) => id === invitationId) ?? refuse("not_found", "no_such_invitation");
    return { output: { ...offered(model, found), invitedBy: inviterOf(found, masked) } };
  },
});

/** Mostly a pending invitation of any team. */
function drawLink(model: Model, _me: Caller, draw: Draw): { invitationId: string } {
  const open = model.invitations.filter((known) => model.statusOf(known) === "pending");
  return { invitationId: drawId(model, draw, open, model.invitations) };
}

/** Mostly an invitation of the team. */
function drawInvitation(model: Model, me: Caller, draw: Draw): Place & { invitationId: string } {
  const place = drawTeam(model, me, draw);
  const near = model.invitations.filter(({ team }) => team.id === place.teamId);
  return { ...place, invitationId: drawId(model, draw, near, model.invitations) };
}

export const revokeInvitation = defineMove<Place & { invitationId: string }>({
  who: inRole("owner", "admin"),
  weight: 2,
  input: drawInvitation,
  expect(model, me, { teamId, invitationId }) {
    const team = standing(model, me, { teamId }, "admin");
    const found = model.invitations.find((known) => known.team === team && known.id === invitationId);
    return settling(model, found, "revoked", (email) => ({ teamId, subject: invitationId, detail: email }));
  },
});

function settling(
  model: Model,
  found: Invitation | undefined,
  settled: "accepted" | "declined" | "revoked",
  audit: (email: string) => { teamId: string; subject: string; detail: string | null },
) {
  if (!found) return refuse("not_found", "no_such_invitation");
  const status = model.statusOf(found);
  if (status !== "pending") refuse("conflict", `invitation_${status}`);
  return {
    output: { id: found.id, email: found.email, role: found.role, status: settled },
    audit: () => audit(found.email),
    effect: () => void (found.settled = settled),
  };
}

/** Mostly the caller's own token, and mostly of a pending invitation. */
function drawToken(model: Model, { user }: Caller, draw: Draw): { token: string } {
  const own = model.invitations.filter(({ email }) => email === user.email);
  const open = own.filter((known) => model.statusOf(known) === "pending");
  const near = draw.once(3) ? own : open;
  const found = draw.one(draw.once(6) || near.length === 0 ? model.invitations : near);
  return { token: found && !draw.once(15) ? found.token : "no-token" };
}

export const invitation = defineMove<{ token: string }>({
  weight: 2,
  input: drawToken,
  expect(model, _me, { token }) {
    const found = model.invitations.find((known) => known.token === token) ?? refuse("not_found", "no_such_invitation");
    return { output: { ...offered(model, found), invitedBy: inviterOf(found, (email) => email) } };
  },
});

const masked = (email: string): string => `${email[0] ?? ""}…@${email.split("@")[1] ?? ""}`;

/** What the pages of an invitation show besides the inviter. */
const offered = (model: Model, found: Invitation) => ({
  teamName: found.team.name,
  role: found.role,
  maskedEmail: masked(found.email),
  expiresAt: model.toService(found.endsAt),
  status: model.statusOf(found),
});

function inviterOf({ by, team }: Invitation, showAddress: (email: string) => string): string {
  if (!team.members.has(by)) return "somebody who has left";
  const address = showAddress(by.email);
  return by.name === null ? address : `${by.name} (${address})`;
}

/** @throws Refused for an invitation to somebody else. */
function ownInvitation(model: Model, { user }: Caller, token: string): Invitation {
  const found = model.invitations.find((known) => known.token === token) ?? refuse("not_found", "no_such_invitation");
  if (!user.verified || user.email !== found.email) refuse("forbidden", "invitation_email_mismatch");
  return found;
}

/** The users who have an invitation. */
const invited = (model: Model): User[] =>
  model.users.filter((user) =>
    model.invitations.some((known) => known.email === user.email && model.statusOf(known) === "pending"),
  );

export const acceptInvitation = defineMove<{ token: string }>({
  who: invited,
  weight: 9,
  input: drawToken,
  expect(model, me, { token }) {
    const found = ownInvitation(model, me, token);
    const { team, role, id } = found;
    const accepted = settling(model, found, "accepted", () => ({
      teamId: team.id,
      subject: id,
      detail: `role: ${role}`,
    }));
    if (model.teamOf(me.user)) refuse("conflict", "already_in_team");
    if (team.members.size >= team.maxMembers) refuse("conflict", "team_full");
    assertPaid(team, team.members.size + 1);
    return {
      ...accepted,
      effect() {
        accepted.effect();
        team.members.set(me.user, role);
      },
    };
  },
});

export const declineInvitation = defineMove<{ token: string }>({
  who: invited,
  weight: 2,
  input: drawToken,
  expect(model, me, { token }) {
    const found = ownInvitation(model, me, token);
    const audit = () => ({ teamId: found.team.id, subject: found.id, detail: null });
    return settling(model, found, "declined", audit);
  },
});
