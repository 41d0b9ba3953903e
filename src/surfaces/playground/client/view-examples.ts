import type { Subject } from "./example.js";

export const VIEWS: Subject = {
  name: "Views",
  examples: [
    {
      title: "Recent activity",
      about: "What changed in the last days, and problems that nothing solves yet.",
      document: `query RecentActivity($days: Int!) {
  recentActivity(days: $days) {
    total
    byType {
      type
      count
    }
    unresolvedProblems {
      title
    }
  }
}
`,
      variables: () => ({ days: 7 }),
    },
    {
      title: "A path between two memories",
      about: "A shortest one, along relationships of any type.",
      document: `query Path($from: ID!, $to: ID!) {
  memoryPath(fromMemoryId: $from, toMemoryId: $to) {
    length
    steps {
      title
      relationship
      direction
    }
  }
}
`,
      variables: ({ memory: [from = "the id of a memory", to = "the id of another"] = [] }) => ({ from, to }),
    },
    {
      title: "The graph around a memory",
      about: "Memories and relationships, to be drawn.",
      document: `query Surroundings($id: ID!) {
  memoryGraph(memoryId: $id, maxDepth: 2) {
    nodes {
      memoryId
      title
    }
    edges {
      from
      to
      type
    }
  }
}
`,
      variables: ({ memory: [id = "the id of a memory"] = [] }) => ({ id }),
    },
    {
      title: "Statistics",
      about: "How many memories and relationships there are of each type.",
      document: `query Statistics {
  graphStatistics {
    memoriesTotal
    memoriesByType {
      type
      count
    }
    relationshipsTotal
    averageImportance
  }
}
`,
    },
  ],
};
