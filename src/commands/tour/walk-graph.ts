import type { Person } from "./doors.js";
import type { Guide } from "./guide.js";

const PROBLEM = { type: "problem", title: "Payments time out", content: "Under load, after 30 s.", tags: ["payments"] };
const SOLUTION = { type: "solution", title: "Retry with backoff", content: "Wait longer after each failure." };

const CREATE = "mutation ($input: CreateMemoryInput!) { createMemory(input: $input) { id title } }";
const DELETE = "mutation ($input: DeleteMemoryInput!) { deleteMemory(input: $input) { __typename } }";

/** The first five minutes: two memories, a link, a search and a walk along the link. */
export async function walkGraph(guide: Guide, as: Person): Promise<void> {
  guide.heading("The first five minutes");
  const store = (title: string, memory: object, shows: string) =>
    guide.step({
      ...{ title, as, shows },
      rest: { method: "POST", path: "/v1/memories", body: memory },
      graphql: { document: CREATE, variables: { input: memory } },
    });
  const problem = await store("Store a memory: what went wrong", PROBLEM, "The answer has its id, to link it by.");
  const solution = await store("Store another: what helped", SOLUTION, "Type, title and content are all it takes.");

  const [from, to] = [String(solution["id"]), String(problem["id"])];
  await guide.step({
    ...{ title: "Link the two", as },
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
    shows: "The one SOLVES the other: relationships have a type and a direction.",
  });

  await guide.step({
    ...{ title: "Search, with a typing error", as },
    rest: { method: "GET", path: "/v1/memories/search?query=paymnts&limit=3" },
    graphql: { document: `{ searchMemories(query: "paymnts", limit: 3) { memories { relevance memory { title } } } }` },
    isRight: ({ memories }) => titlesIn(memories).includes(PROBLEM.title),
    shows: '"paymnts" found what is about payments.',
  });

  await guide.step({
    ...{ title: "Walk from the problem to what is related to it", as },
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

  const remove = (title: string, id: string, shows: string) =>
    guide.step({
      ...{ title, as, shows },
      rest: { method: "DELETE", path: `/v1/memories/${id}` },
      graphql: { document: DELETE, variables: { input: { id } } },
    });
  await remove("Delete the problem", to, "The relationship went with it.");
  await remove("Delete the solution", from, "The graph is as it was before.");
}

/** The titles of what was found, by either door. */
export function titlesIn(memories: unknown): string[] {
  if (!Array.isArray(memories)) return [];
  return (memories as { title?: string; memory?: { title?: string } }[]).map(
    ({ title, memory }) => title ?? memory?.title ?? "",
  );
}
