/** The GraphQL documents of the cases; the hand-written server knows only these texts. */
export const DOCUMENTS = {
  get: `query Get($id: ID!) {
  memory(id: $id) {
    id type title content summary tags importance context confidence clientId expiresAt createdAt updatedAt version createdBy
  }
}`,
  related: `query Related($id: ID!) {
  relatedMemories(id: $id) { memories { memoryId type title relationship direction depth strength } }
}`,
  create: `mutation Create($input: CreateMemoryInput!) {
  createMemory(input: $input) {
    id type title content summary tags importance context confidence clientId expiresAt createdAt updatedAt version createdBy
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
