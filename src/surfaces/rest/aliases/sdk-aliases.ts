import type { Plain } from "../../run.js";
import { type Alias, NO_CONTENT, created, ok } from "./alias.js";
import { changeMemory, findMemories, linkMemories, walkFrom } from "./calls.js";
import { memoryInput, memoryOf } from "./forms.js";

const MEMORIES = "/api/v1/memories";
const MEMORY = `${MEMORIES}/:id`;
const SEARCH = { tagsMatch: "all", listsAll: true, form: memoryOf } as const;
const RECALL = { tagsMatch: "all", listsAll: false, form: memoryOf } as const;

/** The calls of the published SDKs for Python and TypeScript, and of the adapters on top of them. */
export const sdkAliases: readonly Alias[] = [
  {
    method: "POST",
    path: MEMORIES,
    standsFor: ["createMemory"],
    answer: async ({ body }, run) => {
      const memory = await run("createMemory", memoryInput(body));
      return created(memoryOf(memory), MEMORIES, memory["id"]);
    },
  },
  {
    method: "GET",
    path: MEMORIES,
    standsFor: ["searchMemories", "memories"],
    answer: async ({ query, pause }, run) => ok({ memories: await findMemories(run, query, { ...SEARCH, pause }) }),
  },
  {
    method: "GET",
    path: `${MEMORIES}/recall`,
    standsFor: ["searchMemories", "memories"],
    answer: async ({ query, pause }, run) => ok({ memories: await findMemories(run, query, { ...RECALL, pause }) }),
  },
  {
    method: "GET",
    path: MEMORY,
    standsFor: ["memory"],
    answer: async ({ id }, run) => ok(memoryOf(await run("memory", { id }))),
  },
  {
    method: "PATCH",
    path: MEMORY,
    standsFor: ["updateMemory", "memory"],
    answer: async ({ id, body }, run) => ok(memoryOf(await changeMemory(run, id, body))),
  },
  {
    method: "DELETE",
    path: MEMORY,
    standsFor: ["deleteMemory"],
    answer: async ({ id }, run) => {
      await run("deleteMemory", { id });
      return NO_CONTENT;
    },
  },
  {
    method: "POST",
    path: "/api/v1/relationships",
    standsFor: ["createRelationship", "relationship"],
    answer: async ({ body }, run) => linkMemories(run, body),
  },
  {
    method: "GET",
    path: `${MEMORY}/related`,
    standsFor: ["relatedMemories"],
    answer: async ({ id, query }, run) => {
      const related = await walkFrom(run, id, query, { eachRelationship: false, isExport: false });
      return ok({
        related: related.map(({ memory, relationship: relationship_type, strength, depth }) => {
          return { memory: memoryOf(memory as Plain), relationship_type, strength, depth };
        }),
      });
    },
  },
];
