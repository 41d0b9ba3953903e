import { Failure } from "../../../operation/failure.js";
import type { Plain } from "../../run.js";
import { type Alias, NO_CONTENT, type RunNamed, created, ok } from "./alias.js";
import { changeMemory, findMemories, linkMemories, storeMemory, walkFrom } from "./calls.js";
import { backendMemoryOf, countsOf, hasText, mayBeCut, textsAsShown } from "./forms.js";
import { cutTo, listOf, numberOf, onlyWhere, withoutBlanks } from "./values.js";

const MEMORIES = "/memories";
const MEMORY = `${MEMORIES}/:id`;
const DAYS = [1, 365] as const;
/** The path of each call, and its path in earlier versions. */
const SEARCHES = ["/search/advanced", "/memories/search"] as const;
const RECALLS = ["/search/recall", "/memories/recall"] as const;
const WALKS = ["/search/memories/:id/related", "/memories/:id/related"] as const;
const SEARCH = { tagsMatch: "any", listsAll: true, form: backendMemoryOf } as const;
const RECALL = { tagsMatch: "any", listsAll: false, form: backendMemoryOf } as const;

/** The calls of the published MCP server's cloud backend. */
export const backendAliases: readonly Alias[] = [
  {
    method: "POST",
    path: MEMORIES,
    standsFor: ["putMemory", "createMemory", "memory"],
    answer: async ({ body }, run) => {
      const { id } = body;
      const kept = typeof id === "string" && mayBeCut(body) ? await storedTexts(run, id, body) : {};
      const memory = await storeMemory(run, { ...body, ...kept });
      const answer = backendMemoryOf(memory);
      return memory["version"] === 1 ? created(answer, MEMORIES, memory["id"]) : ok(answer);
    },
  },
  {
    method: "GET",
    path: "/memories/recent",
    standsFor: ["recentActivity"],
    answer: async ({ query }, run) => ok(await recentActivity(run, query)),
  },
  {
    method: "GET",
    path: MEMORY,
    standsFor: ["memory"],
    answer: async ({ id }, run) => ok(backendMemoryOf(await run("memory", { id }))),
  },
  {
    method: "PUT",
    path: MEMORY,
    standsFor: ["updateMemory", "memory"],
    answer: async ({ id, body }, run) => {
      const kept = hasText(body) ? await storedTexts(run, id, body) : {};
      const changes = onlyWhere(body, (name) => !Object.hasOwn(kept, name));
      return ok(backendMemoryOf(await changeMemory(run, id, changes)));
    },
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
  ...SEARCHES.map((path): Alias => ({
    method: "POST",
    path,
    standsFor: ["searchMemories", "memories"],
    answer: async ({ body, pause }, run) => ok({ memories: await findMemories(run, body, { ...SEARCH, pause }) }),
  })),
  ...RECALLS.map((path): Alias => ({
    method: "POST",
    path,
    standsFor: ["searchMemories", "memories"],
    answer: async ({ body, pause }, run) => ok({ memories: await findMemories(run, body, { ...RECALL, pause }) }),
  })),
  {
    method: "POST",
    path: "/relationships",
    standsFor: ["createRelationship", "relationship"],
    answer: async ({ body }, run) => linkMemories(run, body),
  },
  ...WALKS.map((path): Alias => ({
    method: "GET",
    path,
    standsFor: ["relatedMemories"],
    answer: async ({ id, query }, run) => ok({ related_memories: await relationshipsOf(run, id, query) }),
  })),
  {
    method: "GET",
    path: "/graphs/statistics",
    standsFor: ["graphStatistics"],
    answer: async (_request, run) => ok(statisticsOf(await run("graphStatistics", {}))),
  },
];

/**
 * The stored texts of which the client sends what it was shown: its update sends back all texts, and its import those of
 * its export. Without the right to read, it was shown none. If the service cannot read now, the change is refused: it
 * would store the cut texts.
 */
async function storedTexts(run: RunNamed, id: string, body: Plain): Promise<Plain> {
  const stored = await run("memory", { id }).catch((error: unknown): Plain => {
    if (error instanceof Failure && ["forbidden", "not_found"].includes(error.kind)) return {};
    throw error;
  });
  return textsAsShown(stored, body);
}

/**
 * Exporters ask for a depth of 1 without types, and take each relationship of the answer as starting at this memory. So
 * they get only those; else each relationship would be exported twice, once in the wrong direction.
 */
async function relationshipsOf(run: RunNamed, id: string, query: Plain): Promise<readonly Plain[]> {
  const isExport = numberOf(query["max_depth"]) === 1 && !listOf(query["relationship_types"]);
  const related = await walkFrom(run, id, query, { eachRelationship: true, isExport });
  return related.map(({ memory, relationship: type, strength, link }) => {
    const { confidence, context } = link as Plain;
    return { memory: backendMemoryOf(memory as Plain), relationship: { type, strength, confidence, context } };
  });
}

async function recentActivity(run: RunNamed, { days, project }: Plain): Promise<Plain> {
  const input: Plain = { days: cutTo(DAYS, days, 7), ...withoutBlanks({ project }) };
  const { total, by_type, memories, unresolved_problems } = await run("recentActivity", input);
  return {
    total_count: total,
    memories_by_type: countsOf(by_type),
    recent_memories: (memories as Plain[]).map(backendMemoryOf),
    unresolved_problems: (unresolved_problems as Plain[]).map(backendMemoryOf),
    days: input["days"],
    project: input["project"] ?? null,
  };
}

/** Puts each number into an object, where the client's tool reads it. */
const statisticsOf = (statistics: Plain): Plain => ({
  total_memories: { count: statistics["memories_total"] },
  memories_by_type: countsOf(statistics["memories_by_type"]),
  total_relationships: { count: statistics["relationships_total"] },
  avg_importance: { avg_importance: statistics["average_importance"] ?? 0 },
  avg_confidence: { avg_confidence: statistics["average_confidence"] ?? 0 },
});
