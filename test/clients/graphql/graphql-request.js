import { ClientError, GraphQLClient } from "graphql-request";
import { documents } from "./flow.js";

export function connect(url, key) {
  const client = new GraphQLClient(`${url}/graphql`, { headers: { authorization: `Bearer ${key}` } });
  return async (name, variables) => {
    try {
      return { data: await client.request(documents[name], variables) };
    } catch (error) {
      if (error instanceof ClientError && error.response.errors) return { errors: error.response.errors };
      throw error;
    }
  };
}
