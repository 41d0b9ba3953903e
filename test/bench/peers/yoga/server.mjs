import { once } from "node:events";
import { createServer } from "node:http";
import { createSchema, createYoga } from "graphql-yoga";

/** GraphQL Yoga on node:http, with its default document caches. */
export async function start({ schema, resolvers, contextOf }) {
  const yoga = createYoga({
    schema: createSchema({ typeDefs: schema, resolvers }),
    context: ({ request }) => contextOf(request.headers.get("authorization")),
    graphiql: false,
    landingPage: false,
    logging: false,
  });
  const server = createServer(yoga).listen(0, "127.0.0.1");
  await once(server, "listening");
  return server.address().port;
}
