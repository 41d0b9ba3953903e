import { type Order, serve } from "./child.js";
import { openWork } from "./floor-work.js";
import { SCHEMA, contextOf, resolversOf } from "./peer-schema.js";
import type { PeerParts } from "./peers.js";

/** One of the peers: it gets everything from the shared code, and only its door is its own. */
serve(async (order: Order) => {
  const work = openWork(order);
  const parts: PeerParts = {
    databaseUrl: order.databaseUrl,
    connections: order.pool.max,
    schema: SCHEMA,
    resolvers: resolversOf(work),
    contextOf: (authorization) => contextOf(work, authorization),
    callerOf: work.callerOf,
  };
  const { start } = (await import(process.argv[2] ?? "")) as { start(parts: PeerParts): Promise<number> };
  return start(parts);
});
