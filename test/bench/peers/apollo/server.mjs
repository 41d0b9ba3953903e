import { once } from "node:events";
import { ApolloServer } from "@apollo/server";
import { expressMiddleware } from "@as-integrations/express5";
import express from "express";

/** Apollo Server on Express, as its documentation sets it up. */
export async function start({ schema, resolvers, contextOf }) {
  const apollo = new ApolloServer({ typeDefs: schema, resolvers });
  await apollo.start();
  const app = express();
  const context = ({ req }) => contextOf(req.headers.authorization);
  app.use("/graphql", express.json(), expressMiddleware(apollo, { context }));
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server.address().port;
}
