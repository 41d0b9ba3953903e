import { expect, it } from "vitest";
import { leaveTeam } from "../../src/features/teams/leave-team.js";
import { callTool } from "../support/mcp.js";
import { aMemory } from "../support/memories.js";
import { ask } from "../support/http.js";
import { aTeam } from "../support/teams.js";
import { createWorld } from "../support/world.js";

interface Made {
  readonly author?: string;
  readonly editor?: string;
}

const before = (email: string) => email.slice(0, email.indexOf("@"));

/** A team, and what an agent of one of its users is told of who made a memory: by each tool that shows it. */
async function aTeamWithAgents() {
  const world = await createWorld();
  const { url } = await world.serve();
  const staff = await aTeam(world);
  const call = async ({ key }: { key: string }, name: string, args: object = {}) =>
    (await callTool(url, key, name, args)).answer;
  const makersOf = async (actor: { key: string }, { id, graph }: { id: string; graph?: string }): Promise<Made[]> => {
    const where = graph === undefined ? {} : { graph };
    const { memories: hits } = await call(actor, "search_memories", { query: "needle", ...where });
    const { memories: changed, unresolved_problems: open } = await call(actor, "get_recent_activity", where);
    const shown = [await call(actor, "get_memory", { id, ...where }), hits, changed, open].flat() as Array<
      Made & { id: string }
    >;
    return shown.filter((one) => one.id === id).map(({ author, editor }) => ({ author, editor }) as Made);
  };
  return { world, url, ...staff, call, makersOf };
}

const everywhere = (made: Made): Made[] => Array.from({ length: 4 }, () => made);

it("tells agents of a team who stored a memory, and who changed it last if that is another", async () => {
  const { world, admin, member, call, makersOf } = await aTeamWithAgents();
  await using _ = world;
  const [bob, ann] = [before(member.email), before(admin.email)];
  const problem = await aMemory(member, { type: "problem", title: "Needle" });

  expect(await makersOf(admin, problem)).toEqual(everywhere({ author: bob }));
  expect(await makersOf(member, problem)).toEqual(everywhere({ author: `${bob} (you)` }));

  await call(admin, "update_memory", { id: problem.id, importance: 0.9 });
  expect(await makersOf(member, problem)).toEqual(everywhere({ author: `${bob} (you)`, editor: ann }));
  expect(await makersOf(admin, problem)).toEqual(everywhere({ author: bob, editor: `${ann} (you)` }));

  await call(member, "update_memory", { id: problem.id, importance: 0.8 });
  expect(await makersOf(admin, problem)).toEqual(everywhere({ author: bob }));
});

it("does not name users who have left the team, to whom the team's memories stay", async () => {
  const { world, teamId, admin, member, makersOf } = await aTeamWithAgents();
  await using _ = world;
  const problem = await aMemory(member, { type: "problem", title: "Needle" });
  await member.did(leaveTeam, { teamId });
  expect(await makersOf(admin, problem)).toEqual(everywhere({ author: "a former member" }));

  const { teamId: another } = await aTeam(world);
  await world.seat(member, another);
  expect(await makersOf(admin, problem)).toEqual(everywhere({ author: "a former member" }));
});

it("never gives two members one name", async () => {
  const { world, teamId, member: bob, makersOf } = await aTeamWithAgents();
  await using _ = world;
  const email = `${before(bob.email)}@another.example`;
  const alike = await world.user({ email });
  await world.seat(alike, teamId);
  const { id } = await aMemory(alike, { type: "problem", title: "Needle" });

  expect(await makersOf(bob, { id })).toEqual(everywhere({ author: email }));
  expect(await makersOf(alike, { id })).toEqual(everywhere({ author: `${before(email)} (you)` }));
});

it("names nobody in a personal graph", async () => {
  const { world, member, makersOf } = await aTeamWithAgents();
  await using _ = world;
  const own = await aMemory(member, { type: "problem", title: "Needle", graph: "personal" });

  expect(await makersOf(member, { id: own.id, graph: "personal" })).toEqual(everywhere({}));
});

it("tells the same by GraphQL", async () => {
  const { world, url, admin, member } = await aTeamWithAgents();
  await using _ = world;
  const { id } = await aMemory(member, { title: "Needle" });
  const own = await aMemory(admin, { title: "Needle", graph: "personal" });
  const query = `{
    memory(id: "${id}") { author editor }
    own: memory(id: "${own.id}", graph: PERSONAL) { author editor }
    searchMemories(query: "needle") { memories { author editor memory { author } } }
  }`;

  const { body } = await ask(`${url}/graphql`, { key: admin.key, body: { query } });

  const author = before(member.email);
  expect(body).toEqual({
    data: {
      memory: { author, editor: null },
      own: { author: null, editor: null },
      searchMemories: { memories: [{ author, editor: null, memory: { author } }] },
    },
  });
});

it("tells nobody by REST", async () => {
  const { world, url, admin, member } = await aTeamWithAgents();
  await using _ = world;
  const { id } = await aMemory(member, { title: "Needle" });
  const paths = [`/v1/memories/${id}`, "/v1/memories/search?query=needle&full=true", "/v1/activity"];

  for (const path of paths) {
    const { body } = await ask(`${url}${path}`, { key: admin.key });
    expect(JSON.stringify(body)).toContain(id);
    expect(JSON.stringify(body)).not.toMatch(/author|editor/);
  }
});

it("says where to look who did what to an agent that searches by a member's name", async () => {
  const { world, admin, member, call } = await aTeamWithAgents();
  await using _ = world;
  await aMemory(member, { type: "decision", title: "Needle" });

  const { hint } = await call(admin, "search_memories", { query: `${before(member.email)} decisions` });
  expect(hint).toContain("get_recent_activity with days 365 lists what changed in that time and by whom");
});
