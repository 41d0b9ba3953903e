import { describe, expect, it } from "vitest";
import { graphqlSchema, operations } from "../../../src/operations.js";
import { createTeam } from "../../../src/features/teams/create-team.js";
import { SCOPES } from "../../../src/operation/permission.js";
import { HTTP_STATUS } from "../../../src/surfaces/http-status.js";
import { worldFor } from "../../support/billing.js";
import { askRest, operationNamed, saidByGraphQL } from "../../support/operations.js";
import { aTeam, anInvitee } from "../../support/teams.js";
import type { World } from "../../support/world.js";

const ROLES = ["owner", "admin", "member", "invitee", "stranger", "ownerWithoutScope"] as const;

const NOT_FOUND = "404 not_found";
const NO_TEAM = "404 no_team";
const TOO_SMALL = "403 role_too_small";
const NO_SCOPE = "403 scope_missing";
const MISMATCH = "403 invitation_email_mismatch";
const IN_TEAM = "409 already_in_team";
const NOT_PAID = "409 subscription_required";

/** REST's status for each role, in the order of ROLES: the invitee is in no team, the stranger owns another one. */
const PERMISSIONS: Readonly<Record<string, readonly string[]>> = {
  createTeam: [IN_TEAM, IN_TEAM, IN_TEAM, "201", IN_TEAM, NO_SCOPE],
  myTeam: ["200", "200", "200", NO_TEAM, "200", NO_SCOPE],
  team: ["200", "200", "200", NOT_FOUND, NOT_FOUND, NO_SCOPE],
  updateTeam: ["200", TOO_SMALL, TOO_SMALL, NOT_FOUND, NOT_FOUND, NO_SCOPE],
  deleteTeam: ["204", TOO_SMALL, TOO_SMALL, NOT_FOUND, NOT_FOUND, NO_SCOPE],
  inviteMember: ["201", "201", TOO_SMALL, NOT_FOUND, NOT_FOUND, NO_SCOPE],
  teamInvitations: ["200", "200", TOO_SMALL, NOT_FOUND, NOT_FOUND, NO_SCOPE],
  resendInvitation: ["200", "200", TOO_SMALL, NOT_FOUND, NOT_FOUND, NO_SCOPE],
  revokeInvitation: ["204", "204", TOO_SMALL, NOT_FOUND, NOT_FOUND, NO_SCOPE],
  invitation: ["200", "200", "200", "200", "200", "200"],
  invitationById: ["200", "200", "200", "200", "200", "200"],
  mailInvitation: ["202", "202", "202", "202", "202", "202"],
  acceptInvitation: [MISMATCH, MISMATCH, MISMATCH, "200", MISMATCH, NO_SCOPE],
  declineInvitation: [MISMATCH, MISMATCH, MISMATCH, "200", MISMATCH, NO_SCOPE],
  teamMembers: ["200", "200", "200", NOT_FOUND, NOT_FOUND, NO_SCOPE],
  updateMemberRole: ["200", "200", TOO_SMALL, NOT_FOUND, NOT_FOUND, NO_SCOPE],
  removeMember: ["204", "204", TOO_SMALL, NOT_FOUND, NOT_FOUND, NO_SCOPE],
  leaveTeam: ["409 owner_must_transfer", "204", "204", NOT_FOUND, NOT_FOUND, NO_SCOPE],
  transferTeam: ["200", TOO_SMALL, TOO_SMALL, NOT_FOUND, NOT_FOUND, NO_SCOPE],
  teamAudit: ["200", "200", TOO_SMALL, NOT_FOUND, NOT_FOUND, NO_SCOPE],
  // Of billing, a free team: who passes is told what is missing.
  createTeamCheckout: ["201", TOO_SMALL, TOO_SMALL, NO_TEAM, "201", NO_SCOPE],
  teamSubscription: ["200", "200", "200", NO_TEAM, "200", NO_SCOPE],
  teamUpgradePreview: [NOT_PAID, TOO_SMALL, TOO_SMALL, NO_TEAM, NOT_PAID, NO_SCOPE],
  upgradeTeam: [NOT_PAID, TOO_SMALL, TOO_SMALL, NO_TEAM, NOT_PAID, NO_SCOPE],
  downgradeTeam: [NOT_PAID, TOO_SMALL, TOO_SMALL, NO_TEAM, NOT_PAID, NO_SCOPE],
  cancelTeamSubscription: [NOT_PAID, TOO_SMALL, TOO_SMALL, NO_TEAM, NOT_PAID, NO_SCOPE],
  resumeTeamSubscription: [NOT_PAID, TOO_SMALL, TOO_SMALL, NO_TEAM, NOT_PAID, NO_SCOPE],
  openBillingPortal: [NOT_PAID, TOO_SMALL, TOO_SMALL, NO_TEAM, NOT_PAID, NO_SCOPE],
  teamInvoices: ["200", TOO_SMALL, TOO_SMALL, NO_TEAM, "200", NO_SCOPE],
};

it("lists every operation of teams", () => {
  const ofTeams = operations.filter(({ team, rest }) => team || rest.path.startsWith("/teams"));
  const advice = "Add a new operation to PERMISSIONS, and its input to `scene`.";
  expect(Object.keys(PERMISSIONS).toSorted(), advice).toEqual(ofTeams.map(({ name }) => name).toSorted());
});

describe.each(Object.entries(PERMISSIONS))("%s", (name, expected) => {
  it("lets the same roles use it at both doors", async () => {
    const operation = operationNamed(name);
    await using world = await worldFor(operation);
    const { url } = await world.serve();
    const schema = await graphqlSchema();

    const byRest: string[] = [];
    const byGraphQL: string[] = [];
    let team = await scene(world);
    for (const role of ROLES) {
      const keyIn = async (place: typeof team) =>
        (role === "ownerWithoutScope" ? await place.withoutScope(operation.permission) : place[role]).key;
      const inputIn = (place: typeof team) => place.inputs[name] ?? { teamId: place.teamId };
      const { status, body } = await askRest(url, await keyIn(team), operation, inputIn(team));
      const { error } = (body || {}) as { error?: { code: string; reason?: string } };
      byRest.push([status, error && (error.reason ?? error.code)].filter(Boolean).join(" "));
      // After a change, the next door uses another team; refusals and queries change nothing.
      const isSpent = !error && operation.kind === "mutation";
      if (isSpent) team = await scene(world);
      const said = await saidByGraphQL(url, await keyIn(team), schema, operation, inputIn(team));
      byGraphQL.push(said.ok ? "ok" : `${HTTP_STATUS[said.code as "conflict"]} ${said.reason ?? said.code}`);
      if (isSpent) team = await scene(world);
    }

    expect(byRest, "If this right was meant to change, change PERMISSIONS, too.").toEqual(expected);
    expect(byGraphQL).toEqual(expected.map((outcome) => (outcome.startsWith("2") ? "ok" : outcome)));
    expect(world.bugs).toEqual([]);
  });
});

/** A team, users in and outside it, and the input of each operation; only `teamId` if not given. */
async function scene(world: World) {
  const team = await aTeam(world);
  const { teamId, owner } = team;
  const other = await world.user();
  await world.seat(other, teamId);
  const { actor: invitee, token, invitation } = await anInvitee(world, team);
  const stranger = await world.user();
  await stranger.did(createTeam, { name: "Another team", maxMembers: 5 });
  const userId = other.caller.userId;
  const inputs: Readonly<Record<string, Record<string, unknown>>> = {
    createTeam: { name: "Mine", maxMembers: 3 },
    myTeam: {},
    updateTeam: { teamId, name: "Renamed" },
    inviteMember: { teamId, email: "carol@example.com", role: "member" },
    resendInvitation: { teamId, invitationId: invitation.id },
    revokeInvitation: { teamId, invitationId: invitation.id },
    invitation: { token },
    invitationById: { invitationId: invitation.id },
    mailInvitation: { invitationId: invitation.id },
    acceptInvitation: { token },
    declineInvitation: { token },
    updateMemberRole: { teamId, userId, role: "admin" },
    removeMember: { teamId, userId },
    transferTeam: { teamId, userId },
    createTeamCheckout: {},
    teamSubscription: {},
    cancelTeamSubscription: {},
    resumeTeamSubscription: {},
    teamUpgradePreview: { maxMembers: 20 },
    upgradeTeam: { maxMembers: 20 },
    downgradeTeam: { maxMembers: 9 },
    openBillingPortal: {},
    teamInvoices: {},
  };
  const withoutScope = async (scope: string) => {
    const scopes = SCOPES.filter((other) => other !== scope);
    await world.database.models.apiKey.updateMany({ where: { userId: owner.caller.userId }, data: { scopes } });
    return owner;
  };
  return { ...team, invitee, stranger, inputs, withoutScope };
}
