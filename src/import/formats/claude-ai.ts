import { asText } from "../fields.js";
import { type JsonObject, isObject } from "../text.js";

/**
 * What claude.ai remembers of a person, in `memories.json` of its export: `[{"conversations_memory": "…",
 * "project_memories": {"<id of a project>": "…"}, "account_uuid"}]`. The names of projects are in another file.
 * Undefined for any other file.
 */
export function readClaudeMemory({ conversations_memory: ofAll, project_memories: ofProjects }: JsonObject) {
  if (typeof ofAll !== "string" && !isObject(ofProjects)) return undefined;
  const projects = Object.entries(isObject(ofProjects) ? ofProjects : {}).map(([id, content]) => {
    return { id, title: `Claude's memory of project ${id}`, content };
  });
  return [{ title: "Claude's memory of conversations", content: ofAll }, ...projects].filter(({ content }) =>
    asText(content),
  );
}
