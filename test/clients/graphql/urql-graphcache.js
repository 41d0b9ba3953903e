import { readFileSync } from "node:fs";
import { Client, fetchExchange } from "@urql/core";
import { cacheExchange } from "@urql/exchange-graphcache";
import { buildSchema, isNonNullType, isObjectType } from "graphql";
import { documents, isQuery } from "./flow.js";

/** It warns of every object without an `id` whose type is not declared as such. */
const schema = buildSchema(readFileSync(new URL("../../../schema.graphql", import.meta.url), "utf8"));
const withoutId = Object.values(schema.getTypeMap()).filter(
  (type) => isObjectType(type) && !isNonNullType(type.getFields().id?.type),
);
const keys = Object.fromEntries(withoutId.map(({ name }) => [name, () => null]));

/** urql with its normalizing cache, which keeps one object for each type and id. */
export function connect(url, key) {
  const client = new Client({
    url: `${url}/graphql`,
    exchanges: [cacheExchange({ keys }), fetchExchange],
    fetchOptions: { headers: { authorization: `Bearer ${key}` } },
  });
  return async (name, variables) => {
    const text = documents[name];
    const { data, error } = await (isQuery(name) ? client.query(text, variables) : client.mutation(text, variables));
    if (error?.networkError) throw error;
    return { data, errors: error?.graphQLErrors };
  };
}
