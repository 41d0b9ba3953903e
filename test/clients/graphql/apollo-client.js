import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { ApolloClient, ApolloLink, CombinedGraphQLErrors, HttpLink, InMemoryCache, gql } from "@apollo/client";
import { PersistedQueryLink } from "@apollo/client/link/persisted-queries";
import { documents, isQuery } from "./flow.js";

const sent = [];

export function connect(url, key) {
  const hashed = new PersistedQueryLink({
    sha256: (text) => createHash("sha256").update(text).digest("hex"),
    useGETForHashedQueries: true,
  });
  const http = new HttpLink({
    uri: `${url}/graphql`,
    headers: { authorization: `Bearer ${key}` },
    fetch: (address, options) => {
      sent.push(`${options.method} ${address} ${options.body ?? ""}`);
      return fetch(address, options);
    },
  });
  const client = new ApolloClient({ link: ApolloLink.from([hashed, http]), cache: new InMemoryCache() });
  return async (name, variables) => {
    const document = gql(documents[name]);
    try {
      if (isQuery(name)) return await client.query({ query: document, variables });
      return await client.mutate({ mutation: document, variables });
    } catch (error) {
      if (CombinedGraphQLErrors.is(error)) return { errors: error.errors };
      throw error;
    }
  };
}

/** Sends queries by GET with only their hash, and once with their text when the server asks for it. */
export function check() {
  const [unknown, registering, known] = sent.filter((request) => request.includes("flowListQuery"));
  assert.match(registering, /^POST .*"sha256Hash".*"query":"query flowListQuery/);
  for (const hashed of [unknown, known]) {
    assert.match(hashed, /^GET .*sha256Hash/);
    assert.doesNotMatch(hashed, /[?&]query=/);
  }
}
