import { expect, it } from "vitest";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { deleteRelationship } from "../../../src/features/relationships/delete-relationship.js";
import { aLink, aMemory, manyLinks, manyMemories, memoriesTitled } from "../../support/memories.js";
import { meaningfulWorld } from "../../support/meaning.js";
import { everythingRead } from "../../support/rows-read.js";
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
