import { type JsonObject, isObject } from "../text.js";

/** What a backup has besides memories: their apps' and categories' names are carried with them. */
const OTHERS = ["user", "apps", "categories", "memory_categories", "status_history", "access_controls", "export_meta"];

interface OpenMemory {
  readonly memories: readonly unknown[];
  /** How many there are of each other list. */
  readonly others: ReadonlyMap<string, number>;
}

/**
 * The backup of OpenMemory, mem0's own server: `{"user", "apps", "categories", "memories": [{"content", "app_id",
 * "category_ids", "state", …}], …}`. Its memories get the names of their app and categories instead of ids. Undefined
 * for any other file.
 */
export function readOpenMemory(value: JsonObject): OpenMemory | undefined {
  const { memories } = value;
  if (!Array.isArray(memories) || !("memory_categories" in value) || !("export_meta" in value)) return undefined;
  const named = [value["apps"], value["categories"]].flatMap((list) => (Array.isArray(list) ? list : []));
  const names = new Map(named.filter(isObject).map(({ id, name }) => [id, name]));
  const nameOf = (id: unknown) => names.get(id) ?? id;
  const withNames = (memory: unknown) => {
    if (!isObject(memory)) return memory;
    const { app_id: app, category_ids: categories, ...fields } = memory;
    return { ...fields, app: nameOf(app), categories: Array.isArray(categories) ? categories.map(nameOf) : categories };
  };
  const counts = OTHERS.map((name) => [name, countOf(value[name])] as const);
  return { memories: memories.map(withNames), others: new Map(counts.filter(([, count]) => count > 0)) };
}

const countOf = (value: unknown): number => [value ?? []].flat().length;
