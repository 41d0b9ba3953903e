import type { TeamRole } from "../../src/operation/context.js";
import type { Draw } from "./draw.js";
import type { Billing, Model, Team, User } from "./model.js";
import { type Caller, defineMove, drawId, refuse } from "./move.js";

const RANK = { member: 0, admin: 1, owner: 2 } as const;

export interface Place {
  readonly teamId: string;
}

export function drawTeam(model: Model, { user }: Caller, draw: Draw): Place {
  const own = model.teamOf(user);
  return { teamId: drawId(model, draw, own ? [own] : model.teams, model.teams) };
}

/** @throws Refused for a caller who is not in the team, or whose role is too small. */
export function standing(model: Model, { user }: Caller, { teamId }: Place, needed: TeamRole): Team {
  const team = model.teamOf(user);
  if (team?.id !== teamId) return refuse("not_found");
  if (RANK[roleOf(team, user)] < RANK[needed]) refuse("forbidden", "role_too_small");
  return team;
}

export const roleOf = ({ members }: Team, user: User): TeamRole => members.get(user) ?? "member";

const ownerOf = ({ members }: Team): string => Array.from(members).find(([, role]) => role === "owner")?.[0].id ?? "";

const shown = (team: Team) => {
  const { id, name, maxMembers } = team;
  return { id, name, maxMembers, memberCount: team.members.size, ownerId: ownerOf(team) };
};

/** The users who are in a team in one of these roles. */
export const inRole =
  (...roles: readonly TeamRole[]) =>
  ({ teams }: Model): User[] =>
    teams.flatMap(({ members }) => [...members.keys()].filter((user) => roles.includes(members.get(user) ?? "member")));
export const members = inRole("owner", "admin", "member");
const managers = inRole("owner", "admin");

const inNoTeam = (model: Model): User[] => model.users.filter((user) => model.teamOf(user) === null);

export const createTeam = defineMove<{ name: string; maxMembers: number }>({
  weight: 4,
  // Few users create teams, so that others can join them.
  who: (model) => inNoTeam(model).slice(0, model.teams.some(({ deleted }) => !deleted) ? 1 : 3),
  input: (_model, _me, draw) => ({ name: draw.one(["Crew", "Platform"]), maxMembers: draw.one([4, 2, 7, 9, 1_000]) }),
  expect(model, { user }, { name, maxMembers }) {
    if (model.teamOf(user)) refuse("conflict", "already_in_team");
    return {
      output: { name, maxMembers, memberCount: 1, ownerId: user.id },
      audit: ({ id }) => ({ teamId: String(id), subject: String(id), detail: `max_members: ${maxMembers}` }),
      effect: ({ id }) => void model.teams.push(newTeam({ id: String(id), name, maxMembers, owner: user })),
    };
  },
});

function newTeam({ id, name, maxMembers, owner }: { id: string; name: string; maxMembers: number; owner: User }): Team {
  const graph: { team: Team | null } = { team: null };
  const billing: Billing = {
    checkout: null,
    hasCustomer: false,
    status: "none",
    seats: null,
    nextSeats: null,
    ending: false,
    upgrades: 0,
    invoices: 0,
  };
  const members = new Map<User, TeamRole>([[owner, "owner"]]);
  const team: Team = { id, name, maxMembers, members, graph, billing, deleted: false };
  graph.team = team;
  return team;
}

export const myTeam = defineMove<object>({
  who: members,
  weight: 2,
  input: () => ({}),
  expect: (model, { user }) => ({ output: shown(model.teamOf(user) ?? refuse("not_found", "no_team")) }),
});

export const team = defineMove<Place>({
  who: members,
  weight: 2,
  input: drawTeam,
  expect: (model, me, place) => ({ output: shown(standing(model, me, place, "member")) }),
});

export const updateTeam = defineMove<Place & { name?: string | undefined; maxMembers?: number | undefined }>({
  who: inRole("owner", "owner", "admin"),
  weight: 3,
  input: (model, me, draw) => ({
    ...drawTeam(model, me, draw),
    name: draw.once(2) ? draw.one(["Crew", "Renamed"]) : undefined,
    maxMembers: draw.once(2) ? draw.one([3, 2, 7, 1, 9]) : undefined,
  }),
  check({ name, maxMembers }) {
    if (name === undefined && maxMembers === undefined) refuse("bad_request");
  },
  expect(model, me, { teamId, name, maxMembers }) {
    const found = standing(model, me, { teamId }, "owner");
    const isResized = maxMembers !== undefined && maxMembers !== found.maxMembers;
    if (isResized && found.billing.status === "active") refuse("conflict", "size_managed_by_billing");
    const seated = found.members.size + model.pendingOf(found).length;
    if (isResized && maxMembers < seated) refuse("conflict", "too_many_members");
    const changes = { name: name ?? found.name, maxMembers: maxMembers ?? found.maxMembers };
    const details = [
      changes.name === found.name ? [] : [`name: "${found.name}" → "${changes.name}"`],
      isResized ? [`max_members: ${found.maxMembers} → ${maxMembers}`] : [],
    ].flat();
    return {
      output: { ...shown(found), ...changes },
      audit: () => ({ teamId, subject: teamId, detail: details.join(", ") || null }),
      effect() {
        const { checkout } = found.billing;
        // Whoever joined beyond the seats of the checkout would not be paid for.
        const isSmaller = checkout !== null && checkout.seats < changes.maxMembers;
        if (isSmaller && changes.maxMembers > found.maxMembers) found.billing.checkout = null;
        Object.assign(found, changes);
      },
    };
  },
});

export const deleteTeam = defineMove<Place>({
  who: managers,
  weight: 1,
  input: drawTeam,
  expect(model, me, { teamId }) {
    const found = standing(model, me, { teamId }, "owner");
    if (found.billing.status === "active") refuse("conflict", "subscription_active");
    return {
      output: { id: teamId },
      audit: () => ({ teamId, subject: teamId, detail: null }),
      effect() {
        found.billing.checkout = null;
        model.forgetTeam(found);
        const isOfInvitation = /^(?:inviteMember|resendInvitation|revokeInvitation)$/;
        model.audit = model.audit.map((entry) =>
          entry.teamId === teamId && isOfInvitation.test(entry.action) ? { ...entry, detail: null } : entry,
        );
      },
    };
  },
});

/** The audit text about invitations that are withdrawn with their sender. */
function withdrawnBy(model: Model, team: Team, user: User): string {
  const open = model.pendingOf(team).filter(({ by }) => by === user);
  return open.length === 0 ? "" : `invitations withdrawn: ${open.length}`;
}

export const leaveTeam = defineMove<Place>({
  who: members,
  weight: 2,
  input: drawTeam,
  expect(model, me, place) {
    const found = standing(model, me, place, "member");
    if (roleOf(found, me.user) === "owner") refuse("conflict", "owner_must_transfer");
    const withdrawn = withdrawnBy(model, found, me.user);
    return {
      output: { ...shown(found), memberCount: found.members.size - 1 },
      audit: () => ({ teamId: found.id, subject: me.user.id, detail: withdrawn || null }),
      effect() {
        model.withdrawInvitations(found, me.user);
        found.members.delete(me.user);
      },
    };
  },
});

/** Mostly a member of the caller's team. */
function drawMember(model: Model, me: Caller, draw: Draw): Place & { userId: string } {
  const place = drawTeam(model, me, draw);
  const own = model.teamOf(me.user);
  const others = own ? [...own.members.keys()].filter((user) => user !== me.user) : [];
  const anybody = draw.once(5) ? model.users : others;
  return { ...place, userId: drawId(model, draw, anybody, model.users) };
}

export const transferTeam = defineMove<Place & { userId: string }>({
  who: managers,
  weight: 2,
  input: drawMember,
  expect(model, me, { teamId, userId }) {
    const found = standing(model, me, { teamId }, "owner");
    if (userId === me.user.id) refuse("bad_request");
    const next = memberOf(found, userId);
    const detail = `owner: ${me.user.id} → ${userId}`;
    return {
      output: { ...shown(found), ownerId: userId },
      audit: () => ({ teamId, subject: userId, detail }),
      async effect(_output, real) {
        await real.codesTo(next.email);
        found.members.set(me.user, "admin");
        found.members.set(next, "owner");
      },
    };
  },
});

const memberOf = ({ members }: Team, userId: string): User =>
  [...members.keys()].find(({ id }) => id === userId) ?? refuse("not_found", "no_such_member");

/** @throws Refused when the caller may not manage this member. */
function managed(model: Model, me: Caller, { teamId, userId }: Place & { userId: string }) {
  const found = standing(model, me, { teamId }, "admin");
  const target = memberOf(found, userId);
  const isOwner = roleOf(found, target) === "owner";
  if (isOwner && roleOf(found, me.user) === "owner") refuse("conflict", "owner_must_transfer");
  if (isOwner) refuse("forbidden", "owner_is_protected");
  return { found, target };
}

export const updateMemberRole = defineMove<Place & { userId: string; role: "admin" | "member" }>({
  who: members,
  weight: 3,
  input: (model, me, draw) => ({ ...drawMember(model, me, draw), role: draw.one(["admin", "member"]) }),
  expect(model, me, { role, ...place }) {
    const { found, target } = managed(model, me, place);
    const withdrawn = role === "member" ? withdrawnBy(model, found, target) : "";
    const before = roleOf(found, target);
    const change = before === role ? "" : `role: ${before} → ${role}`;
    return {
      output: { userId: target.id, email: target.email, role },
      audit: () => {
        const detail = [change, withdrawn].filter(Boolean).join(", ") || null;
        return { teamId: found.id, subject: target.id, detail };
      },
      effect() {
        if (role === "member") model.withdrawInvitations(found, target);
        found.members.set(target, role);
      },
    };
  },
});

export const removeMember = defineMove<Place & { userId: string }>({
  who: members,
  weight: 2,
  input: drawMember,
  expect(model, me, place) {
    const { found, target } = managed(model, me, place);
    const withdrawn = withdrawnBy(model, found, target);
    return {
      output: { userId: target.id, email: target.email, role: roleOf(found, target) },
      audit: () => ({ teamId: found.id, subject: target.id, detail: withdrawn || null }),
      effect() {
        model.withdrawInvitations(found, target);
        found.members.delete(target);
      },
    };
  },
});

export const teamMembers = defineMove<Place & { limit: number }>({
  who: members,
  weight: 2,
  input: (model, me, draw) => ({ ...drawTeam(model, me, draw), limit: draw.one([20, 2]) }),
  expect(model, me, place) {
    const found = standing(model, me, place, "member");
    const items = Array.from(found.members, ([{ id, email }, role]) => ({ userId: id, email, role }));
    return {
      list: { field: "members", items: items.sort((one, other) => (one.userId < other.userId ? -1 : 1)) },
    };
  },
});

export const teamAudit = defineMove<
  Place & { action?: string | undefined; actorId?: string | undefined; limit: number }
>({
  weight: 2,
  input: (model, me, draw) => ({
    ...drawTeam(model, me, draw),
    action: draw.once(3) ? draw.one(["createTeam", "inviteMember", "deleteMemory"]) : undefined,
    actorId: draw.once(3) ? draw.one(model.users)?.id : undefined,
    limit: draw.one([20, 100, 3]),
  }),
  expect(model, me, { teamId, action, actorId }) {
    standing(model, me, { teamId }, "admin");
    const entries = model.audit.filter(
      (entry) =>
        entry.teamId === teamId &&
        entry.action === (action ?? entry.action) &&
        entry.actorId === (actorId ?? entry.actorId),
    );
    const items = entries.map(({ teamId: _teamId, ...shownOf }) => shownOf);
    return { list: { field: "events", items: items.reverse() } };
  },
});
