import type { Person } from "./doors.js";
import type { Guide } from "./guide.js";
import { walkViews } from "./walk-views.js";

const PROBLEM = { type: "problem", title: "Payments time out", content: "Under load, after 30 s.", tags: ["payments"] };
const SOLUTION = { type: "solution", title: "Retry with backoff", content: "Wait longer after each failure." };

const CREATE = "mutation ($input: CreateMemoryInput!) { createMemory(input: $input) { id title } }";
const DELETE = "mutation ($input: DeleteMemoriesInput!) { deleteMemories(input: $input) { relationships } }";

/** The first five minutes: two memories, a link, a search, a walk along the link, and views of many memories. */
export async function walkGraph(guide: Guide, as: Person): Promise<void> {
  guide.heading("The first five minutes");
  const store = (title: string, memory: object, shows: string) =>
    guide.step({
      title,
      as,
      shows,
      rest: { method: "POST", path: "/v1/memories", body: memory },
      graphql: { document: CREATE, variables: { input: memory } },
    });
  const problem = await store(
    "Store a memory: what went wrong",
    PROBLEM,
    "The answer contains its id, which the link needs.",
  );
  const solution = await store("Store another: what helped", SOLUTION, "Only type, title and content are required.");

  const [from, to] = [String(solution["id"]), String(problem["id"])];
  await guide.step({
    title: "Link the two",
    as,
    rest: {
      method: "POST",
      path: "/v1/relationships",
      body: { from_memory_id: from, to_memory_id: to, relationship_type: "SOLVES" },
    },
    graphql: {
      document: `mutation ($input: CreateRelationshipInput!) { createRelationship(input: $input) { id type } }`,
      variables: { input: { fromMemoryId: from, toMemoryId: to, relationshipType: "SOLVES" } },
    },
    isRight: ({ type }) => type === "SOLVES",
    shows: "The solution SOLVES the problem: relationships have a type and a direction.",
  });

  await guide.step({
    title: "Search, with a typing error",
    as,
    rest: { method: "GET", path: "/v1/memories/search?query=paymnts&limit=3" },
    graphql: { document: `{ searchMemories(query: "paymnts", limit: 3) { memories { relevance memory { title } } } }` },
    isRight: ({ memories }) => titlesIn(memories).includes(PROBLEM.title),
    shows: '"paymnts" found the memory about payments.',
  });

  await guide.step({
    title: "Find what is related to the problem",
    as,
    rest: { method: "GET", path: `/v1/memories/${to}/related?types=SOLVES,CAUSES&max_depth=2` },
    graphql: {
      document: `query ($id: ID!) { relatedMemories(id: $id, types: ["SOLVES", "CAUSES"], maxDepth: 2) {
    memories { title relationship direction depth }
  } }`,
      variables: { id: to },
    },
    isRight: ({ memories }) => titlesIn(memories).includes(SOLUTION.title),
    shows: "The solution is one step away, found by its relationship.",
  });

  const ids = [from, to, ...(await walkViews(guide, as, to))];
  await guide.step({
    title: "Delete all four",
    as,
    rest: { method: "POST", path: "/v1/memories/bulk-delete", body: { ids } },
    graphql: { document: DELETE, variables: { input: { ids } } },
    isRight: ({ relationships }) => relationships === 3,
    shows: "Their relationships were deleted, too. The graph is as it was before.",
  });
}

/** The titles of the found memories, from either door. */
export function titlesIn(memories: unknown): string[] {
  if (!Array.isArray(memories)) return [];
  return (memories as { title?: string; memory?: { title?: string } }[]).map(
    ({ title, memory }) => title ?? memory?.title ?? "",
  );
}
