import pg from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { CLOSING, setSolving } from "../../../src/features/memories/index.js";
import { SearchMemoriesInput, searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { deleteRelationship } from "../../../src/features/relationships/delete-relationship.js";
import { recentActivity } from "../../../src/features/views/recent-activity.js";
import { contextOf } from "../../../src/operation/context.js";
import { execute } from "../../../src/operation/execute.js";
import { type Ask, ask } from "../../support/http.js";
import { aLink, aMemory, manyLinks, manyMemories, memoriesTitled } from "../../support/memories.js";
import { meaningfulWorld } from "../../support/meaning.js";
import { everythingRead, relationshipsRead } from "../../support/rows-read.js";
import { type Actor, createWorld } from "../../support/world.js";

const [solves, addresses] = ["SOLVES", "ADDRESSES"].map((relationshipType) => ({ relationshipType }));

const solutionOf = async (actor: Actor, query: string) =>
  (await actor.did(searchMemories, { query })).memories[0]?.solvedBy;

it("names the newest memory that solves a hit, else the newest that addresses it", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [problem, workaround, fix, better] = await memoriesTitled(
    ann,
    "Leaking needle",
    "Restart",
    "Fix",
    "Better fix",
  );

  expect(await solutionOf(ann, "needle")).toBeNull();
  await aLink(ann, problem, workaround, { relationshipType: "CAUSES" });
  await aLink(ann, fix, workaround, solves);
  expect(await solutionOf(ann, "needle")).toBeNull();
  await aLink(ann, workaround, problem, addresses);
  expect(await solutionOf(ann, "needle")).toEqual({ memoryId: workaround.id, title: "Restart" });
  await aLink(ann, fix, problem, solves);
  await aLink(ann, better, problem, addresses);
  expect((await solutionOf(ann, "needle"))?.title).toBe("Fix");
  const newest = await aLink(ann, better, problem, solves);
  expect((await solutionOf(ann, "needle"))?.title).toBe("Better fix");
  await ann.did(deleteRelationship, { id: newest.id });
  expect((await solutionOf(ann, "needle"))?.title).toBe("Fix");
});

it.each(CLOSING)("shows the same everywhere of a problem that another memory %s", async (relationshipType) => {
  await using world = await createWorld();
  const ann = await world.user();
  const problem = await aMemory(ann, { type: "problem", title: "Leaking needle" });
  await aLink(ann, await aMemory(ann, { title: "Fix" }), problem, { relationshipType });

  expect((await ann.did(recentActivity, {})).unresolvedProblems).toEqual([]);
  await setSolving({ ...world, caller: ann.caller }, [problem]);
  expect(problem.solvedBy?.title, "by `solvingMemories`").toBe("Fix");
  expect((await solutionOf(ann, "needle"))?.title, "by `search_hits` of the database").toBe("Fix");
});

it("names it for hits that are found by meaning alone", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  const [problem, fix] = await memoriesTitled(ann, "The automobile stalls", "Charge it");
  await aLink(ann, fix, problem, solves);
  await at.embed();

  expect((await solutionOf(ann, "vehicle"))?.title).toBe("Charge it");
});

it("reads few relationships, and few entries of their indexes, in a graph in which nearly all solve others", async () => {
  await using world = await createWorld({ fresh: true });
  const ann = await world.user();
  const found = await aMemory(ann, { title: "A needle" });
  const ids = (await manyMemories(world, ann, 2000)).map(({ id }) => id);
  await manyLinks(
    world,
    ann,
    ids.map((id, place) => [id, ids[(place + 1) % ids.length] ?? ""] as const),
    "SOLVES",
  );
  await aLink(ann, { id: ids[0] ?? "" }, found, solves);
  await solutionOf(ann, "needle");

  const before = await everythingRead(world);
  expect(await solutionOf(ann, "needle")).not.toBeNull();

  expect((await everythingRead(world)) - before).toBeLessThan(1000);
});

it("looks up what solves hits only where the answer shows it, or what supersedes them", async () => {
  await using world = await createWorld({ fresh: true });
  const ann = await world.user();
  const [found, other] = await memoriesTitled(ann, "A needle", "Fix");
  await aLink(ann, other, found, solves);
  const search = Object.assign(new SearchMemoriesInput(), { query: "needle", limit: 10, offset: 0 });
  const readFor = async (shown: string) => {
    const facts = { caller: ann.caller, door: "graphql", clientAddress: "127.0.0.1" } as const;
    const context = contextOf(world.services, { ...facts, selects: (field) => ["memories", shown].includes(field) });
    const before = await relationshipsRead(world);
    const { memories } = await execute(searchMemories, context, search);
    expect(memories.map(({ title }) => title)).toEqual(["A needle"]);
    return (await relationshipsRead(world)) - before;
  };

  expect(await readFor("solvedBy")).toBeGreaterThan(0);
  expect(await readFor("supersededBy")).toBeGreaterThan(0);
  expect(await readFor("title")).toBe(0);
});

it("reads no relationships of hits for clients of another service, which are shown whole memories alone", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: "A needle" });
  const { url } = await world.serve();
  const ear = vi.spyOn(pg.Client.prototype, "query");
  onTestFinished(() => ear.mockRestore());
  const linksAskedFor = async (path: string, wish: Ask) => {
    ear.mockClear();
    const answer = await ask(`${url}${path}`, { key: ann.key, ...wish });
    expect(answer.body).toMatchObject({ memories: [{ title: "A needle" }] });
    const values = ear.mock.calls.flatMap(
      ([query]: readonly unknown[]) => (query as Partial<pg.QueryConfig>).values ?? [],
    );
    // What `search_hits` calls `p_tuning[21]`.
    return values.find(isTuning)?.[20];
  };
  const isTuning = (value: unknown): value is number[] =>
    Array.isArray(value) && value.length > 20 && typeof value[0] === "number";

  expect(await linksAskedFor("/v1/memories/search?query=needle", {})).toBe(1);
  expect(await linksAskedFor("/search/advanced", { body: { query: "needle" } })).toBe(0);
  expect(await linksAskedFor("/api/v1/memories?query=needle", {})).toBe(0);
});
