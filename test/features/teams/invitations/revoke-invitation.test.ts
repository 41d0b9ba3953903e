import { expect, it } from "vitest";
import { acceptInvitation } from "../../../../src/features/teams/invitations/answer-invitation.js";
import { markBounced } from "../../../../src/features/teams/invitations/mark-bounced.js";
import { revokeInvitation } from "../../../../src/features/teams/invitations/revoke-invitation.js";
import { resendInvitation } from "../../../../src/features/teams/invitations/resend-invitation.js";
import { ask } from "../../../support/http.js";
import { aTeam, anInvitee } from "../../../support/teams.js";
import { createWorld } from "../../../support/world.js";

it("revokes the invitation, so that its token no longer works", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const staff = await aTeam(world);
  const { actor, invitation, token } = await anInvitee(world, staff);
  const path = `${url}/teams/${staff.teamId}/invitations/${invitation.id}`;

  const answer = await ask(path, { key: staff.admin.key, method: "DELETE" });
  const again = await ask(path, { key: staff.admin.key, method: "DELETE" });

  expect([answer.status, answer.body]).toEqual([204, ""]);
  expect(again.status).toBe(409);
  expect(again.body).toMatchObject({ error: { code: "conflict", reason: "invitation_revoked" } });
  expect(await actor.does(acceptInvitation, { token })).toBeRefused("conflict", "invitation_revoked");
});

it("keeps it from bouncing afterwards, so that nobody is told of a mail that no longer counts", async () => {
  await using world = await createWorld();
  const staff = await aTeam(world);
  const { invitation } = await anInvitee(world, staff);
  await staff.owner.did(revokeInvitation, { teamId: staff.teamId, invitationId: invitation.id });

  await markBounced(world.services, invitation.id, "refused");

  expect(await world.database.models.invitation.findMany()).toMatchObject([{ status: "revoked", bouncedAt: null }]);
  expect(await world.database.models.mail.count({ where: { kind: "notice" } })).toBe(0);
});

it("accepts only the id of an invitation of this team, not its token", async () => {
  await using world = await createWorld();
  const [one, other] = [await aTeam(world), await aTeam(world)];
  const [mine, theirs] = [await anInvitee(world, one), await anInvitee(world, other)];
  const revoke = (teamId: string, invitationId: string) => one.owner.does(revokeInvitation, { teamId, invitationId });

  expect(await revoke(one.teamId, theirs.invitation.id)).toBeRefused("not_found", "no_such_invitation");
  expect(await revoke(other.teamId, theirs.invitation.id)).toBeRefused("not_found");
  expect(await revoke(other.teamId, mine.invitation.id)).toBeRefused("not_found");
  expect(await revoke(one.teamId, mine.token)).toBeRefused("not_found", "no_such_invitation");
  expect(await revoke(one.teamId, world.services.newId())).toBeRefused("not_found", "no_such_invitation");

  for (const { actor, token } of [mine, theirs]) {
    expect(await actor.did(acceptInvitation, { token })).toMatchObject({ status: "accepted" });
  }
});

it("tells an admin who names an invitation that is not there where all are listed, and not to look for a mail", async () => {
  await using world = await createWorld();
  const { admin, teamId } = await aTeam(world);
  const unknown = { teamId, invitationId: world.services.newId() };

  for (const operation of [revokeInvitation, resendInvitation]) {
    const message = "The team has no invitation with this id. `teamInvitations` lists them.";
    expect(await admin.does(operation, unknown)).toMatchObject({ failure: { message } });
  }
});
