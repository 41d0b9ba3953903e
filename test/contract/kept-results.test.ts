import { type GraphQLObjectType, getNamedType, isObjectType } from "graphql";
import { expect, it } from "vitest";
import { memories as listMemories } from "../../src/features/memories/list-memories.js";
import { updateMemory } from "../../src/features/memories/update-memory.js";
import { createTeam } from "../../src/features/teams/create-team.js";
import { deleteTeam } from "../../src/features/teams/delete-team.js";
import { inviteMember } from "../../src/features/teams/invitations/invite-member.js";
import { leaveTeam } from "../../src/features/teams/leave-team.js";
import { removeMember } from "../../src/features/teams/members/remove-member.js";
import { graphqlSchema, operations } from "../../src/operations.js";
import { keepsResults } from "../../src/operation/operation.js";
import { outputTypeOf } from "../../src/operation/output.js";
import { relationAt } from "../../src/operation/relation.js";
import { exampleInput, thingsOf } from "../support/examples.js";
import { aLink, aMemory } from "../support/memories.js";
import { askGraphQL } from "../support/operations.js";
import { selectionOf } from "../support/selections.js";
import { type Actor, type World, createWorld } from "../support/world.js";

interface Parting {
  readonly actor: Actor;
  /** The team's owner. */
  readonly heir: Actor;
  readonly teamId: string;
}

/** How a member loses the right to the team's graph. */
const LOSSES: Readonly<Record<string, (parting: Parting) => Promise<unknown>>> = {
  "has left the team": ({ actor, teamId }) => actor.did(leaveTeam, { teamId }),
  "was removed": ({ actor, heir, teamId }) => heir.did(removeMember, { teamId, userId: actor.caller.userId }),
  "is in another team now": async ({ actor, teamId }) => {
    await actor.did(leaveTeam, { teamId });
    await actor.did(createTeam, { name: "Other", maxMembers: 2 });
  },
  "was in a team that was deleted": ({ heir, teamId }) => heir.did(deleteTeam, { teamId }),
};

/** The fields of a type: what they lead to, and by which relation, unless the source has all of it. */
const fieldsOf = (type: GraphQLObjectType) =>
  Object.values(type.getFields()).map((field) => {
    const [relation, target] = [relationAt(field), getNamedType(field.type)];
    const isRead = relation !== undefined && relation.permission !== "any";
    return {
      name: field.name,
      relation: isRead ? `${type.name}.${field.name}` : undefined,
      target: isObjectType(target) ? target : undefined,
    };
  });

const schema = await graphqlSchema();
const LEVELS = 4;

const leading = operations
  .filter(keepsResults)
  .map((operation) => ({ operation, type: outputTypeOf(schema, operation) }))
  .filter(({ type }) => relationsWithin(type, LEVELS).size > 0);

it("leads from a kept result to nothing of a team that its caller is no longer in, by any relation", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const followed = new Set<string>();
  const leaks = new Set<string>();
  for (const { operation, type } of leading) {
    for (const [loss, lose] of Object.entries(LOSSES)) {
      const actor = await world.user();
      const things = await thingsOf(world, actor, operation);
      const ask = async () => {
        const selection = selectionOf(type, LEVELS);
        const headers = { "idempotency-key": "once" };
        const input = exampleInput(operation, things);
        const { body } = await askGraphQL(url, actor.key, schema, operation, input, headers, selection);
        return (body as { data: Record<string, object> }).data[operation.name] ?? {};
      };
      const first = await ask();
      const { team } = (await actor.withKey(actor.key)).caller;
      const teamId = team?.id ?? things.teams[0] ?? "";
      const heir = await giveTeam(world, teamId);
      await fillGraph(heir);
      for (const [name, value] of relationsIn(type, await ask())) if (!isNothing(value)) followed.add(name);
      if (team) await lose({ actor, heir, teamId });

      const last = await ask();

      const place = `${operation.name} by one who ${loss}`;
      for (const [name, value] of relationsIn(type, last)) if (!isNothing(value)) leaks.add(`${place}: ${name}`);
      // What they were told before.
      expect(toldIn(type, last), place).toEqual(toldIn(type, first));
      expect(Object.keys(toldIn(type, last)), place).not.toEqual([]);
    }
  }
  expect([...leaks]).toEqual([]);
  const reached = new Set(leading.flatMap(({ type }) => [...relationsWithin(type, LEVELS)]));
  const empty = [...reached].filter((name) => !followed.has(name));
  expect(empty, "Let `fillGraph` store something to which these lead.").toEqual([]);
  expect(world.bugs).toEqual([]);
});

/** Makes a new member the team's owner, and the others admins. */
async function giveTeam(world: World, teamId: string): Promise<Actor> {
  const heir = await world.user();
  await world.seat(heir, teamId);
  const { userId } = heir.caller;
  const { team, teamMember } = world.database.models;
  await teamMember.updateMany({ where: { teamId }, data: { role: "admin" } });
  await teamMember.update({ where: { userId }, data: { role: "owner" } });
  await team.update({ where: { id: teamId }, data: { ownerId: userId } });
  await heir.did(inviteMember, { teamId, email: `since@${teamId}.example.com`, role: "member" });
  return heir;
}

/** Changes each memory of the team's graph, and links another one to it that replaces it, and that solves it. */
async function fillGraph(heir: Actor): Promise<void> {
  const { memories } = await heir.did(listMemories);
  for (const memory of memories) {
    await heir.did(updateMemory, { id: memory.id, title: "Since" });
    const other = await aMemory(heir, { title: "Stored since" });
    for (const relationshipType of ["REPLACES", "SOLVES"])
      await aLink(heir, other, memory, { relationshipType, context: "Said since." });
  }
}

const isNothing = (value: unknown): boolean =>
  value === null || value === 0 || (Array.isArray(value) && value.length === 0);

/** The relations that a selection of so many levels has. */
function relationsWithin(type: GraphQLObjectType, levels: number, found = new Set<string>()): Set<string> {
  for (const { relation, target } of fieldsOf(type)) {
    if (target && levels === 1) continue;
    if (relation) found.add(relation);
    if (target) relationsWithin(target, levels - 1, found);
  }
  return found;
}

/** Each relation in an answer, and what it leads to. */
function* relationsIn(type: GraphQLObjectType, value: unknown): Generator<readonly [string, unknown]> {
  if (Array.isArray(value)) for (const item of value) yield* relationsIn(type, item);
  else if (typeof value === "object" && value !== null) {
    for (const { name, relation, target } of fieldsOf(type)) {
      const inner = (value as Record<string, unknown>)[name];
      if (relation && inner !== undefined) yield [relation, inner];
      if (target) yield* relationsIn(target, inner);
    }
  }
}

/** An answer without its relations. */
function toldIn(type: GraphQLObjectType, value: object): object {
  const told = fieldsOf(type).filter(({ name, relation }) => !relation && name in value);
  return Object.fromEntries(told.map(({ name }) => [name, (value as Record<string, unknown>)[name]]));
}
