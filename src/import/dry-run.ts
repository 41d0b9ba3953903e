import type { GraphStore } from "./graph-store.js";
import type { ServiceClient } from "./service-client.js";

/** A store that changes nothing. Without a client it behaves like an empty graph. */
export function dryRun(client: ServiceClient | undefined): GraphStore {
  return {
    async *memories(tag) {
      if (client) yield* client.memories(tag);
    },
    memory() {
      throw new Error("A dry run changes nothing, so there is nothing to read again.");
    },
    // A memory that does not exist has no relationships, so it needs no id.
    createMemory: async () => "",
    update: async () => {},
    async createRelationship(from, to, { type }) {
      return client && from && to && (await client.leadsTo(from, to, type)) ? "existing" : "created";
    },
  };
}
