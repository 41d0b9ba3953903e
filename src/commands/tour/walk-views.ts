import type { Person } from "./doors.js";
import type { Guide } from "./guide.js";

const CAUSE = { type: "error", title: "Connections run out", content: "Each request holds one for 30 s." };
const TASK = { type: "task", title: "Limit the retries", content: "At most five." };

/** Stores two more memories in one call, and shows the views of many memories. Returns the ids of the two. */
export async function walkViews(guide: Guide, as: Person, problemId: string): Promise<string[]> {
  const memories = [
    { ...CAUSE, ref: "cause" },
    { ...TASK, ref: "task" },
  ];
  const links = [
    { from: "cause", to: problemId, type: "CAUSES" },
    { from: "task", to: "cause", type: "ADDRESSES" },
  ];
  const made = await guide.step({
    title: "Store and link many in one call",
    as,
    rest: {
      method: "POST",
      path: "/v1/memories/bulk",
      body: {
        memories,
        relationships: links.map(({ from, to, type }) => {
          return { from_memory_id: from, to_memory_id: to, relationship_type: type };
        }),
      },
    },
    graphql: {
      document: "mutation ($input: CreateMemoriesInput!) { createMemories(input: $input) { memoryIds } }",
      variables: {
        input: {
          memories,
          relationships: links.map(({ from, to, type }) => {
            return { fromMemoryId: from, toMemoryId: to, relationshipType: type };
          }),
        },
      },
    },
    isRight: ({ memory_ids: ids }) => Array.isArray(ids) && ids.length === 2,
    shows: "All or nothing; a ref names a memory that is stored in the same call.",
  });
  const ids = made["memory_ids"] as string[];
  const taskId = String(ids[1]);

  await guide.step({
    title: "Find a path between two memories",
    as,
    rest: { method: "GET", path: `/v1/memories/${taskId}/path?to_memory_id=${problemId}` },
    graphql: {
      document: `{ memoryPath(
    fromMemoryId: "${taskId}"
    toMemoryId: "${problemId}"
  ) { length steps { title relationship } } }`,
    },
    isRight: ({ length }) => length === 2,
    shows: "Two relationships lead from the task to the problem.",
  });
  await guide.step({
    title: "Get the graph around the problem, to draw it",
    as,
    rest: { method: "GET", path: `/v1/graph?memory_id=${problemId}&max_depth=1` },
    graphql: {
      document: `query ($id: ID!) { memoryGraph(memoryId: $id, maxDepth: 1) {
    nodes { memoryId title } edges { from to type }
  } }`,
      variables: { id: problemId },
    },
    isRight: ({ nodes, edges }) =>
      Array.isArray(nodes) && nodes.length === 3 && Array.isArray(edges) && edges.length === 2,
    shows: "The problem, its solution and its cause, and the relationships between them.",
  });
  await guide.step({
    title: "See what happened in the last week",
    as,
    rest: { method: "GET", path: "/v1/activity?days=7" },
    graphql: { document: "{ recentActivity(days: 7) { total byType { type count } unresolvedProblems { title } } }" },
    isRight: ({ total }) => Number(total) >= 4,
    shows: "With the problems and errors that nothing solves or addresses yet.",
  });
  await guide.step({
    title: "Count what the graph holds",
    as,
    rest: { method: "GET", path: "/v1/graph/statistics" },
    graphql: {
      document: "{ graphStatistics { memoriesTotal relationshipsTotal relationshipsByType { type count } } }",
    },
    isRight: ({ relationships_total: total }) => Number(total) >= 3,
    shows: "How many memories and relationships there are of each type.",
  });
  return ids;
}
