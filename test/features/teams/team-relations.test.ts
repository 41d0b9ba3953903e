import { expect, it } from "vitest";
import { inviteMember } from "../../../src/features/teams/invitations/invite-member.js";
import { ask } from "../../support/http.js";
import { aTeam, anInvitee, manyOf } from "../../support/teams.js";
import { type Actor, createWorld } from "../../support/world.js";
import { listenTo } from "../../support/statements.js";

interface Told {
  readonly data?: {
    readonly viewer?: { readonly team: { readonly members: unknown[]; readonly invitations: unknown[] } };
  };
  readonly errors?: ReadonlyArray<{ readonly path: unknown[]; readonly extensions: { code: string; reason?: string } }>;
}

async function say(url: string, { key }: Pick<Actor, "key">, query: string, variables: object = {}): Promise<Told> {
  return (await ask(`${url}/graphql`, { key, body: { query, variables } })).body as Told;
}

const WHOLE = `{ viewer { id team { id name ownerId memberCount
  members { userId role joinedAt user { id email name } } invitations { id email role status expiresAt } } } }`;

it("leads from the viewer to the team, its members and invitations with one statement each", async () => {
  await using world = await createWorld();
  using ear = listenTo(world);
  const { url } = await ear.serve();
  const [few, many] = [await aTeam(world, { maxMembers: 100 }), await aTeam(world, { maxMembers: 100 })];
  await anInvitee(world, few);
  const joined = await manyOf(20, () => world.user());
  for (const user of joined) await world.seat(user, many.teamId);
  await manyOf(25, (index) =>
    many.owner.did(inviteMember, { teamId: many.teamId, email: `n${index}@example.com`, role: "admin" }),
  );

  const sizes: Array<readonly [members: number, invitations: number]> = [];
  const counts: number[] = [];
  for (const { owner } of [few, many]) {
    const asked: number[] = [];
    for (let time = 0; time < 10; time++) {
      ear.heard(/^/);
      const { data, errors } = await say(url, owner, WHOLE);
      asked.push(ear.heard(/^\s*SELECT\b.*\b(?:team|team_member|invitation|user_account|api_key)\b/s).length);
      expect(errors).toBeUndefined();
      const team = data?.viewer?.team;
      if (time === 0) sizes.push([team?.members.length ?? 0, team?.invitations.length ?? 0]);
    }
    // Background jobs of the server may add statements, but not every time.
    counts.push(Math.min(...asked));
  }

  expect(sizes).toEqual([
    [3, 1],
    [23, 25],
  ]);
  expect(counts[1]).toBe(counts[0]);
  expect(counts[0]).toBeGreaterThanOrEqual(4);
  expect(counts[0]).toBeLessThanOrEqual(8);
});

it("shows members to a member, and invitations to members who may invite", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const staff = await aTeam(world);
  const { invitation } = await anInvitee(world, staff);

  const members = await say(url, staff.member, "{ viewer { team { members { user { email } } } } }");
  const refused = await say(url, staff.member, "{ viewer { team { id invitations { id } } } }");
  const byAdmin = await say(url, staff.admin, "{ viewer { team { invitations { id } } } }");

  const emails = members.data?.viewer?.team.members as Array<{ user: { email: string } }>;
  expect(emails.map(({ user }) => user.email).toSorted()).toEqual(
    [staff.owner, staff.admin, staff.member].map(({ email }) => email).toSorted(),
  );
  expect(refused.errors).toMatchObject([
    { path: ["viewer", "team", "invitations"], extensions: { code: "FORBIDDEN", reason: "role_too_small" } },
  ]);
  expect(byAdmin.data?.viewer?.team.invitations).toEqual([{ id: invitation.id }]);
});

it("is null for a viewer without a team, and refuses a key that may not read teams", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const bob = await world.user({ scopes: ["memories:read", "teams:write"] });

  expect(await say(url, ann, "{ viewer { team { id } } }")).toEqual({ data: { viewer: { team: null } } });
  expect(await say(url, bob, "{ viewer { team { id } } }")).toMatchObject({
    errors: [{ extensions: { code: "FORBIDDEN", reason: "scope_missing" } }],
  });
});

it("shows the state after a mutation that created, transferred or left the team", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const { teamId, owner, member } = await aTeam(world);
  const create =
    "mutation($input: CreateTeamInput!) { createTeam(input: $input) { members { role } invitations { id } } }";
  const transfer = "mutation($input: TransferTeamInput!) { transferTeam(input: $input) { members { userId role } } }";
  const leave = "mutation($input: LeaveTeamInput!) { leaveTeam(input: $input) { members { user { email } } } }";

  const created = await say(url, ann, create, { input: { name: "New", maxMembers: 5 } });
  const transferred = await say(url, owner, transfer, { input: { teamId, userId: member.caller.userId } });
  const left = await say(url, owner, leave, { input: { teamId } });

  expect(created).toEqual({ data: { createTeam: { members: [{ role: "OWNER" }], invitations: [] } } });
  expect(transferred).toMatchObject({
    data: {
      transferTeam: { members: expect.arrayContaining([{ userId: member.caller.userId, role: "OWNER" }]) as unknown },
    },
  });
  expect(left.errors).toMatchObject([{ extensions: { code: "NOT_FOUND" } }]);
});
