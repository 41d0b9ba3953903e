import type { Ask } from "./cases.js";
import { memoryId, userOf } from "./dataset.js";

const { key } = userOf(0);
const memory = { type: "fix", title: "A title", content: "Some content." };
const create = (changes: object): Ask => ({
  method: "POST",
  path: "/v1/memories",
  key,
  body: JSON.stringify({ ...memory, ...changes }),
});

/** Requests that the service and the floor must refuse with the same status: the floor has the same checks. */
export const REFUSED: readonly Ask[] = [
  { method: "GET", path: `/v1/memories/${memoryId(0)}`, key: "mg_live_unknown" },
  { method: "GET", path: "/v1/memories/none", key },
  // Another user's memory.
  { method: "GET", path: `/v1/memories/${memoryId(1)}`, key },
  { method: "GET", path: `/v1/memories/${memoryId(1)}/related`, key },
  { method: "GET", path: `/v1/memories/${memoryId(0)}?unknown=1`, key },
  { method: "GET", path: "/v1/memories/search", key },
  { method: "GET", path: "/v1/memories/search?query=%20", key },
  { method: "GET", path: `/v1/memories/search?query=${"x".repeat(1_001)}`, key },
  create({ type: "No Type" }),
  create({ title: "" }),
  create({ title: "\u200b" }),
  create({ title: "x".repeat(501) }),
  create({ title: "\ud800" }),
  create({ content: "nul \0" }),
  create({ content: "x".repeat(50_001) }),
  create({ summary: "x".repeat(1_001) }),
  create({ tags: Array.from({ length: 51 }, (_, index) => `tag${index}`) }),
  create({ tags: ["x".repeat(101)] }),
  create({ importance: 1.01 }),
  create({ unknown: 1 }),
];
