import { expect, it } from "vitest";
import { createTeam } from "../../../src/features/teams/create-team.js";
import { myTeam } from "../../../src/features/teams/get-team.js";
import { teamAudit } from "../../../src/features/teams/list-audit.js";
import { TEAM_SETTINGS } from "../../../src/features/teams/team-settings.js";
import { updateTeam } from "../../../src/features/teams/update-team.js";
import { snakeCase } from "../../../src/operation/names.js";
import { createWorld } from "../../support/world.js";

/** Every field that the owner sets; those without a form of their own hold a text. */
const everythingSet = (word: string, maxMembers: number): Readonly<Record<string, unknown>> => ({
  ...Object.fromEntries(TEAM_SETTINGS.map((name) => [name, `${word} ${name}`])),
  maxMembers,
});

it("keeps every setting of a new team, changes them one by one, and records each change in the audit log", async () => {
  await using world = await createWorld();
  const owner = await world.user();
  const [first, second] = [everythingSet("One", 3), everythingSet("Another", 4)];

  const { id: teamId, ...made } = await owner.did(createTeam, first);
  expect(made).toMatchObject(first);
  expect(await owner.did(myTeam)).toMatchObject(first);

  for (const [index, name] of TEAM_SETTINGS.entries()) {
    const expected = TEAM_SETTINGS.map((one, at) => [one, (at <= index ? second : first)[one]]);
    const changed = await owner.did(updateTeam, { teamId, [name]: second[name] });
    expect(changed).toMatchObject(Object.fromEntries(expected));
    const [event] = (await owner.did(teamAudit, { teamId })).events;
    const change = `${JSON.stringify(first[name])} → ${JSON.stringify(second[name])}`;
    expect(event).toMatchObject({ action: "updateTeam", detail: `${snakeCase(name)}: ${change}` });
  }
});
