import { expect, it } from "vitest";
import { entity, jsonLines, leftOut, linksOf, readText } from "../support/imports.js";

/** What mem0's `get_all` returns, on its platform and with a graph store. */
const MEM0 = {
  count: 3,
  next: null,
  previous: null,
  results: [
    {
      id: "4d4b3c0a-9f5e-4b0e-9a3b-0c8a5d0f6a11",
      memory: "Name is Alex. Is a vegetarian and allergic to nuts",
      user_id: "alex",
      hash: "5f1d7a84e2d1b6c9a3f0e47f2b9c8d10",
      metadata: { source: "chat" },
      categories: ["health", "food_preferences"],
      structured_attributes: { day: 12, hour: 9, year: 2025 },
      created_at: "2025-07-12T02:11:46.311232-07:00",
      updated_at: "2025-07-12T02:11:46.311259-07:00",
      expiration_date: null,
    },
    {
      id: "b0a1f0c2-1c77-4f2d-8f44-52f1f7a2b9de",
      memory: "Plays tennis on Sundays",
      agent_id: "coach",
      hash: "0c9e9d1f",
      metadata: null,
      score: null,
      created_at: "2025-07-13T10:00:00Z",
      updated_at: null,
    },
    { id: "7", memory: "", hash: "d41d8cd98f00b204e9800998ecf8427e", user_id: null },
  ],
  relations: [{ source: "alex", relationship: "allergic_to", target: "nuts" }],
};

it("reads mem0's texts, categories, metadata, ids and times, and counts hashes", () => {
  const graph = readText(JSON.stringify(MEM0, undefined, 2));

  expect([...graph.notes.values()].map(({ title, content, tags }) => ({ title, content, tags }))).toEqual([
    {
      title: "Name is Alex. Is a vegetarian and allergic to nuts",
      content: "Name is Alex. Is a vegetarian and allergic to nuts\n\nuser_id: alex\nsource: chat",
      tags: ["health", "food_preferences"],
    },
    {
      title: "Plays tennis on Sundays",
      content: "Plays tennis on Sundays\n\nagent_id: coach",
      tags: [],
    },
  ]);
  expect([...graph.notCarried]).toEqual([
    ["count", 1],
    ["hash", 2],
    ["structured_attributes", 1],
  ]);
  expect(Array.from(graph.notes.values(), ({ kept }) => kept)).toMatchObject([
    {
      clientId: "4d4b3c0a-9f5e-4b0e-9a3b-0c8a5d0f6a11",
      createdAt: new Date("2025-07-12T09:11:46.311Z"),
      updatedAt: new Date("2025-07-12T09:11:46.311Z"),
    },
    { clientId: "b0a1f0c2-1c77-4f2d-8f44-52f1f7a2b9de", createdAt: new Date("2025-07-13T10:00:00Z") },
  ]);
  expect(graph.memories).toEqual({ read: 2, merged: 0 });
  expect(leftOut(graph)).toEqual([
    expect.stringMatching(/^results\[2\]: .*: it has no name, no title and no text$/),
    'relationship "alex" "allergic_to" "nuts" (relations[0]): the file has no memory called "alex": --create-missing creates one',
  ]);
});

/** What answers of other services have beside a page of their memories, and whether another page follows it. */
const PAGES = [
  ["mem0", { count: 240, next: "https://api.example/v1/memories/?page=2", previous: null }, true],
  ["mem0", { count: 240, next: null, previous: "https://api.example/v1/memories/?page=2" }, false],
  ["mcp-memory-service", { total: 240, page: 1, page_size: 10, has_more: true }, true],
  ["mcp-memory-service", { total: 240, page: 24, page_size: 10, has_more: false }, false],
  ["OpenMemory", { total: 240, page: 3, size: 10, pages: 24 }, true],
  ["OpenMemory", { total: 240, page: 24, size: 10, pages: 24 }, false],
  ["Qdrant", { next_page_offset: "0198a3f2-6f4e-7c3b-9d2a-5b8e1c7f4a60" }, true],
  ["Qdrant", { next_page_offset: 20 }, true],
  ["Qdrant", { next_page_offset: null }, false],
  ["this service", { next_cursor: "bmV4dA" }, true],
  ["this service", { next_cursor: null }, false],
] as const;

it.each(PAGES)("says whether a file has only a page of what there is: %s, %o", (_tool, beside, isPart) => {
  for (const [list, wrap] of [
    ["results", (page: object) => page],
    ["points", (page: object) => ({ result: page })],
  ] as const) {
    const graph = readText(JSON.stringify(wrap({ [list]: [{ id: "1", content: "Plays tennis" }], ...beside })));

    expect(graph.notes.size).toBe(1);
    const page = expect.stringMatching(/^what follows this page of a longer list .*: get the other pages too/);
    expect(leftOut(graph)).toEqual(isPart ? [page] : []);
  }
});

it("lets a memory of mem0 expire at the end of its day, as mem0 does", () => {
  const memory = { id: "7", memory: "On trial", hash: "x", created_at: "2030-01-01T00:00:00Z" };
  const graph = readText(JSON.stringify([{ ...memory, expiration_date: "2030-01-31" }]));

  expect([...graph.notes.values()]).toMatchObject([{ kept: { expiresAt: new Date("2030-01-31T23:59:59Z") } }]);
});

/** `memories.json` of an export of claude.ai. */
const CLAUDE_AI = [
  {
    conversations_memory: "**Work context**\n\nAnn works on payments.",
    project_memories: { "0199aaaa-1111-7000-8000-000000000001": "**Purpose**\n\nThe shop.", other: "" },
    account_uuid: "5e0b0c1a-1111-4000-8000-000000000009",
  },
];

it("reads what claude.ai remembers of a person, and of each project", () => {
  const graph = readText(JSON.stringify(CLAUDE_AI));

  expect([...graph.notes.values()]).toMatchObject([
    { title: "Claude's memory of conversations", content: "**Work context**\n\nAnn works on payments." },
    {
      ...{ title: "Claude's memory of project 0199aaaa-1111-7000-8000-000000000001" },
      ...{ content: "**Purpose**\n\nThe shop.", kept: { clientId: "0199aaaa-1111-7000-8000-000000000001" } },
    },
  ]);
  expect([leftOut(graph), [...graph.notCarried]]).toEqual([[], [["account_uuid", 1]]]);
});

it("keeps or counts all else in what claude.ai remembers, and other memories with such a field", () => {
  const [memories] = CLAUDE_AI;
  const other = { memory: "In an object." };
  const graph = readText(
    JSON.stringify([{ ...memories, project_memories: { other, list: ["In a list."] }, new: "?" }]),
  );
  const contents = [...graph.notes.values()].map(({ content }) => content);

  expect(contents.toSorted()).toEqual([memories?.conversations_memory, "In a list.", "In an object."]);
  expect(graph.notCarried.get("new")).toBe(1);

  const records = [
    { name: "Tea", observations: ["Green."], project_memories: { shop: "Sold." } },
    { title: "Talks", content: "Long.", conversations_memory: "None." },
  ];
  const texts = [...readText(JSON.stringify(records)).notes.values()].map((note) => JSON.stringify(note));

  for (const text of ["Tea", "Green.", "Sold.", "Talks", "Long.", "None."]) {
    expect(texts.some((found) => found.includes(text))).toBe(true);
  }
});

it("reads the files that claude.ai remembers, with and without memories of projects", () => {
  const files = [
    { path: "/areas/Garden.md", content: "# Garden\nRoses.", updated_at: "2026-01-15T09:30:00+00:00" },
    { path: "/profile.md", content: "Gardener." },
  ];
  const exports = [
    { account_uuid: "7", conversations_memory: "", project_memories: [], memory_files: files },
    { account_uuid: "7", memory_files: files },
  ];

  for (const file of exports) {
    const graph = readText(JSON.stringify(file));
    expect([...graph.notes.values()]).toMatchObject([
      { title: "areas/Garden", content: "# Garden\nRoses.", kept: { updatedAt: new Date("2026-01-15T09:30:00Z") } },
      { title: "profile", content: "Gardener." },
    ]);
    expect([leftOut(graph), [...graph.notCarried.keys()]]).toEqual([[], ["account_uuid"]]);
  }
});

it("counts in a file of another tool each field that holds no memories", () => {
  const files = [CLAUDE_AI[0], OPEN_MEMORY, { agents: [], blocks: [] }];
  for (const file of files) {
    expect(readText(JSON.stringify({ ...file, news: ["one", "two"] })).notCarried.get("news")).toBe(2);
  }
});

it("creates the entities of mem0's graph with their relationships, if requested", () => {
  const graph = readText(JSON.stringify(MEM0), { createMissing: true });

  expect(linksOf(graph)).toEqual([["alex", "ALLERGIC_TO", "nuts", undefined]]);
  expect(leftOut(graph)).toHaveLength(1);
});

it("takes what a nested object repeats only once", () => {
  const stored = { user_id: "alex", created_at: "2026-01-02T03:04:05-08:00" };
  const record = {
    ...{ id: "4d4b3c0a-9f5e-4b0e-9a3b-0c8a5d0f6a31", memory: "Likes tea", ...stored },
    source_payload: { data: "Likes tea", hash: "5f1d", text_lemmatized: "like tea", ...stored },
    metadata: { data: "Green", user_id: "alexander" },
  };
  const graph = readText(JSON.stringify({ kind: "mem0_export", records: [record] }));

  const expected = "Likes tea\n\nuser_id: alex\nmetadata.data: Green\nmetadata.user_id: alexander";
  expect([...graph.notes.values()].map(({ content }) => content)).toEqual([expected]);
  expect([...graph.notCarried.keys()]).toEqual(["kind", "hash", "text_lemmatized"]);
});

/** An export of mcp-memory-service. */
const SERVICE = {
  export_metadata: {
    source_machine: "laptop",
    export_timestamp: "2025-08-20T10:15:30.123456",
    total_memories: 2,
    database_path: "/home/ann/.local/share/mcp-memory/sqlite_vec.db",
    platform: "Linux",
    include_embeddings: true,
    filter_tags: null,
    exporter_version: "4.6.1",
  },
  memories: [
    {
      content: "The staging database is rebuilt every night.\nAsk Mai before 18:00.",
      content_hash: "9b74c9897bac770ffc029102a200c5de",
      tags: ["infra", "source:laptop"],
      created_at: 1755684930.12,
      updated_at: 1755684931.5,
      memory_type: "decision",
      metadata: { hostname: "laptop", priority: "high" },
      export_source: "laptop",
      embedding: [0.1, 0.2],
    },
    {
      content: "Releases go out on Tuesdays",
      content_hash: "c157a79031e1c40f85931829bc5fc552",
      tags: "release,process",
      created_at: 1755684932,
      created_at_iso: "2025-08-20T10:15:32Z",
      updated_at: null,
      memory_type: null,
      metadata: {},
      export_source: "laptop",
    },
  ],
};

it("reads types, tags, metadata and times of mcp-memory-service, and counts hashes and embeddings", () => {
  const graph = readText(JSON.stringify(SERVICE, undefined, 2));

  expect([...graph.notes.values()].map(({ type, title, content, tags }) => ({ type, title, content, tags }))).toEqual([
    {
      type: "decision",
      title: "The staging database is rebuilt every night.",
      content:
        "The staging database is rebuilt every night.\nAsk Mai before 18:00.\n\nhostname: laptop\npriority: high",
      tags: ["infra", "source:laptop"],
    },
    {
      type: "general",
      title: "Releases go out on Tuesdays",
      content: "Releases go out on Tuesdays",
      tags: ["release", "process"],
    },
  ]);
  expect([...graph.notCarried]).toEqual([
    ["export_metadata", 1],
    ["embedding", 1],
    ["content_hash", 2],
    ["export_source", 2],
    ["created_at_iso", 1],
  ]);
  expect(leftOut(graph)).toEqual([]);
});

it("reads what a search of mcp-memory-service or of this service found", () => {
  const found = { content: "Use WAL.", content_hash: "a1", tags: ["sqlite"], memory_type: "note", metadata: {} };
  const own = { id: "m1", title: "Retry", content: "Wait.", type: "fix" };
  const results = [
    { memory: found, similarity_score: 0.9, relevance_reason: null },
    { memory: own, type: "match" },
  ];

  const graph = readText(JSON.stringify({ results, total_found: 2, query: "wal" }));

  expect([...graph.notes.values()]).toMatchObject([
    { type: "note", title: "Use WAL.", content: "Use WAL.", tags: ["sqlite"] },
    { type: "fix", title: "Retry", content: "Wait.\n\nfound.type: match" },
  ]);
  expect(graph.notTaken).toEqual([]);
});

it("reads a backup of mcp-memory-service: documents, tags in JSON, and its own fields among the metadata", () => {
  const id = "9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de";
  const metadata = {
    ...{ content_hash: id, memory_type: "reference", timestamp: 1746000000, created_at: 1746000000.5 },
    ...{ created_at_iso: "2025-04-30T08:00:00Z", tags: '["vpn", "network"]', tags_str: "vpn,network", source: "chat" },
  };
  const backup = {
    timestamp: "2025-05-01T10:00:00",
    total_memories: 1,
    memories: [{ id, document: "The VPN needs port 1194.", metadata, embedding: null }],
  };

  const graph = readText(JSON.stringify(backup, undefined, 2));

  expect([...graph.notes.values()]).toMatchObject([
    {
      ...{ type: "reference", title: "The VPN needs port 1194.", tags: ["vpn", "network"] },
      content: "The VPN needs port 1194.\n\nsource: chat",
      kept: { createdAt: new Date("2025-04-30T08:00:00.500Z") },
    },
  ]);
  expect(leftOut(graph)).toEqual([]);
});

it("reads associations of mcp-memory-service, whose ends are hashes of contents", () => {
  const [one, other] = ["9b74c9897bac770ffc029102a200c5de", "c157a79031e1c40f85931829bc5fc552"];
  const file = {
    memories: [
      { content: "The VPN needs port 1194.", content_hash: one, tags: [] },
      { content: "The firewall blocks 1194.", content_hash: other, tags: [] },
    ],
    associations: [
      { source_hash: other, target_hash: one, similarity: 0.7, relationship_type: "causes", connection_types: "[]" },
      { source_hash: one, target_hash: "unknown", similarity: 0.4 },
    ],
  };

  const graph = readText(JSON.stringify(file));

  expect([...graph.links.values()]).toMatchObject([
    { from: expect.stringMatching(/^The firewall/) as string, type: "CAUSES", strength: 0.7 },
  ]);
  expect(graph.notCarried.get("content_hash")).toBe(2);
  expect(leftOut(graph)).toEqual([expect.stringContaining('the file has no memory called "unknown"')]);
});

it("keeps two memories of mcp-memory-service apart whose hashes are the same but whose fields differ", () => {
  const memory = { content: "The VPN needs port 1194.", content_hash: "9b74c9897bac770ffc029102a200c5de" };
  const graph = readText(JSON.stringify({ memories: ["a", "b"].map((source) => ({ ...memory, source })) }));

  expect([graph.notes.size, leftOut(graph)]).toEqual([2, []]);
});

it("refuses mem0's history as memories, and says what to import", () => {
  const change = { id: "1", memory_id: "2", old_memory: null, new_memory: "Likes tea", event: "ADD" };

  const graph = readText(JSON.stringify([change]));

  expect(graph.notes.size).toBe(0);
  expect(leftOut(graph)).toEqual([
    expect.stringMatching(/a change in the history of mem0, .* import what get_all answers$/),
  ]);
});

it("reads the nodes and edges of Graphiti, and the memory blocks of a Letta agent", () => {
  const [ann, acme] = ["4d4b3c0a-9f5e-4b0e-9a3b-0c8a5d0f6a21", "4d4b3c0a-9f5e-4b0e-9a3b-0c8a5d0f6a22"];
  const graphiti = {
    nodes: [
      {
        uuid: ann,
        name: "Ann",
        labels: ["Entity", "Person"],
        created_at: "2025-01-01T00:00:00Z",
        summary: "Builds it",
        name_embedding: [0.1, 0.2],
      },
      { uuid: acme, name: "Acme", labels: ["Entity"], summary: "" },
    ],
    edges: [
      {
        ...{ uuid: "5", source_node_uuid: ann, target_node_uuid: acme, name: "WORKS_AT" },
        ...{ fact_embedding: [0.3, 0.4], fact: "Ann works at Acme" },
      },
    ],
  };
  const letta = {
    agents: [
      { id: "agent-0", name: "Support", block_ids: ["block-0"], messages: [] },
      { id: "agent-1", name: "Sales", block_ids: ["block-0", "block-1"] },
    ],
    ...{ groups: [], files: [], sources: [], mcp_servers: [], metadata: {}, created_at: "2025-07-01T00:00:00Z" },
    blocks: [
      { id: "block-0", label: "human", value: "Is Ann" },
      { id: "block-1", label: "persona", value: "Sells" },
      { id: "block-2", label: "spare", value: "Of nobody" },
    ],
    tools: [{ id: "tool-0", name: "send_message", source_code: "…" }],
  };

  const [nodes, blocks] = [readText(JSON.stringify(graphiti)), readText(JSON.stringify(letta))];

  expect(nodes.notes.get("Ann")).toMatchObject({ type: "person", summary: "Builds it", kept: { clientId: ann } });
  expect(linksOf(nodes)).toEqual([["Ann", "WORKS_AT", "Acme", "fact: Ann works at Acme"]]);
  expect([leftOut(nodes), [...nodes.notCarried.keys()]]).toEqual([[], ["name_embedding", "fact_embedding", "uuid"]]);
  expect([...blocks.notes.values()]).toMatchObject([
    { title: "human", content: "Is Ann\n\nagents: Support, Sales" },
    { title: "persona", content: "Sells\n\nagents: Sales" },
    { title: "spare", content: "Of nobody" },
  ]);
  expect(leftOut(blocks)).toEqual([]);
  expect([...blocks.notCarried]).toEqual(
    expect.arrayContaining([
      ["agents", 2],
      ["tools", 1],
    ]),
  );
});

/** What `bd export` of Beads writes: an issue a line, with what it depends on, and what an agent was told to remember. */
const issueOf = (id: string, title: string, fields: object = {}) => {
  const times = { created_at: "2026-01-08T16:42:38.411118+01:00", updated_at: "2026-01-09T08:00:00Z" };
  return { _type: "issue", id, title, status: "open", priority: 1, issue_type: "task", ...times, ...fields };
};
const dependsOn = (issue_id: string, depends_on_id: string, type: string, fields: object = {}) => {
  return { issue_id, depends_on_id, type, created_at: "2026-01-09T07:00:00Z", created_by: "ann", ...fields };
};

it("reads issues of Beads with their types, and what they depend on as relationships", () => {
  const graph = readText(
    jsonLines(
      issueOf("shop-1", "Sell online", { issue_type: "epic" }),
      issueOf("shop-2", "Choose a bank", {
        ...{ labels: ["money"], description: "Compare the fees.", compaction_level: 0, original_size: 0 },
        ...{ dependency_count: 0, dependent_count: 2, comment_count: 0 },
      }),
      issueOf("shop-2.1", "Take cards", {
        issue_type: "bug",
        dependencies: [
          dependsOn("shop-2.1", "shop-2", "blocks", { metadata: "{}", thread_id: "" }),
          dependsOn("shop-2.1", "shop-1", "parent-child"),
        ],
      }),
      issueOf("shop-3", "Refund", {
        dependencies: [
          dependsOn("shop-3", "shop-2", "discovered-from"),
          dependsOn("shop-3", "shop-2.1", "conditional-blocks"),
          dependsOn("shop-3", "shop-1", "related"),
          dependsOn("shop-3", "shop-2.1", "supersedes"),
          dependsOn("shop-3", "shop-4", "blocks"),
          dependsOn("shop-3", "old-9", "blocks"),
        ],
      }),
      issueOf("shop-4", "Dropped", { status: "tombstone", deleted_at: "2026-01-09T08:00:00Z" }),
      { _type: "memory", key: "bank-hours", value: "The bank answers until noon." },
    ),
  );

  expect(
    [...graph.notes.values()].map(({ type, title, content, tags }) => [type, title, content, tags.join()]),
  ).toEqual([
    ["epic", "Sell online", "Sell online\n\nissue: shop-1\nstatus: open\npriority: 1", ""],
    ["task", "Choose a bank", "Compare the fees.\n\nissue: shop-2\nstatus: open\npriority: 1", "money"],
    ["bug", "Take cards", "Take cards\n\nissue: shop-2.1\nstatus: open\npriority: 1", ""],
    ["task", "Refund", "Refund\n\nissue: shop-3\nstatus: open\npriority: 1", ""],
    ["general", "bank-hours", "The bank answers until noon.", ""],
  ]);
  expect(linksOf(graph)).toEqual([
    ["Take cards", "DEPENDS_ON", "Choose a bank", "created_by: ann"],
    ["Take cards", "PART_OF", "Sell online", "created_by: ann"],
    ["Refund", "DISCOVERED_FROM", "Choose a bank", "created_by: ann"],
    ["Refund", "DEPENDS_ON", "Take cards", "dependency: conditional-blocks; created_by: ann"],
    ["Refund", "RELATED_TO", "Sell online", "created_by: ann"],
    // `bd supersede shop-3 --with shop-2.1` writes this into the issue that is replaced.
    ["Take cards", "REPLACES", "Refund", "created_by: ann"],
  ]);
  expect([...graph.links.values()][0]?.createdAt).toEqual(new Date("2026-01-09T07:00:00Z"));
  expect([...graph.notCarried.keys()]).toEqual([
    "id",
    ...["compaction_level", "original_size", "dependency_count", "dependent_count", "comment_count"],
  ]);
  expect(leftOut(graph)).toEqual([
    'memory "Dropped" (line 5): it is marked as deleted',
    expect.stringContaining('the memory "shop-4" was not imported'),
    expect.stringContaining('the file has no memory called "old-9"'),
  ]);
});

it("reads an export of Engram: its observations, and what it says of sessions", () => {
  const observation = {
    session_id: "s1",
    scope: "project",
    project: "shop",
    revision_count: 1,
    duplicate_count: 2,
    sync_id: "obs-1",
    last_seen_at: "2026-02-17 12:10:00",
  };
  const times = { created_at: "2026-02-16 12:10:00", updated_at: "2026-02-17 12:10:00" };
  const file = {
    ...{ version: "0.1.0", exported_at: "2026-03-01 10:00:00" },
    sessions: [
      {
        id: "s1",
        project: "shop",
        directory: "/shop",
        started_at: "2026-02-16 12:00:00",
        ended_at: "2026-02-16 13:00:00",
        summary: "Built the cart",
      },
      { id: "s2", project: "shop", directory: "/shop", started_at: "2026-02-18 12:00:00" },
    ],
    observations: [
      { id: 1, ...observation, type: "decision", title: "One bank", content: "**What**: one\n**Why**: fees", ...times },
      { id: 2, ...observation, type: "bugfix", title: "Round prices", content: "Cents were lost.", ...times },
      {
        id: 3,
        ...observation,
        type: "bugfix",
        title: "Old",
        content: "Gone.",
        ...times,
        deleted_at: "2026-02-20 08:00:00",
      },
    ],
    prompts: [{ id: 1, session_id: "s1", content: "Add a cart", project: "shop", created_at: "2026-02-16 12:01:00" }],
  };

  const graph = readText(JSON.stringify(file, undefined, 2));

  const rest = "session_id: s1\nscope: project\nproject: shop";
  expect([...graph.notes.values()]).toMatchObject([
    {
      ...{ type: "decision", title: "One bank", tags: [], content: `**What**: one\n**Why**: fees\n\n${rest}` },
      kept: { createdAt: new Date("2026-02-16T12:10:00Z"), updatedAt: new Date("2026-02-17T12:10:00Z") },
    },
    { type: "bugfix", title: "Round prices", content: `Cents were lost.\n\n${rest}` },
    {
      ...{ type: "session", title: "Session s1", content: "Built the cart\n\nproject: shop\ndirectory: /shop" },
      kept: { createdAt: new Date("2026-02-16T12:00:00Z"), updatedAt: new Date("2026-02-16T13:00:00Z") },
    },
  ]);
  expect(graph.notes.size).toBe(3);
  expect(leftOut(graph)).toEqual([expect.stringMatching(/^memory "Old" .*: it is marked as deleted$/)]);
  expect([...graph.notCarried]).toEqual([
    ...[
      ["version", 1],
      ["exported_at", 1],
      ["prompts", 1],
      ["sessions", 1],
    ],
    ...[
      ["revision_count", 2],
      ["duplicate_count", 2],
      ["sync_id", 2],
      ["last_seen_at", 2],
      ["id", 2],
    ],
  ]);
});

it("reads an export of claude-mem: its observations with their facts, and its summaries", () => {
  const written = { memory_session_id: "s1", project: "shop", created_at: "2026-02-16T12:10:00Z", created_at_epoch: 1 };
  const file = {
    ...{ exportedAt: "2026-03-01T10:00:00Z", exportedAtEpoch: 1, query: "cart", totalObservations: 2 },
    observations: [
      {
        ...{
          id: 7,
          ...written,
          text: "Since May.",
          type: "discovery",
          title: "Cents get lost",
          subtitle: "In the cart",
        },
        ...{ narrative: "It adds floats.", facts: '["Prices are floats, all of them","Totals differ"]' },
        ...{ concepts: '["gotcha","how-it-works"]', files_read: '["src/cart.ts"]', files_modified: "[]" },
        ...{ prompt_number: 2, discovery_tokens: 120, content_hash: "5f1d7a84" },
      },
      {
        id: 8,
        ...written,
        type: "change",
        title: "Integers",
        narrative: null,
        facts: null,
        concepts: null,
        files_modified: "src/a, b.ts",
      },
    ],
    sessions: [{ id: 1, content_session_id: "c1", memory_session_id: "s1", user_prompt: "Fix the cart" }],
    summaries: [
      { id: 7, ...written, request: "Fix the cart", learned: "Floats", next_steps: "Taxes", notes: null },
      { id: 8, ...written, request: null, learned: "Cents", completed: "Rounding" },
    ],
    prompts: [{ id: 4, content_session_id: "c1", prompt_text: "Fix the cart" }],
  };

  const graph = readText(JSON.stringify(file));

  const rest = "memory_session_id: s1\nproject: shop";
  expect(
    [...graph.notes.values()].map(({ type, title, content, tags }) => [type, title, content, tags.join()]),
  ).toEqual([
    [
      ...["discovery", "Cents get lost"],
      "Since May.\nIt adds floats.\n- Prices are floats, all of them\n- Totals differ\n\n" +
        `${rest}\nsubtitle: In the cart\nfiles_read: src/cart.ts`,
      "gotcha,how-it-works",
    ],
    ["change", "Integers", `Integers\n\n${rest}\nfiles_modified: src/a, b.ts`, ""],
    [
      ...["session_summary", "Fix the cart"],
      `request: Fix the cart\nlearned: Floats\nnext_steps: Taxes\n\n${rest}`,
      "",
    ],
    ["session_summary", "learned: Cents", `learned: Cents\ncompleted: Rounding\n\n${rest}`, ""],
  ]);
  expect(leftOut(graph)).toEqual([]);
  expect([...graph.notCarried.keys()]).toEqual([
    ...["exportedAt", "exportedAtEpoch", "query", "totalObservations", "prompts", "sessions"],
    ...["created_at_epoch", "prompt_number", "discovery_tokens", "content_hash", "id"],
  ]);
});

const LOG = { observations: [{ title: "Cents", content: "Lost." }], sessions: [{ id: "s1", notes: "…" }], prompts: [] };

it.each([
  { prompts: undefined },
  ...[{ name: "Ann" }, { text: "Is CEO" }, { id: "a" }, { entities: [{ name: "Ann" }] }, { relations: [] }],
  ...[{ observations: "Lost." }, { sessions: "s1" }, { summaries: "Cart" }],
])("counts nothing as the sessions of a log, in a file that resembles one of Engram: %o", (fields) => {
  const graph = readText(JSON.stringify({ ...LOG, ...fields }));

  expect([...graph.notCarried.keys()]).not.toContain("sessions");
});

it("loses nothing of records in a log that have other fields than those of Engram and claude-mem", () => {
  const told = { narrative: "In the cart.", concepts: ["float"] };
  const graph = readText(
    JSON.stringify({
      ...LOG,
      observations: [
        ...["Plain", { title: "Cents", ...told, content: "Lost." }, { title: "Cart", ...told, tags: ["money"] }],
        { session_id: "s1", scope: "all", title: "Cat", content: "Black", last_seen_at: "May" },
      ],
      sessions: ["Monday", null, { id: "s1", summary: "Built it", content: "All day" }],
      summaries: ["Text", { id: 1, request: "Cart", learned: "Floats", content: "Slow" }],
    }),
  );

  expect(Array.from(graph.notes.values(), ({ content, summary, tags }) => [content, summary, tags.join()])).toEqual([
    ["narrative: In the cart.\nconcepts: float", undefined, "mcp-memory,money"],
    ["Plain", undefined, ""],
    ["Lost.\n\nnarrative: In the cart.\nconcepts: float", undefined, ""],
    ["Black\n\nsession_id: s1\nscope: all\nlast_seen_at: May", undefined, ""],
    ["Text", undefined, ""],
    ["Slow\n\nrequest: Cart\nlearned: Floats", undefined, ""],
    ["All day", "Built it", ""],
  ]);
});

it("reads an export of claude-mem that has only summaries", () => {
  const file = {
    observations: [],
    sessions: [],
    summaries: [{ id: 1, request: "Cart", learned: "Floats" }],
    prompts: [],
  };

  expect([...readText(JSON.stringify(file)).notes.values()]).toMatchObject([
    { type: "session_summary", title: "Cart" },
  ]);
});

it("takes observations of a thing for its own, whatever they have", () => {
  const graph = readText(
    JSON.stringify({ ...LOG, name: "Ann", observations: [{ title: "CEO", content: "since 2020" }], sessions: [] }),
  );

  expect([...graph.notes.values()]).toMatchObject([{ title: "Ann", content: "since 2020 (title: CEO)" }]);
});

it("keeps issues of Beads apart whose titles are the same, and all else that a dependency says", () => {
  const dependencies = [{ depends_on_id: "b-1", type: "blocks", metadata: '{"gate":"any"}' }];
  const graph = readText(jsonLines(issueOf("b-1", "Test"), issueOf("b-2", "Test", { dependencies })));

  expect(graph.notes.size).toBe(2);
  expect(linksOf(graph)).toEqual([["Test", "DEPENDS_ON", "Test", 'metadata: {"gate":"any"}']]);
});

it("keeps the type of an issue of Beads that would mark a relationship or a memory elsewhere", () => {
  const graph = readText(jsonLines(...["link", "memory"].map((type) => issueOf(type, type, { issue_type: type }))));

  expect([...graph.notes.values()]).toMatchObject([{ type: "link" }, { type: "memory" }]);
});

it("keeps what issues of other programs have under names that Beads does not use", () => {
  const issue = { id: "o-1", title: "Shop", issue_type: "Bug", status: "Open" };
  const contentOf = (fields: object) => [...readText(jsonLines({ ...issue, ...fields })).notes.values()][0]?.content;

  expect(contentOf({ dependencies: ["o-2"] })).toContain("dependencies: o-2");
  expect(contentOf({ dependencies: [{ id: "o-2", title: "Bank", dependency_type: "blocks" }] })).toContain(
    "dependencies: (id: o-2; title: Bank; dependency_type: blocks)",
  );
  expect(contentOf({ issue: 7, description: "Sells." })).toBe("Sells.\n\nissue_type: Bug\nstatus: Open\nissue: 7");
  const others = ["id", "title", "status"].map((name) => ({ [name]: undefined }));
  for (const fields of [...others, { _type: "wisp" }, { type: "Ticket" }, { memory_type: "x" }, { relations: ["o-2"] }])
    expect(contentOf(fields)).toContain("issue_type: Bug");
  expect(contentOf({ issue_type: undefined })).not.toContain("issue:");
});

it.each([{ issue: undefined }, { memory_type: undefined }, { relations: undefined }])(
  "keeps counts of records that resemble an issue of Beads: %o",
  (fields) => {
    const record = { name: "Shop", issue: 7, memory_type: "bug", relations: [], comment_count: 2, ...fields };

    expect([...readText(jsonLines(record)).notes.values()][0]?.content).toContain("comment_count: 2");
  },
);

it("takes dependencies of anything else for a field", () => {
  const graph = readText(jsonLines({ name: "Shop", dependencies: ["bank", { id: "till" }], description: "Sells." }));

  expect([...graph.notes.values()][0]?.content).toBe("Sells.\ndependencies: bank, (id: till)");
  expect(linksOf(graph)).toEqual([]);
});

it("reads the value of a Letta block as its text, also of an agent file of an earlier version", () => {
  const block = { value: "Is Ann", limit: 5000, label: "human", description: "Who talks", read_only: false };
  const files = [
    { agents: [{ name: "Sales", block_ids: ["block-0"] }], blocks: [{ ...block, id: "block-0" }] },
    { agent_type: "memgpt_agent", name: "Sales", description: "Sells", core_memory: [block], messages: [{}, {}] },
  ];

  const graphs = files.map((file) => readText(JSON.stringify(file)));

  for (const graph of graphs) {
    const expected = [{ title: "human", content: "Is Ann\n\ndescription: Who talks\nagents: Sales" }];
    expect([...graph.notes.values()]).toMatchObject(expected);
    expect(leftOut(graph)).toEqual([]);
    expect([graph.notCarried.get("limit"), graph.notCarried.get("read_only")]).toEqual([1, 1]);
  }
  expect(graphs[1]?.notCarried.get("messages")).toBe(2);
});

it("reads JSON inside of texts: of files that were encoded twice, and of answers of MCP tools", () => {
  const entities = ["Ann", "Bob"].map((name) => ({ name, entityType: "person", observations: ["Here"] }));
  const file = JSON.stringify({ entities, relations: [{ from: "Ann", to: "Bob", relationType: "knows" }] });
  const parts = [{ type: "text", text: file }];
  const forms = [file, parts, { content: parts, isError: false }];

  for (const form of forms) {
    const graph = readText(JSON.stringify(form, undefined, 2));
    expect([...graph.notes.keys()]).toEqual(["Ann", "Bob"]);
    expect(linksOf(graph)).toEqual([["Ann", "KNOWS", "Bob", undefined]]);
  }
  expect(readText(JSON.stringify(forms[2])).notCarried.get("isError")).toBe(1);
});

it("keeps texts with brackets that are not JSON, or are nested too deeply", () => {
  const deep = `${'{"text":'.repeat(100)}"Tea"${"}".repeat(100)}`;
  const texts = ["[x] Done", "{{title}}", "[1, 2]", deep];

  const graph = readText(JSON.stringify(texts));

  expect([...graph.notes.values()].map(({ content }) => content)).toEqual(texts);
  expect(readText(JSON.stringify([{ type: "text", text: "Tea" }])).notes.size).toBe(1);
});

it("takes tags of very deep brackets for a text, which stays in the content", () => {
  const deep = "[".repeat(20_000) + "]".repeat(20_000);

  const [note] = readText(JSON.stringify({ ...entity("A", "person", "one"), tags: deep })).notes.values();

  expect(note?.content).toBe(`one\ntag: ${deep}`);
});

it("takes no name or id from the metadata of a text, because several texts may have the same", () => {
  const metadata = { topic: "food", name: "ops", id: "7", text: "more" };
  const texts = ["Likes tea", "Hates beets"];
  const listed = texts.map((memory) => ({ memory, hash: "x", user_id: "ann", metadata }));
  const noted = texts.map((content) => ({ type: "note", content, context: metadata }));

  for (const records of [listed, noted, texts.map((text) => ({ text, topic: "food" }))]) {
    const graph = readText(JSON.stringify(records));

    expect(Array.from(graph.notes.values(), ({ content }) => content.split("\n")[0])).toEqual(texts);
    expect(graph.memories.merged).toBe(0);
    expect(leftOut(graph)).toEqual([]);
  }
});

/** `memories.json` of a backup of OpenMemory, mem0's own server. */
const OPEN_MEMORY = {
  user: { id: "u1", user_id: "ann", name: null, metadata: {} },
  apps: [{ id: "a1", owner_id: "u1", name: "cursor", is_active: true }],
  categories: [{ id: "c1", name: "preferences", description: "Automatically created category" }],
  memories: [
    {
      ...{ id: "0d1f2a3b-1111-4222-8333-444455556661", user_id: "u1", app_id: "a1", category_ids: ["c1"] },
      ...{ content: "Prefers dark mode", metadata: {}, state: "active", archived_at: null, deleted_at: null },
      ...{ created_at: "2025-05-11T08:00:00+00:00", updated_at: "2025-05-12T08:00:00+00:00" },
    },
    { id: "m2", user_id: "u1", app_id: null, content: "Lives in Berlin", state: "deleted", category_ids: [] },
    { app_id: "a9", content: "Drinks tea", category_ids: ["c9"] },
  ],
  memory_categories: [{ memory_id: "0d1f2a3b-1111-4222-8333-444455556661", category_id: "c1" }],
  status_history: [],
  access_controls: [],
  export_meta: { version: "1" },
};

it("reads a backup of OpenMemory: names of apps and categories instead of ids, and no deleted memory", () => {
  const graph = readText(JSON.stringify(OPEN_MEMORY, undefined, 2));

  expect([...graph.notes.values()]).toMatchObject([
    {
      ...{ title: "Prefers dark mode", tags: ["preferences"] },
      content: "Prefers dark mode\n\nuser_id: u1\nstate: active\napp: cursor",
      kept: { createdAt: new Date("2025-05-11T08:00:00Z"), updatedAt: new Date("2025-05-12T08:00:00Z") },
    },
    // The backup lacks their names.
    { title: "Drinks tea", tags: ["c9"], content: "Drinks tea\n\napp: a9" },
  ]);
  expect(leftOut(graph)).toEqual(['memory "Lives in Berlin" (memories[1]): it is marked as deleted']);
  expect([...graph.notCarried.keys()]).toEqual(["user", "apps", "categories", "memory_categories", "export_meta"]);
  expect(graph.memories.read).toBe(3);
});

it.each([
  [{ deleted_at: "2025-08-20T09:15:30Z" }, true],
  [{ deleted_at: null }, false],
  [{ is_deleted: 1 }, true],
  [{ isDeleted: false }, false],
  [{ state: "deleted" }, true],
  [{ state: "archived" }, false],
  // What it tells of may have been deleted, and not the memory.
  [{ status: "deleted" }, false],
  [{ event: "DELETE" }, true],
  [{ event: "ADD" }, false],
  [{ event: "delete the old keys" }, false],
])("leaves out what its tool has deleted, and says so: %o, %s", (mark, isLeftOut) => {
  const graph = readText(JSON.stringify({ results: [{ id: "1", memory: "Lives in Bonn", ...mark }] }));

  expect(graph.notes.size).toBe(isLeftOut ? 0 : 1);
  expect(leftOut(graph)).toEqual(
    isLeftOut ? [expect.stringMatching(/^memory "Lives in Bonn".*: it is marked as deleted$/)] : [],
  );
});

it("says of a relationship that its memory was deleted, instead of creating it again", () => {
  const [kept, deleted] = [
    { id: "1", content: "Kept" },
    { id: "2", content: "Gone", deletedAt: 1755684930 },
  ];
  const graph = readText(JSON.stringify({ memories: [kept, deleted], relations: [{ from: "1", to: "2" }] }));

  expect(leftOut(graph)).toEqual([
    'memory "Gone" (memories[1]): it is marked as deleted',
    expect.stringContaining('the memory "2" was not imported'),
  ]);
});

it.each([
  ["2025-08-20 10:15:30.123456+00", "2025-08-20T10:15:30.123Z"],
  ["2025-08-20 10:15:30-0730", "2025-08-20T17:45:30Z"],
  ["Wed, 20 Aug 2025 10:15:30 GMT", "2025-08-20T10:15:30Z"],
  ["1755684930.5", "2025-08-20T10:15:30.500Z"],
  [1_755_684_930_500, "2025-08-20T10:15:30.500Z"],
])("takes the time %j", (written, time) => {
  const graph = readText(JSON.stringify([{ content: "x", tags: "[]", created_at: written }]));

  expect([...graph.notes.values()]).toMatchObject([{ content: "x", kept: { createdAt: new Date(time) } }]);
});

it("reads the points of Qdrant, where mem0 keeps memories", () => {
  const payload = { data: "Has a dog", hash: "b", user_id: "bob", created_at: "2025-01-03T03:04:05+00:00" };
  const points = [{ id: "21111111-2222-4333-8444-555555555551", payload, vector: null }];
  const graph = readText(JSON.stringify({ result: { points, next_page_offset: null }, status: "ok", time: 0.001 }));

  expect([...graph.notes.values()]).toMatchObject([
    {
      ...{ title: "Has a dog", content: "Has a dog\n\nuser_id: bob" },
      kept: { clientId: "21111111-2222-4333-8444-555555555551", createdAt: new Date("2025-01-03T03:04:05Z") },
    },
  ]);
  expect([...graph.notCarried.keys()]).toEqual(["hash", "status", "time"]);
});

it("takes times in their other fields, where the first one is empty or missing", () => {
  const iso = { created_at: null, created_at_iso: "2023-01-12T17:50:45Z", updated_at_iso: "2023-01-13T17:50:45Z" };
  const records = [
    { content: "One", content_hash: "x", ...iso },
    { content: "Two", timestamp: "2025-11-26T12:54:11.786349" },
    { type: "task", content: "Three", ts: "2025-01-08T00:00:00Z" },
    { name: "Grows", observations: ["Four"], timestamp: "2025-01-08T00:00:00Z" },
  ];
  const graph = readText(JSON.stringify(records));

  const notes = new Map([...graph.notes.values()].map((note) => [note.content.split("\n")[0], note]));
  expect(notes.get("One")?.kept).toMatchObject({
    createdAt: new Date("2023-01-12T17:50:45Z"),
    updatedAt: new Date("2023-01-13T17:50:45Z"),
  });
  expect(notes.get("Two")).toMatchObject({ content: "Two", kept: { createdAt: new Date("2025-11-26T12:54:11.786Z") } });
  expect(notes.get("Three")?.kept?.createdAt).toEqual(new Date("2025-01-08T00:00:00Z"));
  expect(notes.get("Four")?.content).toBe("Four\ntimestamp: 2025-01-08T00:00:00Z");
});

it("keeps what is no time, or none in a known form, with the text", () => {
  const when = { created_at: "spring 2024", updated_at: "1/2/2024" };
  const records = [
    { title: "One", content: "Text", ...when },
    { title: "Two", content: "Text", created_at: "", updated_at: null },
    { from: "One", to: "Two", ...when },
  ];
  const graph = readText(JSON.stringify(records));

  expect(Array.from(graph.notes.values(), ({ content }) => content)).toEqual([
    "Text\n\ncreated_at: spring 2024\nupdated_at: 1/2/2024",
    "Text",
  ]);
  expect(linksOf(graph)).toEqual([["One", "RELATED_TO", "Two", "created_at: spring 2024; updated_at: 1/2/2024"]]);
  expect(graph.notCarried.size).toBe(0);
});

it("makes titles that people can read: without the mark of a heading, and of a text instead of an id", () => {
  const [node, other] = ["e918870d-87be-4ee2-a23a-f5a9630af7d4", "cea58a56-4996-4be3-b7e7-828d159ff836"];
  const properties = { issue: "Password prompts on launch", cause: "A script", severity: 2 };
  const graph = readText(
    [
      { content: "# Release checklist\n\n- tag" },
      { id: node, labels: ["Issue"], properties },
      { id: other, severity: 3 },
      { from: node, to: other, rel: "blocks" },
    ]
      .map((record) => JSON.stringify(record))
      .join("\n"),
  );

  expect(Array.from(graph.notes.values(), ({ title, content }) => [title, content])).toEqual([
    [other, "severity: 3"],
    ["Release checklist", "# Release checklist\n\n- tag"],
    ["Password prompts on launch", "issue: Password prompts on launch\ncause: A script\nseverity: 2"],
  ]);
  expect(linksOf(graph)).toEqual([["Password prompts on launch", "BLOCKS", other, undefined]]);
});

it("reads a summary as the text where there is no other, also beside a list of words", () => {
  const summary = "Ann plans the weekend";
  const graph = readText(
    [
      { agent_name: "moss", entities: ["zoo", "water"], key_points: ["Zoo at 9"], summary, timestamp: "2026-06-17" },
      { agent_name: "moss", entities: [], key_points: ["Sunny"], summary: "Asked for the weather" },
      { name: "Ann", summary: "Keeps it" },
    ]
      .map((record) => JSON.stringify(record))
      .join("\n"),
  );

  expect(Array.from(graph.notes.values(), ({ title, content, summary: own }) => [title, content, own])).toEqual([
    ["Ann", "Ann", "Keeps it"],
    [summary, `${summary}\n\nagent_name: moss\nentities: zoo, water\nkey_points: Zoo at 9`, undefined],
    ["Asked for the weather", "Asked for the weather\n\nagent_name: moss\nkey_points: Sunny", undefined],
  ]);
  expect([leftOut(graph), [...graph.notCarried]]).toEqual([[], []]);
});

it("reads logs of agents: messages with their times and kinds, and plain texts", () => {
  const graph = readText(
    jsonLines(
      { ts: "2026-01-26T08:48:56.000Z", kind: "PATTERN", title: "Auth", message: "Tokens expire." },
      { ts: "2026-01-26T09:18:59.000Z", kind: "PATTERN", title: "Auth", message: "Sessions are stateless." },
      { id: 3, created: 1785252920782, type: "thought", content: "Looks broken.", tags: '["inner"]', consolidated: 0 },
      { title: "Choice", message: "SQL.js", date: "2025-12-25", modified: 3 },
      ["Likes tea", "Lives in Bern"],
      "Has a dog",
    ),
  );

  expect([...graph.notes.values()].map(({ title, content, kept }) => [title, content, kept?.createdAt])).toEqual([
    ["Auth", "Tokens expire.", new Date("2026-01-26T08:48:56Z")],
    ["Auth", "Sessions are stateless.", new Date("2026-01-26T09:18:59Z")],
    ["Looks broken.", "Looks broken.\n\nconsolidated: 0", new Date(1785252920782)],
    ["Choice", "SQL.js\n\ndate: 2025-12-25\nmodified: 3", new Date("2025-12-25T00:00:00Z")],
    ["Likes tea", "Likes tea", undefined],
    ["Lives in Bern", "Lives in Bern", undefined],
    ["Has a dog", "Has a dog", undefined],
  ]);
});

it("refuses whole chats of ChatGPT and claude.ai, and says what to import instead", () => {
  const message = { author: { role: "user" }, content: { content_type: "text", parts: ["Hello"] } };
  const chats = [
    { title: "Greeting", mapping: { a: { id: "a", message, children: [] } }, current_node: "a", id: "b" },
    { uuid: "c", name: "", chat_messages: [{ uuid: "d", text: "Hello", sender: "human" }] },
  ];
  const graph = readText(JSON.stringify([...chats, { name: "Map", mapping: { a: "b" } }]));

  expect(leftOut(graph)).toEqual([
    expect.stringMatching(/"Greeting": a whole chat, which is no memory: .* import a list of that$/),
    expect.stringMatching(/"": a whole chat/),
  ]);
  expect([...graph.notes.keys()]).toEqual(["Map"]);
});

it("says what to do with the pages of Roam", () => {
  const graph = readText(
    JSON.stringify([{ title: "March 26th, 2020", children: [{ string: "met [[Ann]]" }] }, { title: "Ann" }]),
  );

  expect(leftOut(graph)).toEqual([expect.stringContaining("export all pages as Markdown instead")]);
});
