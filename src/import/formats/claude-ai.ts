import { Fields, asKey, asText, showValue } from "../fields.js";
import { NAMES, TEXTS } from "../names.js";
import { type JsonObject, NOTE_END, isObject } from "../text.js";
import { type ToolFile, countOthers } from "./tool-file.js";

/**
 * What claude.ai remembers of a person, in `memories.json` or `memories/<id>.json` of its export:
 * `{"conversations_memory": "…", "project_memories": {"<id of a project>": "…"}, "memory_files": [{"path", "content",
 * "updated_at"}], "account_uuid"}`, also in a list. The names of projects are in another file. Without projects,
 * `project_memories` may be an empty list. Undefined for any other file.
 */
export function readClaudeMemory({
  conversations_memory: ofAll,
  project_memories: projectTexts = {},
  memory_files: files = [],
  ...others
}: JsonObject): ToolFile | undefined {
  const ofProjects = isEmptyList(projectTexts) ? {} : projectTexts;
  const isOther = !isObject(ofProjects) || !Array.isArray(files) || new Fields(others).has([...NAMES, ...TEXTS], asKey);
  if (isOther || (typeof ofAll !== "string" && Object.keys(ofProjects).length === 0 && !files.some(isFile))) {
    return undefined;
  }
  const projects = Object.entries(ofProjects).map(([id, content]) => {
    return { id, title: `Claude's memory of project ${id}`, content };
  });
  const memories = [{ title: "Claude's memory of conversations", content: ofAll }, ...projects];
  return {
    memories: [...memories.filter(({ content }) => showValue(content) !== ""), ...files.map(titleFile)],
    others: countOthers(others),
  };
}

const isEmptyList = (value: unknown) => Array.isArray(value) && value.length === 0;

const isFile = (value: unknown): value is JsonObject & { path: string } =>
  isObject(value) && asText(value["path"]) !== undefined && asText(value["content"]) !== undefined;

/** The path of a file is its title: `/areas/Garden.md` becomes `areas/Garden`. */
function titleFile(file: unknown): unknown {
  if (!isFile(file)) return file;
  const { path, ...fields } = file;
  return { title: path.replace(/^\/+/, "").replace(NOTE_END, ""), ...fields };
}
