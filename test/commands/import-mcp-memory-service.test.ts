import { expect, it } from "vitest";
import { leftOut, readText } from "../support/imports.js";

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
    content_hash: id,
    memory_type: "reference",
    timestamp: 1746000000,
    created_at: 1746000000.5,
    created_at_iso: "2025-04-30T08:00:00Z",
    tags: '["vpn", "network"]',
    tags_str: "vpn,network",
    source: "chat",
  };
  const backup = {
    timestamp: "2025-05-01T10:00:00",
    total_memories: 1,
    memories: [{ id, document: "The VPN needs port 1194.", metadata, embedding: null }],
  };

  const graph = readText(JSON.stringify(backup, undefined, 2));

  expect([...graph.notes.values()]).toMatchObject([
    {
      type: "reference",
      title: "The VPN needs port 1194.",
      tags: ["vpn", "network"],
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
