import type { GraphStore, PlacedLink } from "./graph-store.js";
import { LIMITS } from "../limits.js";
import type { ServiceClient } from "./service-client.js";

/** A store that changes nothing. Without a client it behaves like an empty graph. */
export function dryRun(client: ServiceClient | undefined): GraphStore {
  let hasReadAll = false;
  const countExisting = async (links: readonly PlacedLink[]): Promise<number> => {
    if (!client || hasReadAll) return 0;
    let existing = 0;
    for (const { fromId, toId, type } of links) {
      if (fromId !== "" && toId !== "" && (await client.leadsTo(fromId, toId, type))) existing++;
    }
    return existing;
  };
  return {
    async *memories(tag) {
      if (client) yield* client.memories(tag);
    },
    async *relationships(types) {
      if (client) yield* client.relationships(types);
    },
    // Without reading all, a dry run looks up each relationship by a request of its own.
    async relationshipsWithin(requests) {
      const all = await client?.relationshipsWithin(requests * LIMITS.bulk.itemsPerRequest);
      hasReadAll = all !== undefined;
      return all;
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
