import { expect, it } from "vitest";
import { jsonLines, leftOut, linksOf, readText } from "../support/imports.js";

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
        uuid: "5",
        source_node_uuid: ann,
        target_node_uuid: acme,
        name: "WORKS_AT",
        fact_embedding: [0.3, 0.4],
        fact: "Ann works at Acme",
      },
    ],
  };
  const letta = {
    agents: [
      { id: "agent-0", name: "Support", block_ids: ["block-0"], messages: [] },
      { id: "agent-1", name: "Sales", block_ids: ["block-0", "block-1"] },
    ],
    groups: [],
    files: [],
    sources: [],
    mcp_servers: [],
    metadata: {},
    created_at: "2025-07-01T00:00:00Z",
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
        labels: ["money"],
        description: "Compare the fees.",
        compaction_level: 0,
        original_size: 0,
        dependency_count: 0,
        dependent_count: 2,
        comment_count: 0,
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
    "compaction_level",
    "original_size",
    "dependency_count",
    "dependent_count",
    "comment_count",
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
    version: "0.1.0",
    exported_at: "2026-03-01 10:00:00",
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
      type: "decision",
      title: "One bank",
      tags: [],
      content: `**What**: one\n**Why**: fees\n\n${rest}`,
      kept: { createdAt: new Date("2026-02-16T12:10:00Z"), updatedAt: new Date("2026-02-17T12:10:00Z") },
    },
    { type: "bugfix", title: "Round prices", content: `Cents were lost.\n\n${rest}` },
    {
      type: "session",
      title: "Session s1",
      content: "Built the cart\n\nproject: shop\ndirectory: /shop",
      kept: { createdAt: new Date("2026-02-16T12:00:00Z"), updatedAt: new Date("2026-02-16T13:00:00Z") },
    },
  ]);
  expect(graph.notes.size).toBe(3);
  expect(leftOut(graph)).toEqual([expect.stringMatching(/^memory "Old" .*: it is marked as deleted$/)]);
  expect([...graph.notCarried]).toEqual([
    ["version", 1],
    ["exported_at", 1],
    ["prompts", 1],
    ["sessions", 1],

    ["revision_count", 2],
    ["duplicate_count", 2],
    ["sync_id", 2],
    ["last_seen_at", 2],
    ["id", 2],
  ]);
});

it("reads an export of claude-mem: its observations with their facts, and its summaries", () => {
  const written = { memory_session_id: "s1", project: "shop", created_at: "2026-02-16T12:10:00Z", created_at_epoch: 1 };
  const file = {
    exportedAt: "2026-03-01T10:00:00Z",
    exportedAtEpoch: 1,
    query: "cart",
    totalObservations: 2,
    observations: [
      {
        id: 7,
        ...written,
        text: "Since May.",
        type: "discovery",
        title: "Cents get lost",
        subtitle: "In the cart",
        narrative: "It adds floats.",
        facts: '["Prices are floats, all of them","Totals differ"]',
        concepts: '["gotcha","how-it-works"]',
        files_read: '["src/cart.ts"]',
        files_modified: "[]",
        prompt_number: 2,
        discovery_tokens: 120,
        content_hash: "5f1d7a84",
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
      "discovery",
      "Cents get lost",
      "Since May.\nIt adds floats.\n- Prices are floats, all of them\n- Totals differ\n\n" +
        `${rest}\nsubtitle: In the cart\nfiles_read: src/cart.ts`,
      "gotcha,how-it-works",
    ],
    ["change", "Integers", `Integers\n\n${rest}\nfiles_modified: src/a, b.ts`, ""],
    ["session_summary", "Fix the cart", `request: Fix the cart\nlearned: Floats\nnext_steps: Taxes\n\n${rest}`, ""],
    ["session_summary", "learned: Cents", `learned: Cents\ncompleted: Rounding\n\n${rest}`, ""],
  ]);
  expect(leftOut(graph)).toEqual([]);
  expect([...graph.notCarried.keys()]).toEqual([
    "exportedAt",
    "exportedAtEpoch",
    "query",
    "totalObservations",
    "prompts",
    "sessions",
    "created_at_epoch",
    "prompt_number",
    "discovery_tokens",
    "content_hash",
    "id",
  ]);
});

const LOG = { observations: [{ title: "Cents", content: "Lost." }], sessions: [{ id: "s1", notes: "…" }], prompts: [] };

it.each([
  { prompts: undefined },
  { name: "Ann" },
  { text: "Is CEO" },
  { id: "a" },
  { entities: [{ name: "Ann" }] },
  { relations: [] },
  { observations: "Lost." },
  { sessions: "s1" },
  { summaries: "Cart" },
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
        "Plain",
        { title: "Cents", ...told, content: "Lost." },
        { title: "Cart", ...told, tags: ["money"] },
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
  expect(linksOf(graph)).toEqual([["Test", "DEPENDS_ON", "Test", "gate: any"]]);
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
