import { expect, it } from "vitest";
import { leftOut, linksOf, readText } from "../support/imports.js";

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

const STAGING = {
  id: "37cc1e09-eba6-4f55-9bce-114babaa604e",
  memory: "Staging is rebuilt every night at 02:00 UTC.",
  hash: "fbc44c30ddab638d5a130a4f769df764",
  createdAt: "2025-05-12T09:30:01.553Z",
  updatedAt: "2025-05-12T09:30:01.753Z",
  metadata: { category: "infra", priority: 2, links: ["https://wiki.example.com/staging"] },
  user_id: "ann",
  agent_id: "helper",
  run_id: "run-7",
};

/** What `getAll`, `search` and `history` of mem0ai 3.3.1 answered, with its store in SQLite. */
const WRITTEN_BY_MEM0 = {
  all: {
    results: [
      STAGING,
      {
        id: "8bd53e6e-d8e1-476b-b759-e143787eb6c2",
        memory: "We deploy on Tuesdays.",
        hash: "1400ca4ba2c91a7b1ad0c88297bdd72c",
        createdAt: "2025-05-12T09:30:01.646Z",
        metadata: {},
        user_id: "ann",
      },
    ],
  },
  found: { results: [{ ...STAGING, score: 0.47677784083474495 }] },
  history: [
    {
      id: 3,
      memory_id: "37cc1e09-eba6-4f55-9bce-114babaa604e",
      previous_value: "Staging is rebuilt every night.",
      new_value: "Staging is rebuilt every night at 02:00 UTC.",
      action: "UPDATE",
      created_at: "2025-05-12T09:30:01.553Z",
      updated_at: "2025-05-12T09:30:01.753Z",
      is_deleted: 0,
    },
    {
      id: 1,
      memory_id: "37cc1e09-eba6-4f55-9bce-114babaa604e",
      previous_value: null,
      new_value: "Staging is rebuilt every night.",
      action: "ADD",
      created_at: "2025-05-12T09:30:01.553Z",
      updated_at: null,
      is_deleted: 0,
    },
  ],
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
      title: "Claude's memory of project 0199aaaa-1111-7000-8000-000000000001",
      content: "**Purpose**\n\nThe shop.",
      kept: { clientId: "0199aaaa-1111-7000-8000-000000000001" },
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
    id: "4d4b3c0a-9f5e-4b0e-9a3b-0c8a5d0f6a31",
    memory: "Likes tea",
    ...stored,
    source_payload: { data: "Likes tea", hash: "5f1d", text_lemmatized: "like tea", ...stored },
    metadata: { data: "Green", user_id: "alexander" },
  };
  const graph = readText(JSON.stringify({ kind: "mem0_export", records: [record] }));

  const expected = "Likes tea\n\nuser_id: alex\nmetadata.data: Green\nmetadata.user_id: alexander";
  expect([...graph.notes.values()].map(({ content }) => content)).toEqual([expected]);
  expect([...graph.notCarried.keys()]).toEqual(["kind", "hash", "text_lemmatized"]);
});

it("refuses mem0's history as memories, and says what to import", () => {
  const change = { id: "1", memory_id: "2", old_memory: null, new_memory: "Likes tea", event: "ADD" };

  const graph = readText(JSON.stringify([change, ...WRITTEN_BY_MEM0.history]));

  expect(graph.notes.size).toBe(0);
  expect(leftOut(graph)).toEqual(
    Array(3).fill(expect.stringMatching(/a change in the history of mem0, .* import what get_all answers$/)),
  );
});

it("reads the files that mem0's package wrote", () => {
  const { all, found } = WRITTEN_BY_MEM0;
  const graph = readText(JSON.stringify(all, undefined, 2));
  const again = readText(JSON.stringify(found));

  expect(Array.from(graph.notes.values(), ({ type, content, kept }) => ({ type, content, kept }))).toEqual([
    {
      type: "infra",
      content:
        "Staging is rebuilt every night at 02:00 UTC.\n\n" +
        "user_id: ann\nagent_id: helper\nrun_id: run-7\npriority: 2\nlinks: https://wiki.example.com/staging",
      kept: {
        clientId: "37cc1e09-eba6-4f55-9bce-114babaa604e",
        createdAt: new Date("2025-05-12T09:30:01.553Z"),
        updatedAt: new Date("2025-05-12T09:30:01.753Z"),
      },
    },
    {
      type: "general",
      content: "We deploy on Tuesdays.\n\nuser_id: ann",
      kept: {
        clientId: "8bd53e6e-d8e1-476b-b759-e143787eb6c2",
        createdAt: new Date("2025-05-12T09:30:01.646Z"),
      },
    },
  ]);
  expect([...graph.notCarried]).toEqual([["hash", 2]]);
  expect([...again.notes.values()]).toEqual([...graph.notes.values()].slice(0, 1));
  expect([...again.notCarried]).toEqual([
    ["hash", 1],
    ["score", 1],
  ]);
});

/** `memories.json` of a backup of OpenMemory, mem0's own server. */
const OPEN_MEMORY = {
  user: { id: "u1", user_id: "ann", name: null, metadata: {} },
  apps: [{ id: "a1", owner_id: "u1", name: "cursor", is_active: true }],
  categories: [{ id: "c1", name: "preferences", description: "Automatically created category" }],
  memories: [
    {
      id: "0d1f2a3b-1111-4222-8333-444455556661",
      user_id: "u1",
      app_id: "a1",
      category_ids: ["c1"],
      content: "Prefers dark mode",
      metadata: {},
      state: "active",
      archived_at: null,
      deleted_at: null,
      created_at: "2025-05-11T08:00:00+00:00",
      updated_at: "2025-05-12T08:00:00+00:00",
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
      title: "Prefers dark mode",
      tags: ["preferences"],
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

it("reads the points of Qdrant, where mem0 keeps memories", () => {
  const payload = { data: "Has a dog", hash: "b", user_id: "bob", created_at: "2025-01-03T03:04:05+00:00" };
  const points = [{ id: "21111111-2222-4333-8444-555555555551", payload, vector: null }];
  const graph = readText(JSON.stringify({ result: { points, next_page_offset: null }, status: "ok", time: 0.001 }));

  expect([...graph.notes.values()]).toMatchObject([
    {
      title: "Has a dog",
      content: "Has a dog\n\nuser_id: bob",
      kept: { clientId: "21111111-2222-4333-8444-555555555551", createdAt: new Date("2025-01-03T03:04:05Z") },
    },
  ]);
  expect([...graph.notCarried.keys()]).toEqual(["hash", "status", "time"]);
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

it("refuses messages of chats, and keeps memories that only have a role", () => {
  const data = { content: "What is it?", additional_kwargs: {}, type: "human", example: false };
  const messages = [
    { role: "user", content: "My name is Sam" },
    { role: "model", parts: [{ text: "Hello Sam" }], timestamp: "2025-01-08T00:00:00Z" },
    { type: "human", data },
  ];
  const memory = { role: "user", content: "Prefers tea", importance: 0.8, tags: ["food"] };
  const graph = readText(JSON.stringify([...messages, { messages }, { history: messages }, memory]));

  expect(Array.from(graph.notes.values(), ({ title }) => title)).toEqual(["Prefers tea"]);
  expect(leftOut(graph).map((line) => /a message of a chat|a whole chat/.exec(line)?.[0])).toEqual([
    ...messages.map(() => "a message of a chat"),
    "a whole chat",
    "a whole chat",
  ]);
  // What has no text says nothing, and a memory may have the messages that it is from.
  const others = [
    { name: "Planner", role: "agent" },
    { content: "Likes tea", messages },
    { facts: ["Runs"], messages },
  ];
  const kept = readText(JSON.stringify(others));
  expect(Array.from(kept.notes.values(), ({ title }) => title)).toEqual(["Planner", "Runs", "Likes tea"]);
  expect(leftOut(kept)).toEqual([]);
  // Beside memories, they are only a field that is left out.
  const both = readText(JSON.stringify({ memories: [{ content: "Likes tea" }], messages }));
  expect(Array.from(both.notes.values(), ({ title }) => title)).toEqual(["Likes tea"]);
  expect(leftOut(both)).toHaveLength(1);
});
