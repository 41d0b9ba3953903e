import { type JsonObject, isObject } from "../text.js";
import { type ToolFile, countOthers } from "./tool-file.js";

/**
 * The backup of OpenMemory, mem0's own server: `{"user", "apps", "categories", "memories": [{"content", "app_id",
 * "category_ids", "state", …}], …}`. Its memories get the names of their app and categories instead of ids. Undefined
 * for any other file.
 */
export function readOpenMemory({ memories, ...others }: JsonObject): ToolFile | undefined {
  if (!Array.isArray(memories) || !("memory_categories" in others) || !("export_meta" in others)) return undefined;
  const named = [others["apps"], others["categories"]].flatMap((list) => (Array.isArray(list) ? list : []));
  const names = new Map(named.filter(isObject).map(({ id, name }) => [id, name]));
  const nameOf = (id: unknown) => names.get(id) ?? id;
  const withNames = (memory: unknown) => {
    if (!isObject(memory)) return memory;
    const { app_id: app, category_ids: categories, ...fields } = memory;
    return { ...fields, app: nameOf(app), categories: Array.isArray(categories) ? categories.map(nameOf) : categories };
  };
  return { place: "memories", memories: memories.map(withNames), others: countOthers(others) };
}
