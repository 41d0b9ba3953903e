import type { Subject } from "./example.js";
import type { Ids } from "./ids.js";
import { TEAM_SUBJECTS } from "./team-examples.js";
import { VIEWS } from "./view-examples.js";

const memoryIn = ({ memory: [first = "the id of a memory"] = [] }: Ids): string => first;

const YOU: Subject = {
  name: "You",
  examples: [
    {
      title: "Who am I?",
      about: "The user behind the key, and what the key may do.",
      document: `query Viewer {
  viewer {
    email
    plan
    apiKey {
      name
      scopes
    }
  }
}
`,
    },
    {
      title: "Change my name",
      about: "The people whom you invite see it.",
      document: `mutation ChangeName($input: UpdateAccountInput!) {
  updateAccount(input: $input) {
    name
    email
  }
}
`,
      variables: () => ({ input: { name: "Ann" } }),
    },
    {
      title: "Sign up",
      about: "Sends a code to an address. Needs no key.",
      document: `mutation SignUp($input: SignUpInput!) {
  signUp(input: $input) {
    email
  }
}
`,
      variables: () => ({ input: { email: "ann@example.com" } }),
    },
    {
      title: "Confirm the address",
      about: "Exchanges the code for a first key. Needs no key.",
      document: `mutation ConfirmSignUp($input: ConfirmSignUpInput!) {
  confirmSignUp(input: $input) {
    key
    scopes
  }
}
`,
      variables: () => ({ input: { email: "ann@example.com", code: "12345678" } }),
    },
  ],
};

const MEMORIES: Subject = {
  name: "Memories",
  examples: [
    {
      title: "Store two memories",
      about: "A problem and its solution, in one request.",
      document: `mutation StoreMemories(
  $problem: CreateMemoryInput!
  $solution: CreateMemoryInput!
) {
  problem: createMemory(input: $problem) {
    id
    title
  }
  solution: createMemory(input: $solution) {
    id
    title
  }
}
`,
      variables: () => ({
        problem: {
          type: "problem",
          title: "Requests time out under load",
          content: "The upstream API answers 503 when many clients retry at once.",
          tags: ["api", "timeout"],
          importance: 0.8,
        },
        solution: {
          type: "solution",
          title: "Retry with exponential backoff",
          content: "Wait twice as long after each failure, plus a random time.",
          tags: ["api", "retry"],
        },
      }),
    },
    {
      title: "Store many at once",
      about: "All or nothing; a ref names a memory that is stored in the same call.",
      document: `mutation StoreMany($input: CreateMemoriesInput!) {
  createMemories(input: $input) {
    memoryIds
    relationshipIds
  }
}
`,
      variables: () => ({
        input: {
          memories: [
            { ref: "error", type: "error", title: "Connections run out", content: "Each holds one for 30 s." },
            { ref: "task", type: "task", title: "Limit the retries", content: "At most five." },
          ],
          relationships: [{ fromMemoryId: "task", relationshipType: "ADDRESSES", toMemoryId: "error" }],
        },
      }),
    },
    {
      title: "Read a memory",
      about: "The note itself, with its relationships.",
      document: `query ReadMemory($id: ID!) {
  memory(id: $id) {
    id
    type
    title
    content
    tags
    importance
    version
    relationships {
      type
      direction
      memory {
        title
      }
    }
  }
}
`,
      variables: (ids) => ({ id: memoryIn(ids) }),
    },
    {
      title: "Change a memory",
      about: "Fields that are left out stay as they are.",
      document: `mutation ChangeMemory($input: UpdateMemoryInput!) {
  updateMemory(input: $input) {
    id
    title
    importance
    version
  }
}
`,
      variables: (ids) => ({ input: { id: memoryIn(ids), importance: 0.9 } }),
    },
    {
      title: "List the newest",
      about: "A page of memories; the cursor leads to the next.",
      document: `query NewestMemories($limit: Int!, $cursor: String) {
  memories(limit: $limit, cursor: $cursor) {
    memories {
      id
      type
      title
      createdAt
    }
    nextCursor
  }
}
`,
      variables: () => ({ limit: 10, cursor: null }),
    },
  ],
};

const RELATIONSHIPS: Subject = {
  name: "Relationships",
  examples: [
    {
      title: "Link them",
      about: "Says that one memory solves another.",
      document: `mutation LinkMemories($input: CreateRelationshipInput!) {
  createRelationship(input: $input) {
    fromMemory {
      title
    }
    type
    toMemory {
      title
    }
  }
}
`,
      variables: ({ memory: [problem = "the id of a problem", solution = "the id of its solution"] = [] }) => ({
        input: { fromMemoryId: solution, relationshipType: "SOLVES", toMemoryId: problem, strength: 0.9 },
      }),
    },
    {
      title: "Walk from a memory",
      about: "What can be reached from it, up to three relationships away.",
      document: `query WalkFromMemory($id: ID!, $types: [String!]) {
  relatedMemories(id: $id, types: $types, maxDepth: 3) {
    memories {
      depth
      direction
      relationship
      memoryId
      type
      title
    }
  }
}
`,
      variables: (ids) => ({ id: memoryIn(ids), types: ["SOLVES", "CAUSES"] }),
    },
  ],
};

const SEARCH: Subject = {
  name: "Search",
  examples: [
    {
      title: "Find by words",
      about: "Best results first; typing errors are tolerated.",
      document: `query SearchMemories($query: String!) {
  searchMemories(query: $query, limit: 10) {
    total
    memories {
      relevance
      memoryId
      type
      title
      snippet
    }
  }
}
`,
      variables: () => ({ query: "timout" }),
    },
    {
      title: "See why something was found",
      about: "Each hit says which words it matches, how, and how much they weigh.",
      document: `query ExplainSearch($query: String!) {
  searchMemories(query: $query, limit: 5, explain: true) {
    memories {
      relevance
      title
      matches {
        word
        kind
        matched
        place
        weight
      }
    }
  }
}
`,
      variables: () => ({ query: "timout" }),
    },
    {
      title: "Find with filters",
      about: "By words, type, any of some tags, and importance.",
      document: `query SearchSome(
  $query: String!
  $types: [String!]
  $tags: [String!]
  $minImportance: Float
) {
  searchMemories(
    query: $query
    types: $types
    tags: $tags
    tagsMatch: ANY
    minImportance: $minImportance
  ) {
    total
    memories {
      relevance
      memory {
        title
        tags
        importance
      }
    }
  }
}
`,
      variables: () => ({ query: "time out", types: ["problem"], tags: ["api"], minImportance: 0.5 }),
    },
  ],
};

/** Ordered so that each subject can use the results of earlier ones. */
export const SUBJECTS: readonly Subject[] = [YOU, MEMORIES, RELATIONSHIPS, SEARCH, VIEWS, ...TEAM_SUBJECTS];
