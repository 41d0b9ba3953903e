/** An operation to try. Given ids of memories, it works on those. */
export interface Example {
  readonly title: string;
  readonly about: string;
  readonly operation: (memories: readonly string[]) => string;
}

export const EXAMPLES: readonly Example[] = [
  {
    title: "Who am I?",
    about: "The user behind the key, and what the key may do.",
    operation: () => `query Viewer {
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
    title: "Store two memories",
    about: "A problem and its solution, in one request.",
    operation: () => `mutation StoreMemories {
  problem: createMemory(
    input: {
      type: "problem"
      title: "Requests time out under load"
      content: "The upstream API answers 503 when many clients retry at once."
      tags: ["api", "timeout"]
      importance: 0.8
    }
  ) {
    id
    title
  }
  solution: createMemory(
    input: {
      type: "solution"
      title: "Retry with exponential backoff"
      content: "Wait twice as long after each failure, plus a random time."
      tags: ["api", "retry"]
    }
  ) {
    id
    title
  }
}
`,
  },
  {
    title: "Link them",
    about: "Says that one memory solves another.",
    operation: ([problem = "the id of a problem", solution = "the id of its solution"]) => `mutation LinkMemories {
  createRelationship(
    input: {
      fromMemoryId: "${solution}"
      relationshipType: "SOLVES"
      toMemoryId: "${problem}"
      strength: 0.9
    }
  ) {
    toMemory {
      id
      title
    }
    type
    fromMemory {
      id
      title
    }
  }
}
`,
  },
  {
    title: "Search",
    about: "Finds memories by words, best first; typing errors are forgiven.",
    operation: () => `query SearchMemories {
  searchMemories(query: "timeout", limit: 10) {
    total
    memories {
      relevance
      id
      type
      title
    }
  }
}
`,
  },
  {
    title: "Walk from a memory",
    about: "What can be reached from it, up to three relationships away.",
    operation: ([memory = "the id of a memory"]) => `query WalkFromMemory {
  relatedMemories(
    id: "${memory}"
    maxDepth: 3
  ) {
    memories {
      depth
      direction
      relationship
      id
      type
      title
    }
  }
}
`,
  },
  {
    title: "Read a memory",
    about: "The note itself, with its relationships.",
    operation: ([memory = "the id of a memory"]) => `query ReadMemory {
  memory(
    id: "${memory}"
  ) {
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
  },
  {
    title: "List the newest",
    about: "A page of memories; the cursor leads to the next.",
    operation: () => `query NewestMemories {
  memories(limit: 10) {
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
  },
];

/** The ids of the memories in an answer, in its order: whatever has an id and a title is one. */
export function memoriesIn(answer: string): string[] {
  const ids = new Set<string>();
  try {
    JSON.parse(answer, function collect(this: { id?: unknown; title?: unknown }, key, value: unknown) {
      if (key === "id" && typeof value === "string" && typeof this.title === "string") ids.add(value);
      return value;
    });
  } catch {
    // Nothing was run yet, or what came is not JSON: there are no memories in it.
  }
  return [...ids];
}
