import type { Database } from "../../platform/database/database.js";

/** A graph by its stored size, and whose it is. */
export interface LargeGraph {
  readonly graphId: string;
  readonly memories: number;
  readonly bytes: number;
  /** Null for the graph of a deleted account or team that is being emptied. */
  readonly owner: GraphOwner | null;
}

interface GraphOwner {
  readonly userId: string | null;
  readonly teamId: string | null;
  /** The user's address; of a team its name, and its owner's address. */
  readonly name: string;
  readonly email: string | null;
}

/** The graphs with the most memories. Sizes are stored, so a row of each graph is read, and no memory. */
export async function largestGraphs({ models }: Database, count: number): Promise<LargeGraph[]> {
  const usages = await models.graphUsage.findMany({
    where: { memories: { gt: 0 } },
    orderBy: [{ memories: "desc" }, { graphId: "asc" }],
    take: count,
  });
  const owner = { where: { role: "owner" as const }, select: { user: { select: { email: true } } } };
  const graphs = await models.graph.findMany({
    where: { id: { in: usages.map(({ graphId }) => graphId) } },
    include: { user: true, team: { include: { members: owner } } },
  });
  const ownerOf = new Map(
    graphs.map(({ id, userId, teamId, user, team }): [string, GraphOwner | null] => {
      if (user) return [id, { userId, teamId, name: user.email, email: user.email }];
      return [id, team && { userId, teamId, name: team.name, email: team.members[0]?.user.email ?? null }];
    }),
  );
  return usages.map(({ graphId, memories, bytes }) => {
    return { graphId, memories, bytes: Number(bytes), owner: ownerOf.get(graphId) ?? null };
  });
}
