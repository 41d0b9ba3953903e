import { Fields, asKey, showValue } from "../fields.js";
import { NAMES, TEXTS } from "../names.js";
import { type JsonObject, isObject } from "../text.js";
import { type ToolFile, countOthers } from "./tool-file.js";

/**
 * What claude.ai remembers of a person, in `memories.json` of its export: `[{"conversations_memory": "…",
 * "project_memories": {"<id of a project>": "…"}, "account_uuid"}]`. The names of projects are in another file.
 * Undefined for any other file.
 */
export function readClaudeMemory({
  conversations_memory: ofAll,
  project_memories: ofProjects = {},
  ...others
}: JsonObject): ToolFile | undefined {
  const isOther = !isObject(ofProjects) || new Fields(others).has([...NAMES, ...TEXTS], asKey);
  if (isOther || (typeof ofAll !== "string" && Object.keys(ofProjects).length === 0)) return undefined;
  const projects = Object.entries(ofProjects).map(([id, content]) => {
    return { id, title: `Claude's memory of project ${id}`, content };
  });
  const memories = [{ title: "Claude's memory of conversations", content: ofAll }, ...projects];
  return { memories: memories.filter(({ content }) => showValue(content) !== ""), others: countOthers(others) };
}
