import { embedDueMemories } from "../../src/features/memories/meaning/embed-memories.js";
import { fillModel } from "../../src/features/memories/meaning/embedding-models.js";
import { findByMeaning } from "../../src/features/memories/meaning/find-by-meaning.js";
import { searchMemories } from "../../src/features/memories/search/search-memories.js";
import { Meaning } from "../../src/platform/meaning/meaning.js";
import type { VectorIndex } from "../../src/platform/meaning/vector-index.js";
import { startEmbeddingsServer } from "./embeddings-server.js";
import { type Actor, type World, createWorld } from "./world.js";

export const PATIENT: Meaning["bounds"] = { searchMs: 60_000 };

/** The query that loads vectors, or those that changed. */
export const READS_VECTORS = /FROM "public"."memory_vector".*"change" >/;

/** Does the work of the chores that embed until nothing is left. */
export const embedderOf =
  (world: World, meaning: Meaning) =>
  async (by: Meaning = meaning): Promise<void> => {
    const context = { ...world.services, meaning: by };
    // A model counts as complete only after a run that found nothing left to do.
    for (let round = 0; round < 3; round++) {
      while (await fillModel(context));
      while (await embedDueMemories(context));
    }
    await fillModel(context);
  };

/** A world with an embeddings server, and how to embed its memories. */
export async function meaningfulWorld(bounds = PATIENT, index?: VectorIndex, wishes: object = {}) {
  const server = await startEmbeddingsServer();
  const meaning = new Meaning(server.client(), index, bounds);
  const world = await createWorld({ meaning, ...wishes });
  return {
    server,
    world,
    meaning,
    embed: embedderOf(world, meaning),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

export const findTitles = async (actor: Actor, query: string, wishes: object = {}) => {
  const { memories, meaning } = await actor.did(searchMemories, { query, ...wishes });
  return { titles: memories.map(({ title }) => title), meaning };
};

/** What is nearest to a query in meaning among the actor's own memories. */
export const findNearest = (context: Parameters<typeof findByMeaning>[0], { caller }: Actor, text: string) =>
  findByMeaning(context, caller.personalGraphId, { text, use: "query" }, {});
