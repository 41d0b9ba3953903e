import type { GraphStore, PlacedLink } from "./graph-store.js";
import { PAGE_LIMIT, type ServiceClient } from "./service-client.js";

/**
 * A store that changes nothing. Without a client it behaves like an empty graph.
 * @param linksTotal how many relationships will be looked up in all.
 */
export function dryRun(client: ServiceClient | undefined, linksTotal: number): GraphStore {
  let exists: Promise<Exists> | undefined;
  const countExisting = async (links: readonly PlacedLink[]): Promise<number> => {
    const known = links.filter(({ fromId, toId }) => fromId !== "" && toId !== "");
    if (!client || known.length === 0) return 0;
    exists ??= existsBy(client, linksTotal);
    const isThere = await exists;
    let existing = 0;
    for (const link of known) if (await isThere(link)) existing++;
    return existing;
  };
  return {
    async *memories(tag) {
      if (client) yield* client.memories(tag);
    },
    async *relationships(types) {
      if (client) yield* client.relationships(types);
    },
    memory() {
      throw new Error("A dry run changes nothing, so there is nothing to read again.");
    },
    // A memory that does not exist has no relationships, so it needs no id.
    createMemories: async (notes) => notes.map(() => ""),
    createDated: async (notes) => notes.map(() => ""),
    update: async () => {},
    createRelationships: countExisting,
    createDatedRelationships: countExisting,
  };
}

type Exists = (link: PlacedLink) => boolean | Promise<boolean>;

/** Looks up each relationship, or reads all relationships of the graph if that takes fewer requests. */
async function existsBy(client: ServiceClient, linksTotal: number): Promise<Exists> {
  const pages = (await client.relationshipsTotal()) / PAGE_LIMIT;
  if (pages > linksTotal) return ({ fromId, toId, type }) => client.leadsTo(fromId, toId, type);
  const keys = new Set<string>();
  for await (const { from, type, to } of client.relationships()) {
    keys.add(`${from} ${type} ${to}`);
  }
  return ({ fromId, toId, type }) => keys.has(`${fromId} ${type} ${toId}`);
}
