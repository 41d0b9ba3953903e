import assert from "node:assert/strict";
import { Client, cacheExchange, fetchExchange } from "@urql/core";
import { documents, isQuery } from "./flow.js";

const sent = [];

export function connect(url, key) {
  const client = new Client({
    url: `${url}/graphql`,
    exchanges: [cacheExchange, fetchExchange],
    fetchOptions: { headers: { authorization: `Bearer ${key}` } },
    fetch: (address, options) => {
      sent.push(`${options.method} ${address}`);
      return fetch(address, options);
    },
  });
  return async (name, variables) => {
    const text = documents[name];
    const { data, error } = await (isQuery(name) ? client.query(text, variables) : client.mutation(text, variables));
    if (error?.networkError) throw error;
    return { data, errors: error?.graphQLErrors };
  };
}

/** Sends queries by GET. */
export function check() {
  const gets = sent.filter((request) => request.startsWith("GET "));
  for (const name of ["Search", "Walk", "List"]) {
    assert.ok(
      gets.some((request) => request.includes(`flow${name}Query`)),
      name,
    );
  }
}
