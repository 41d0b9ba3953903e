import Fastify from "fastify";
import mercurius from "mercurius";

/** Fastify with mercurius, which compiles a document with graphql-jit after its first use. */
export async function start({ schema, resolvers, contextOf }) {
  const app = Fastify();
  const context = (request) => contextOf(request.headers.authorization);
  await app.register(mercurius, { schema, resolvers, jit: 1, context });
  await app.listen({ port: 0, host: "127.0.0.1" });
  return app.server.address().port;
}
