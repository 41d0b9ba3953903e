import { once } from "node:events";
import { createServer } from "node:http";
import { postgraphile } from "postgraphile";
import { makePgService } from "postgraphile/adaptors/pg";
import { context } from "postgraphile/grafast";
import { grafserv } from "postgraphile/grafserv/node";
import { PostGraphileAmberPreset } from "postgraphile/presets/amber";
import { extendSchema } from "postgraphile/utils";

// PostGraphile requires Node 22; this is all that it needs on Node 20 to answer the cases.
Promise.withResolvers ??= function withResolvers() {
  let settle = {};
  const promise = new this((resolve, reject) => (settle = { resolve, reject }));
  return { promise, ...settle };
};

/** The tables as they are, plus a function that finds the caller's own memory, because the key decides the graph. */
const ownMemory = extendSchema(({ pgResources: { memory } }) => ({
  typeDefs: "extend type Query { ownMemory(id: UUID!): Memory }",
  objects: {
    Query: {
      plans: {
        ownMemory: (_root, { $id }) => memory.get({ graph_id: context().get("graphId"), id: $id }),
      },
    },
  },
}));

/** PostGraphile on node:http, with its own SQL. */
export async function start({ databaseUrl, connections, callerOf }) {
  const instance = postgraphile({
    extends: [PostGraphileAmberPreset],
    plugins: [ownMemory],
    pgServices: [
      makePgService({ connectionString: databaseUrl, schemas: ["public"], poolConfig: { max: connections } }),
    ],
    grafast: {
      context: async ({ node }) => {
        const { teamGraphId, personalGraphId } = await callerOf(node?.req.headers.authorization);
        return { graphId: teamGraphId ?? personalGraphId };
      },
    },
    grafserv: { graphiql: false, watch: false },
  });
  const server = createServer();
  await instance.createServ(grafserv).addTo(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return server.address().port;
}
