import assert from "node:assert/strict";
import { type GraphQLObjectType, getNamedType, isNonNullType, isObjectType } from "graphql";
import { describe, expect, it } from "vitest";
import { graphqlSchema, operations, relations } from "../../src/operations.js";
import { createApiKey } from "../../src/features/access/create-api-key.js";
import { inviteMember } from "../../src/features/teams/invitations/invite-member.js";
import { type TeamRole, contextOf } from "../../src/operation/context.js";
import { type Failure, ScopeMissing } from "../../src/operation/failure.js";
import { snakeCase } from "../../src/operation/names.js";
import type { Operation } from "../../src/operation/operation.js";
import { outputTypeOf } from "../../src/operation/output.js";
import { SCOPES, scopesOf } from "../../src/operation/permission.js";
import { followRelation, relationAt } from "../../src/operation/relation.js";
import { isAtLeast } from "../../src/operation/standing.js";
import { followedFields } from "../../src/surfaces/json-schema.js";
import { worldFor } from "../support/billing.js";
import { type Things, exampleInput, thingsOf } from "../support/examples.js";
import { ask } from "../support/http.js";
import { aLink, aMemory, memoriesTitled } from "../support/memories.js";
import { askGraphQL, askRest } from "../support/operations.js";
import { selectionOf } from "../support/selections.js";
import { aTeam, anInvitee } from "../support/teams.js";
import { listenTo } from "../support/statements.js";
import { type Actor, type World, createWorld } from "../support/world.js";

const schema = await graphqlSchema();
const types = Object.values(schema.getTypeMap()).filter(
  (type): type is GraphQLObjectType => isObjectType(type) && !type.name.startsWith("__"),
);

/** Types with an identity of their own. */
const ENTITIES = ["ApiKey", "AuditEntry", "Invitation", "Memory", "Relationship", "Team", "User"];
/** Views of the same entities that only their owner sees, and one-time results of changes; equal wherever one looks. */
const OWN_VIEWS = ["ConfirmedSignUp", "Deletion", "NewApiKey", "RevokedApiKey", "Viewer"];
/** Types whose ids are the payment provider's. */
const FOREIGN = ["TeamInvoice", "TeamSubscription"];

it("gives ids only to types with an identity, so that caches never mix two views", () => {
  const withId = types.filter((type) => type.getFields()["id"]).map(({ name }) => name);

  expect(withId.sort()).toEqual([...ENTITIES, ...OWN_VIEWS, ...FOREIGN].sort());
});

it("tells the same about objects with the same id, wherever they appear", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { owner, teamId } = await aTeam(world);
  await anInvitee(world, { teamId, owner });
  const [one, two] = await memoriesTitled(owner, "Requests fail", "Requests retry");
  await aLink(owner, one, two);
  const pick = (name: string, depth: number) => selectionOf(schema.getType(name) as GraphQLObjectType, depth);
  const query = `query($one: ID!, $two: ID!) {
    viewer ${pick("Viewer", 5)}
    apiKeys ${pick("ApiKeyPage", 3)}
    a: memory(id: $one) ${pick("Memory", 4)} b: memory(id: $two) ${pick("Memory", 4)}
    c: relatedMemories(id: $one) ${pick("RelatedMemories", 4)} d: relatedMemories(id: $two) ${pick("RelatedMemories", 4)}
    e: searchMemories(query: "retry") ${pick("SearchResult", 4)}
    f: searchMemories(query: "requests") ${pick("SearchResult", 4)}
  }`;

  const { body } = await ask(`${url}/graphql`, {
    key: owner.key,
    body: { query, variables: { one: one.id, two: two.id } },
  });

  const { data, errors } = body as { data: object; errors?: unknown };
  expect(errors).toBeUndefined();
  const seen = new Map<string, unknown>();
  const contradictions: string[] = [];
  // Kept as Relay does: by the id alone, whatever the type.
  for (const { id, ...fields } of objectsIn(data)) {
    for (const [name, value] of Object.entries(fields)) {
      if (id === undefined || (typeof value === "object" && value !== null) || name === "__typename") continue;
      const place = `${String(id)} ${name}`;
      if (seen.has(place) && seen.get(place) !== value) contradictions.push(`${place}: ${seen.get(place)}, ${value}`);
      seen.set(place, value);
    }
  }
  expect(seen.size).toBeGreaterThan(50);
  expect(contradictions).toEqual([]);
});

const named = relations.map((relation) => [`${relation.of.name}.${relation.name}`, relation] as const);
const NOTHING_ASKED = () => new Set<string>();

it("declares every relation, and makes those nullable that may be refused or gone", () => {
  const fields = types.flatMap((type) => Object.values(type.getFields()).map((field) => ({ type, field })));
  const followed = fields.filter(({ field }) => relationAt(field));

  expect(followed.map(({ type, field }) => `${type.name}.${field.name}`).sort()).toEqual(
    named.map(([name]) => name).sort(),
  );
  for (const { field } of followed) {
    const relation = relationAt(field);
    expect(isNonNullType(field.type), field.name).toBe(
      relation?.permission === "any" && relation.failures.length === 0,
    );
  }
});

describe.each(named.filter(([, { permission }]) => permission !== "any"))("%s", (_name, relation) => {
  it("refuses a key without its scope", async () => {
    await using world = await createWorld();
    const { caller } = await world.user();
    const scopes = new Set(SCOPES.filter((scope) => !scopesOf(relation.permission).includes(scope)));
    const context = contextOf(world.services, { caller: { ...caller, scopes }, door: "graphql", clientAddress: "" });

    expect(() => followRelation(relation, context, {}, NOTHING_ASKED)).toThrow(ScopeMissing);
  });
});

/** The least role that may follow each relation of a team, a second time, so that nobody changes it by mistake. */
const LEAST_ROLES: Readonly<Record<string, TeamRole>> = { "Team.members": "member", "Team.invitations": "admin" };

describe.each(named.filter(([, { team }]) => team))("%s", (name, relation) => {
  it.each(["owner", "admin", "member", "outsider"] as const)("depends on the role in the team: %s", async (who) => {
    await using world = await createWorld();
    const { teamId, ...staff } = await aTeam(world);
    const { caller } = who === "outsider" ? await world.user() : staff[who];
    const context = contextOf(world.services, { caller, door: "graphql", clientAddress: "" });

    const followed = Promise.resolve(followRelation(relation, context, { id: teamId }, NOTHING_ASKED));

    const reached = await followed.then(
      () => "reached",
      (error: Failure) => error.kind,
    );
    const least = LEAST_ROLES[name];
    assert(least, `Write the least role for ${name} in LEAST_ROLES.`);
    const isLet = who !== "outsider" && isAtLeast(who, least);
    const refusal = who === "outsider" ? "not_found" : "forbidden";
    expect(reached).toBe(isLet ? "reached" : refusal);
  });
});

it("shows a key that may only write the relations of its own change's result", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user({ scopes: ["memories:write"] });
  const query = `mutation { createMemory(input: { type: "general", title: "New", content: "Nothing leads on." }) {
    relationshipsTotal relationships { type }
  } }`;

  const { body } = await ask(`${url}/graphql`, { key, body: { query } });

  expect(body).toEqual({ data: { createMemory: { relationshipsTotal: 0, relationships: [] } } });
});

it.each([
  ["owner", []],
  ["admin", []],
  ["member", ["viewer.team.invitations"]],
] as const)("lets one query serve all roles: %s", async (role, refused) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { teamId, ...staff } = await aTeam(world);
  const query = "{ viewer { email team { id name members { role user { email } } invitations { email status } } } }";

  const { body } = await ask(`${url}/graphql`, { key: staff[role].key, body: { query } });

  const { data, errors = [] } = body as { data: object; errors?: { path: string[]; extensions: object }[] };
  expect(errors.map(({ path }) => path.join("."))).toEqual(refused);
  const invitations = refused.length > 0 ? null : [];
  expect(data).toMatchObject({ viewer: { email: staff[role].email, team: { id: teamId, invitations } } });
});

const reading = operations.filter(
  ({ kind, permission }) => kind === "query" && !["public", "billing:read"].includes(permission),
);

it("shows nobody another user's objects at any depth, and the same by REST as by GraphQL", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const [ann, bob] = [await world.user(), await world.user()];
  const [annHas, bobHas] = [await thingsOf(world, ann), await thingsOf(world, bob)];
  const seen = new Map<string, string>();
  const contradictions: string[] = [];
  const note = (door: string, answer: unknown) => {
    for (const { id, ...fields } of objectsIn(answer)) {
      for (const [name, value] of Object.entries(fields)) {
        if (id === undefined || (typeof value === "object" && value !== null) || name === "__typename") continue;
        const place = `${String(id)} ${snakeCase(name)}`;
        // The doors write enums in different cases.
        const text = String(value).toLowerCase();
        if ((seen.get(place) ?? text) !== text) contradictions.push(`${door} ${place}: ${seen.get(place)}, ${text}`);
        seen.set(place, text);
      }
    }
  };
  let answers = "";
  for (const operation of reading) {
    const input = exampleInput(operation, annHas);
    const byRest = await askRest(url, ann.key, operation, input);
    const selection = selectionOf(outputTypeOf(schema, operation), operation.name === "exportAccount" ? 3 : 4);
    const byGraphQL = await askGraphQL(url, ann.key, schema, operation, input, {}, selection);
    expect([byRest.status, (byGraphQL.body as { errors?: unknown }).errors], operation.name).toEqual([200, undefined]);
    note("REST", byRest.body);
    note("GraphQL", (byGraphQL.body as { data: unknown }).data);
    answers += JSON.stringify([byRest.body, byGraphQL.body]);
  }

  const theirs = [bob.email, bob.caller.userId, ...Object.values(bobHas).flat()].filter((id) => String(id).length > 8);
  expect(seen.size).toBeGreaterThan(100);
  expect(theirs.length).toBeGreaterThan(5);
  expect(theirs.filter((id) => answers.includes(String(id)))).toEqual([]);
  expect(contradictions).toEqual([]);
});

it("follows each relation of a list with as many statements, however long the list is", async () => {
  await using world = await createWorld();
  using ear = listenTo(world);
  const { url } = await ear.serve();
  const ann = await world.user();
  const things = await thingsOf(world, ann);
  const asked = reading.map((operation) => {
    const levels = operation.name === "exportAccount" ? 3 : 4;
    return { operation, selection: selectionOf(outputTypeOf(schema, operation), levels) };
  });
  const counts: Record<string, number>[] = [];
  const count = async () => {
    const counted: Record<string, number> = {};
    for (const { operation, selection } of asked) {
      const tries: number[] = [];
      const before = counts[0]?.[operation.name] ?? Infinity;
      // Background jobs may ask meanwhile, but hardly each time.
      for (let time = 0; time < 3 || (time < 20 && Math.min(...tries) > before); time++) {
        ear.heard(/./);
        const input = exampleInput(operation, things);
        const { body } = await askGraphQL(url, ann.key, schema, operation, input, {}, selection);
        tries.push(ear.heard(/^\s*(SELECT|WITH)/).length);
        expect((body as { errors?: unknown }).errors, operation.name).toBeUndefined();
      }
      counted[operation.name] = Math.min(...tries);
    }
    counts.push(counted);
  };

  await count();
  await addToEach(world, ann, things);
  await count();

  const [few = {}, many = {}] = counts;
  const selected = asked.map(({ selection }) => selection).join(" ");
  expect(relations.filter(({ name }) => !new RegExp(`\\b${name}\\b`).test(selected))).toEqual([]);
  const more = Object.keys(few).filter((name) => (many[name] ?? 0) - (few[name] ?? 0) >= ADDED / 2);
  expect(more, "Let these follow their relations by `load`, which reads those of all items at once.").toEqual([]);
});

const ADDED = 10;

/** Adds members, keys, invitations, and memories linked to the first one. */
async function addToEach(world: World, ann: Actor, { teams: [teamId = ""], memories: [first = ""] }: Things) {
  for (let index = 0; index < ADDED; index++) {
    await world.seat(await world.user(), teamId);
    await ann.did(createApiKey, { name: `Key ${index}`, scopes: ["memories:read"] });
    await ann.did(inviteMember, { teamId, email: `${index}@example.org`, role: "member" });
    await aLink(ann, { id: first }, await aMemory(ann, { title: `Two ${index}` }));
  }
}

const leading = operations.filter((operation) => hasRelation(outputTypeOf(schema, operation), 4));

describe.each(leading.map((operation) => [operation.name, operation] as const))("%s", (_name, operation: Operation) => {
  it("answers for every role and scope, and reports refusals at the relation itself", async () => {
    await using world = await worldFor(operation);
    const { url } = await world.serve();
    const ann = await world.user();
    const things = await thingsOf(world, ann, operation);
    const { apiKey, teamMember } = world.database.models;
    const selection = selectionOf(outputTypeOf(schema, operation), 4);
    const ofAnn = { userId: ann.caller.userId };
    const owns = (await teamMember.count({ where: { ...ofAnn, role: "owner" } })) > 0;
    const roles = owns ? (["owner", "admin", "member"] as const) : [undefined];
    const [other = ""] = things.users;
    for (const [role, scopes] of [...roles.map((role) => [role, undefined] as const), [undefined, true] as const]) {
      if (role && role !== "owner") {
        await teamMember.updateMany({ where: ofAnn, data: { role } });
        // The team needs an owner meanwhile.
        await teamMember.updateMany({ where: { userId: other }, data: { role: "owner" } });
      }
      if (scopes) await apiKey.updateMany({ where: ofAnn, data: { scopes: [...scopesOf(operation.permission)] } });
      const input = exampleInput(operation, things);

      const { body } = await askGraphQL(url, ann.key, schema, operation, input, {}, selection);

      const { data, errors = [] } = body as { data: object | null; errors?: { path: (string | number)[] }[] };
      const misplaced = errors.filter(({ path }) => path.length > 1 && !isNullAt(data, path));
      expect(misplaced, `${role} ${scopes}`).toEqual([]);
    }
    expect(world.bugs).toEqual([]);
  });
});

/** Whether the value at the path is null while its parent is not: the error nulled nothing else. */
function isNullAt(data: unknown, path: readonly (string | number)[]): boolean {
  let value: unknown = data;
  for (const step of path) {
    if (typeof value !== "object" || value === null) return false;
    value = (value as Record<string, unknown>)[step];
  }
  return value === null;
}

function hasRelation(type: GraphQLObjectType, levels: number): boolean {
  if (levels === 0) return false;
  if (followedFields(type).size > 0) return true;
  return Object.values(type.getFields()).some((field) => {
    const inner = getNamedType(field.type);
    return isObjectType(inner) && hasRelation(inner, levels - 1);
  });
}

function* objectsIn(value: unknown): Generator<Record<string, unknown>> {
  if (Array.isArray(value)) for (const item of value) yield* objectsIn(item);
  else if (typeof value === "object" && value !== null) {
    yield value as Record<string, unknown>;
    for (const inner of Object.values(value)) yield* objectsIn(inner);
  }
}
