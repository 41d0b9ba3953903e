/** Example code of a client. It works as it is, once the reader has set the two constants at its top. */
export interface Snippet {
  readonly title: string;
  readonly about: string;
  readonly install?: string;
  readonly files: Readonly<Record<string, string>>;
}

/** Placeholders for the address and the key in the snippets. */
export const SNIPPET_URL = "http://127.0.0.1:4000/graphql";
export const SNIPPET_KEY = "mg_live_YOUR_KEY";

const CONSTANTS = `const url = "${SNIPPET_URL}";
const key = "${SNIPPET_KEY}";
`;

/** Shown at `/docs/graphql`; `test/clients/snippets.test.ts` runs each against the service. */
export const SNIPPETS: readonly Snippet[] = [
  {
    title: "fetch",
    about: "No library: a POST with the query and its variables.",
    files: {
      "ask.js": `${CONSTANTS}
async function ask(query, variables) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: \`Bearer \${key}\` },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = await response.json();
  if (errors) throw new Error(errors[0].message);
  return data;
}

const query = "query ($limit: Int!) { memories(limit: $limit) { memories { id title } nextCursor } }";
const { memories } = await ask(query, { limit: 5 });
console.log(memories.memories);
`,
    },
  },
  {
    title: "Apollo Client",
    about: "With its usual cache; only endless lists need a type policy.",
    install: "npm install @apollo/client graphql rxjs",
    files: {
      "apollo.js": `import { ApolloClient, HttpLink, InMemoryCache, gql } from "@apollo/client";

${CONSTANTS}
const link = new HttpLink({ uri: url, headers: { authorization: \`Bearer \${key}\` } });
const client = new ApolloClient({ link, cache: new InMemoryCache() });

const SEARCH = gql\`
  query Search($query: String!) {
    searchMemories(query: $query) {
      memories { memoryId relevance memory { id title tags } }
    }
  }
\`;
const { data } = await client.query({ query: SEARCH, variables: { query: "retry" } });
console.log(data.searchMemories.memories);
`,
    },
  },
  {
    title: "Apollo Client: endless lists",
    about:
      "Pages of the same filter become one list, and a deleted memory leaves it. A repeated deletion has the same " +
      "`Idempotency-Key`, and so succeeds too.",
    install: "npm install @apollo/client graphql rxjs",
    files: {
      "memories.js": `import { ApolloClient, HttpLink, InMemoryCache, gql } from "@apollo/client";
import { RetryLink } from "@apollo/client/link/retry";

${CONSTANTS}
// The next page continues the list; a page without a cursor begins it anew.
const memories = {
  keyArgs: (args) => Object.keys(args ?? {}).filter((name) => !["cursor", "limit"].includes(name)),
  merge(list, page, { args }) {
    if (!args?.cursor || !list) return page;
    return args.cursor === list.nextCursor ? { ...page, memories: [...list.memories, ...page.memories] } : list;
  },
};
const cache = new InMemoryCache({ typePolicies: { Query: { fields: { memories } } } });
const link = new HttpLink({ uri: url, headers: { authorization: \`Bearer \${key}\` } });
const client = new ApolloClient({ link: new RetryLink().concat(link), cache });

const LIST = gql\`
  query List($limit: Int!, $tags: [String!], $cursor: String) {
    memories(limit: $limit, tags: $tags, cursor: $cursor) {
      memories { id title }
      nextCursor
    }
  }
\`;
export const list = client.watchQuery({ query: LIST, variables: { limit: 20 } });

export async function readMore() {
  const cursor = list.getCurrentResult().data?.memories?.nextCursor;
  if (cursor) await list.fetchMore({ variables: { cursor } });
}

const REMOVE = gql\`
  mutation Remove($id: ID!) {
    deleteMemory(input: { id: $id }) { id }
  }
\`;
export const remove = (id) =>
  client.mutate({
    mutation: REMOVE,
    variables: { id },
    context: { headers: { "Idempotency-Key": crypto.randomUUID() } },
    // What is returned is a Deletion, so the cache does not know that the memory is gone.
    update: () => void cache.evict({ id: \`Memory:\${id}\` }),
  });
`,
    },
  },
  {
    title: "urql",
    about: "Its document cache needs no settings. Graphcache needs the list of types without an id: `keys`.",
    install: "npm install @urql/core graphql",
    files: {
      "urql.js": `import { Client, cacheExchange, fetchExchange, gql } from "@urql/core";

${CONSTANTS}
const client = new Client({
  url,
  exchanges: [cacheExchange, fetchExchange],
  fetchOptions: { headers: { authorization: \`Bearer \${key}\` } },
});

const RELATIONSHIPS = gql\`
  query Relationships($types: [String!]) {
    relationships(types: $types) {
      relationships { id type fromMemory { id title } toMemory { id title } }
    }
  }
\`;
const { data, error } = await client.query(RELATIONSHIPS, { types: ["SOLVES"] });
if (error) throw error;
console.log(data.relationships.relationships);
`,
    },
  },
  {
    title: "Relay",
    about: "An environment with Relay's own store. Its compiler reads the schema from a file: schema.graphql.",
    install: "npm install relay-runtime && npm install --save-dev relay-compiler",
    files: {
      "environment.js": `import relay from "relay-runtime";

${CONSTANTS}
const { Environment, Network, RecordSource, Store } = relay;

const network = Network.create(async ({ text }, variables) => {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: \`Bearer \${key}\` },
    body: JSON.stringify({ query: text, variables }),
  });
  return response.json();
});

export const environment = new Environment({ network, store: new Store(new RecordSource()) });
`,
    },
  },
  {
    title: "Types by GraphQL Code Generator",
    about:
      "The client preset, with a type for every scalar, so that no type is `any`. Reading the schema needs no key.",
    install: "npm install --save-dev @graphql-codegen/cli @graphql-codegen/client-preset",
    files: {
      "codegen.ts": `import type { CodegenConfig } from "@graphql-codegen/cli";

const config: CodegenConfig = {
  schema: "${SNIPPET_URL}",
  documents: ["src/**/*.ts"],
  generates: {
    "src/gql/": {
      preset: "client",
      config: {
        strictScalars: true,
        scalars: { ID: "string", DateTimeISO: "string", JSONObject: "Record<string, unknown>" },
      },
    },
  },
};
export default config;
`,
      "src/search.ts": `import { graphql } from "./gql/index.js";

export const SEARCH = graphql(\`
  query Search($query: String!, $after: DateTimeISO) {
    searchMemories(query: $query, createdAfter: $after) {
      memories { memoryId relevance memory { id title createdAt } }
    }
  }
\`);
`,
    },
  },
];
