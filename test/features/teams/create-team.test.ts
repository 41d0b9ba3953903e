import { expect, it } from "vitest";
import { createTeam } from "../../../src/features/teams/create-team.js";
import { myTeam, team } from "../../../src/features/teams/get-team.js";
import { leaveTeam } from "../../../src/features/teams/leave-team.js";
import { ask } from "../../support/http.js";
import { aTeam, brokenInvariants } from "../../support/teams.js";
import { createWorld } from "../../support/world.js";

it("creates a team with its owner, and returns its location", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();

  const { status, headers, body } = await ask(`${url}/teams`, {
    key: ann.key,
    body: { name: "Cafe\u0301", max_members: 1 },
  });

  const { id } = body as { id: string };
  expect([status, headers.get("location")]).toEqual([201, `/teams/${id}`]);
  expect(body).toEqual({
    id,
    name: "Caf\u00e9",
    owner_id: ann.caller.userId,
    max_members: 1,
    member_count: 1,
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
  });
  for (const path of [`/teams/${id}`, "/teams/me", `/teams/${id.toUpperCase()}`]) {
    expect((await ask(url + path, { key: ann.key })).body).toEqual(body);
  }
  expect(await brokenInvariants(world)).toEqual([]);
});

it("refuses names and sizes out of bounds, and unknown fields", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const wrong: Readonly<Record<string, readonly unknown[]>> = {
    name: [undefined, null, 1, "", "  ", "\u200b", "x".repeat(101), "x".repeat(10_000), "a\0", "\ud800", ["Team"], {}],
    maxMembers: [undefined, null, 0, -1, 1_001, 1.5, "5", true, Infinity, [5], 2 ** 31],
    ownerId: [ann.caller.userId],
    id: [ann.caller.userId],
    memberCount: [1],
    plan: ["team"],
  };

  for (const [field, values] of Object.entries(wrong)) {
    for (const value of values) {
      const verdict = await ann.does(createTeam, { name: "Team", maxMembers: 5, [field]: value });
      expect(verdict, `${field}: ${JSON.stringify(value)}`).toBeRefused("bad_request");
    }
  }

  expect(await ann.does(myTeam)).toBeRefused("not_found", "no_team");
  expect(await ann.did(createTeam, { name: "\u{1f600}".repeat(100), maxMembers: 1_000 })).toMatchObject({
    maxMembers: 1_000,
  });
});

it("refuses a user who is in a team, until they leave it", async () => {
  await using world = await createWorld();
  const { teamId, member } = await aTeam(world);

  expect(await member.does(createTeam, { name: "Mine", maxMembers: 5 })).toBeRefused("conflict", "already_in_team");
  await member.did(leaveTeam, { teamId });
  const { id } = await member.did(createTeam, { name: "Mine", maxMembers: 5 });

  expect(await member.did(myTeam)).toMatchObject({ id, ownerId: member.caller.userId });
  expect(await member.does(team, { teamId })).toBeRefused("not_found");
  expect(await brokenInvariants(world)).toEqual([]);
});
