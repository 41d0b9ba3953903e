import type { Memory } from "./floor-work.js";

/** The fields of a memory that the documents ask for, in the order of the hand-written answers, with their types. */
export const MEMORY_FIELDS = {
  id: "ID!",
  type: "String!",
  title: "String!",
  content: "String!",
  summary: "String",
  tags: "[String!]!",
  importance: "Float!",
  context: "JSONObject",
  confidence: "Float!",
  clientId: "String",
  expiresAt: "DateTimeISO",
  createdAt: "DateTimeISO!",
  updatedAt: "DateTimeISO!",
  version: "Int!",
  createdBy: "ID!",
} as const satisfies Record<keyof Omit<Memory, "relationships" | "relationshipsTotal">, string>;

const NAMES = Object.keys(MEMORY_FIELDS);

/** The GraphQL documents of the cases; the hand-written server knows only these texts. */
export const DOCUMENTS = {
  get: `query Get($id: ID!) {
  memory(id: $id) {
    ${NAMES.join(" ")}
  }
}`,
  related: `query Related($id: ID!) {
  relatedMemories(id: $id) { memories { memoryId type title relationship direction depth strength } }
}`,
  create: `mutation Create($input: CreateMemoryInput!) {
  createMemory(input: $input) {
    ${NAMES.join(" ")}
  }
}`,
  search: `query Search($query: String!) {
  searchMemories(query: $query) { memories { memoryId type title relevance } total totalIsCapped }
}`,
  nested: `query Nested($id: ID!) {
  memory(id: $id) {
    id
    title
    relationships {
      type
      direction
      memory { id title content tags relationships { type direction memory { id title } } }
    }
  }
}`,
} as const;
