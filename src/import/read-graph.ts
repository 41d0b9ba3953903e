import type { GraphDraft, ImportedGraph } from "./graph.js";
import { type Item, readMcpMemory } from "./mcp-memory.js";
import { readMemoryGraphExport } from "./memory-graph-export.js";
import { isObject } from "./text.js";

/** The graph that a file's text holds, in whichever known format it is; undefined where it is in none. */
export function readGraph(text: string): ImportedGraph | undefined {
  const whole = parsed(text);
  if (isObject(whole)) {
    const { entities, relations, memories, relationships } = whole;
    if (Array.isArray(entities) && Array.isArray(relations)) {
      return readMcpMemory(numbered("entity", entities), numbered("relation", relations));
    }
    if (Array.isArray(memories) && Array.isArray(relationships)) {
      return readMemoryGraphExport({ memories, relationships });
    }
  }
  return readLines(text);
}

/** One JSON object a line, each an entity or a relation; a broken line costs no other. */
function readLines(text: string): GraphDraft | undefined {
  const entities: Item[] = [];
  const relations: Item[] = [];
  const others: Array<{ place: string; reason: string }> = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const place = `line ${index + 1}`;
    const value = parsed(line);
    const type = isObject(value) ? value["type"] : undefined;
    if (type === "entity") entities.push({ place, value });
    else if (type === "relation") relations.push({ place, value });
    else if (value === undefined) others.push({ place, reason: "it is not JSON" });
    else others.push({ place, reason: "it is neither an entity nor a relation" });
  }
  if (entities.length + relations.length === 0) return undefined;
  const draft = readMcpMemory(entities, relations);
  for (const { place, reason } of others) draft.refuse(place, reason);
  return draft;
}

const numbered = (kind: string, values: readonly unknown[]): Item[] =>
  values.map((value, index) => ({ place: `${kind} ${index + 1}`, value }));

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
