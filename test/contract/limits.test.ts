import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { STEPS } from "../../src/surfaces/pages/limits.js";
import { type Answer, type Ask, ask } from "../support/http.js";
import { type World, createWorld } from "../support/world.js";

const { http, json, graphql, mcp, text, refusal } = LIMITS;

/** A request of a given size in one respect, and how it is refused when it is too large. */
interface Probe {
  /** The step of the limits page that it tries. */
  readonly step: string;
  readonly what: string;
  readonly max: number;
  readonly request: (size: number) => { readonly path: string } & Pick<Ask, "method" | "headers" | "body">;
  /** If no key is needed to get to this bound, the request is also tried without one. */
  readonly needsKey: boolean;
  readonly status?: number;
  /** What the refusal says, with the bound, so that another bound's refusal does not pass for this one. */
  readonly says: string;
}

const repeated = (times: number, part: (index: number) => string): string =>
  Array.from({ length: times }, (_, index) => part(index)).join(" ");
const document = (query: string, variables?: object) => ({ path: "/graphql", body: { query, variables } });
/** `F0` spreads `F1`, and so on; the last fragment spreads nothing and has `fields`. */
const chain = (count: number, fields: string): string =>
  `${repeated(count - 1, (n) => `fragment F${n} on Query { ...F${n + 1} }`)} fragment F${count - 1} on Query { ${fields} }`;
const note = { type: "general", title: "A note", content: "Something." };
const store = (body: unknown) => ({ path: "/v1/memories", body });
const ping = (id: number | string, params = {}) => ({ jsonrpc: "2.0", id, method: "ping", params });
const levels = (count: number, inner: unknown): unknown => (count === 0 ? inner : { a: levels(count - 1, inner) });

const PROBES: readonly Probe[] = [
  {
    step: "Body",
    what: "a body by REST",
    max: http.bodyBytes,
    request: (size) => store(JSON.stringify(note).padEnd(size, " ")),
    needsKey: true,
    status: 413,
    says: "1,048,576 bytes",
  },
  {
    step: "Body",
    what: "a body by GraphQL",
    max: http.bodyBytes,
    request: (size) => ({ path: "/graphql", body: JSON.stringify({ query: "{ __typename }" }).padEnd(size, " ") }),
    needsKey: false,
    status: 413,
    says: "1,048,576 bytes",
  },
  {
    step: "Body",
    what: "a body by MCP",
    max: http.bodyBytes,
    request: (size) => ({ path: "/mcp", body: JSON.stringify(ping(1)).padEnd(size, " ") }),
    needsKey: true,
    status: 413,
    says: "1,048,576 bytes",
  },
  {
    step: "JSON",
    what: "levels by MCP",
    max: json.depth,
    request: (size) => ({ path: "/mcp", body: ping(1, levels(size - 2, {}) as object) }),
    needsKey: true,
    says: "nested deeper than 64 levels",
  },
  {
    step: "MCP: message",
    what: "characters of an id",
    max: mcp.idLength,
    request: (size) => ({ path: "/mcp", body: ping("x".repeat(size)) }),
    needsKey: true,
    says: "at most 256 characters",
  },
  {
    step: "JSON",
    what: "levels by REST",
    max: json.depth,
    request: (size) => store(levels(size - 1, {})),
    needsKey: true,
    says: "nested deeper than 64 levels",
  },
  {
    step: "JSON",
    what: "levels by GraphQL",
    max: json.depth,
    request: (size) => document("{ __typename }", levels(size - 2, {}) as object),
    needsKey: false,
    says: "nested deeper than 64 levels",
  },
  {
    step: "JSON",
    what: "values by REST",
    max: json.values,
    request: (size) => store({ tags: Array(size - 2).fill("a") }),
    needsKey: true,
    says: "more than 20,000 values",
  },
  {
    step: "JSON",
    what: "values by GraphQL",
    max: json.values,
    request: (size) => document("{ __typename }", { list: Array(size - 4).fill(1) }),
    needsKey: false,
    says: "more than 20,000 values",
  },
  {
    step: "JSON",
    what: "a name",
    max: json.nameBytes,
    request: (size) => store({ ["a".repeat(size)]: 1 }),
    needsKey: true,
    says: "name in the JSON is longer than 1,024 bytes",
  },
  {
    step: "GraphQL: document",
    what: "a document",
    max: graphql.documentBytes,
    request: (size) => document("{ __typename }".padEnd(size, " ")),
    needsKey: false,
    says: "64 KiB",
  },
  {
    step: "GraphQL: document",
    what: "a name",
    max: graphql.nameLength,
    request: (size) => document(`{ ${"a".repeat(size)}: __typename }`),
    needsKey: false,
    says: "name in the document is longer than 128 characters",
  },
  {
    step: "GraphQL: document",
    what: "lines",
    max: graphql.lines,
    request: (size) => document(`${"\n".repeat(size - 1)}{ __typename }`),
    needsKey: false,
    says: "more than 5,000 lines",
  },
  {
    step: "GraphQL: parsing",
    what: "tokens",
    max: graphql.tokens,
    request: (size) => document(`{ ${repeated(size - 2, () => "__typename")} }`),
    needsKey: false,
    says: "1,000 tokens",
  },
  {
    step: "GraphQL: selections",
    what: "selections",
    max: graphql.selections,
    // 30 spreads of a fragment with 30 fields, plus the fields that are left.
    request: (size) =>
      document(
        `{ ${repeated(30, () => "...F0")} ${repeated(size - 930, () => "__typename")} } ${chain(
          1,
          repeated(30, () => "__typename"),
        )}`,
      ),
    needsKey: false,
    says: "more than 1,000 selections",
  },
  {
    step: "GraphQL: shape",
    what: "fragments",
    max: graphql.fragments,
    request: (size) => document(`{ ...F0 } ${chain(size, "__typename")}`),
    needsKey: false,
    says: "Fragments limit of 50",
  },
  {
    step: "GraphQL: shape",
    what: "directives",
    max: graphql.directives,
    request: (size) => document(`{ ${repeated(size, () => `... @skip(if: false) { __typename }`)} }`),
    needsKey: false,
    says: "Directives limit of 20",
  },
  {
    step: "GraphQL: shape",
    what: "aliases",
    max: graphql.aliases,
    request: (size) => document(`{ ${repeated(size, (n) => `a${n}: __typename`)} }`),
    needsKey: false,
    says: "Aliases limit of 15",
  },
  {
    step: "GraphQL: shape",
    what: "levels",
    max: graphql.depth,
    // Two levels for the page, two for each step, one at the end.
    request: (size) =>
      document(
        size % 2 === 0
          ? `{ memories { memories { ${"relationships { memory { ".repeat((size - 4) / 2)} relationships { relationshipId }${" } }".repeat((size - 4) / 2)} } } }`
          : `{ memories { memories { ${"relationships { memory { ".repeat((size - 3) / 2)}id${" } }".repeat((size - 3) / 2)} } } }`,
      ),
    needsKey: true,
    says: "depth limit of 10",
  },
  {
    step: "GraphQL: cost",
    what: "values",
    // A page of 100 memories with this many fields each: the most within the bound; one more exceeds it.
    max: Math.floor((graphql.cost / 2 - 1) / 100) - 1,
    request: (size) =>
      document(
        `{ ${["a", "b"].map((n) => `${n}: memories(limit: 100) { memories { ${repeated(size, () => "id")} } }`).join(" ")} }`,
      ),
    needsKey: true,
    says: "at most 20,000",
  },
  {
    step: "Text",
    what: "combining marks",
    max: text.combiningMarks,
    request: (size) => store({ ...note, title: `a${"\u0301".repeat(size)}` }),
    needsKey: true,
    says: "more than 30 combining marks",
  },
  {
    step: "Text",
    what: "characters of a title",
    max: 500,
    request: (size) => store({ ...note, title: "\u{1F600}".repeat(size) }),
    needsKey: true,
    says: "1 to 500 characters",
  },
  {
    step: "Text",
    what: "characters of a title that NFC makes fewer",
    max: 500,
    request: (size) => store({ ...note, title: "e\u0301".repeat(size) }),
    needsKey: true,
    says: "1 to 500 characters",
  },
  {
    step: "Input",
    what: "tags",
    max: 50,
    request: (size) => store({ ...note, tags: Array.from({ length: size }, (_, n) => `tag-${n}`) }),
    needsKey: true,
    says: "50 items",
  },
];

/** Steps whose bounds other tests try, because they need a socket, another clock or a busy database. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  Connection: "test/surfaces/connections.test.ts",
  Head: "test/surfaces/http-bounds.test.ts",
  Overload: "test/surfaces/overload.test.ts",
  "Concurrent requests": "test/surfaces/connections.test.ts",
  "Turn of the event loop": "test/surfaces/overload.test.ts",
  "Budget of an address": "test/surfaces/rate-limit.test.ts",
  Key: "test/features/access/caller.test.ts",
  "Budget of an account": "test/surfaces/rate-limit.test.ts",
  "GraphQL: variables": "test/contract/limits.test.ts",
  Database: "test/platform/shares.test.ts",
  OAuth: "test/surfaces/oauth-bounds.test.ts",
  "Size of a graph": "test/features/memories/graph-room.test.ts",
  "Size of a memory": "test/features/memories/memory-room.test.ts",
  Answer: "test/surfaces/answer-size.test.ts",
  Refusal: "test/contract/limits.test.ts",
  "Log line": "test/platform/log-stream.test.ts",
  "Reading the answer": "test/surfaces/connections.test.ts",
};

let world: World;
let url: string;

/** One server for all probes: none of them changes anything that another could meet. */
beforeAll(async () => {
  world = await createWorld();
  ({ url } = await world.serve());
});
afterAll(() => world[Symbol.asyncDispose]());

it("tries every step of the limits page at its bound", () => {
  const tried = new Set([...PROBES.map(({ step }) => step), ...Object.keys(ELSEWHERE)]);
  expect(STEPS.map(({ step }) => step).filter((step) => !tried.has(step))).toEqual([]);
  expect(Object.values(ELSEWHERE).filter((file) => !existsSync(file))).toEqual([]);
});

it.each(
  PROBES.flatMap((probe) => [true, ...(probe.needsKey ? [] : [false])].map((withKey) => ({ ...probe, withKey }))),
)(
  "lets $what of $max pass and refuses one more (key: $withKey)",
  async ({ max, request, says, withKey, status = 400 }) => {
    const key = withKey ? (await world.user()).key : undefined;
    const send = async (size: number): Promise<Answer> => {
      const { path, ...rest } = request(size);
      return ask(url + path, { ...rest, key });
    };

    const [largest, tooLarge] = [await send(max), await send(max + 1)];

    expect(JSON.stringify(largest.body)).not.toContain(says);
    expect(JSON.stringify(tooLarge.body)).toContain(says);
    expect(tooLarge.status).toBe(status);
    expect(world.bugs).toEqual([]);
  },
);

it.each([
  [
    "REST",
    "/v1/memories",
    Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`\u0001${"x".repeat(300)}${n}`, 1])),
  ],
  [
    "REST, values",
    "/v1/memories",
    { ...note, tags: Array.from({ length: 50 }, () => ({ a: "\u0001".repeat(3_000) })) },
  ],
  ["GraphQL, a document", "/graphql", { query: `{ ${repeated(400, (n) => `field${"x".repeat(100)}${n}`)} }` }],
  [
    "GraphQL, variables",
    "/graphql",
    {
      query: "query($types: [String!]) { memories(types: $types) { nextCursor } }",
      variables: { types: Array.from({ length: 500 }, () => ({ a: "\u0001".repeat(90) })) },
    },
  ],
])("tells at most 20 of many mistakes in at most 16 KiB, by %s", async (_door, path, body) => {
  const ann = await world.user();

  const response = await fetch(url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${ann.key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const bytes = new Uint8Array(await response.arrayBuffer());

  expect(response.status).toBe(400);
  expect(bytes.length).toBeLessThanOrEqual(refusal.bytes);
  const { error, errors = [] } = JSON.parse(Buffer.from(bytes).toString()) as {
    error?: { details: unknown[] };
    errors?: unknown[];
  };
  expect(error?.details.length ?? errors.length).toBeGreaterThan(0);
  expect(error?.details.length ?? errors.length).toBeLessThanOrEqual(refusal.issues);
});

/** The limits of a process that is started with these options of Node. */
function limitsWith(...options: string[]): typeof http {
  const show = 'import { LIMITS } from "./dist/limits.js"; console.log(JSON.stringify(LIMITS.http));';
  const args = [...options, "--input-type=module", "--eval", show];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })) as typeof http;
}

it("lets two accounts never have all places for large requests, however few there are", () => {
  for (const megabytes of [200, 300, 320, 400]) {
    const { largeAtOnce, largePerAccount } = limitsWith(`--max-old-space-size=${megabytes}`);
    expect(2 * largePerAccount, `of ${largeAtOnce}`).toBeLessThan(largeAtOnce);
  }
});

it("makes a process hold less for its clients where it may use less memory", () => {
  const heldWith = (megabytes: number) => {
    const container = `data:text/javascript,process.constrainedMemory = () => ${megabytes * 1_048_576}`;
    const { bodiesBytes, headsBytes, unsentBytes, unsentBytesPerAddress, connections } = limitsWith(
      "--import",
      container,
    );
    return {
      connections,
      megabytes: [bodiesBytes, headsBytes, unsentBytes, unsentBytesPerAddress].map((bytes) => bytes / 1_048_576),
    };
  };

  expect(heldWith(768)).toEqual({ connections: 3_750, megabytes: [96, 12, 96, 24] });
  expect(heldWith(2_048)).toEqual({ connections: 10_000, megabytes: [256, 32, 256, 64] });
});
