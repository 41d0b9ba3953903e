import type { PlainField } from "../json-schema.js";

type Arguments = Readonly<Record<string, unknown>>;

/** Words of names that change nothing of what they mean: `memory_id` is `id`, `relationship_types` are `types`. */
const FILLERS = new Set([
  "memory",
  "memorie",
  "relationship",
  "relation",
  "id",
  "max",
  "expected",
  "at",
  "path",
  "new",
]);

/** Besides other words for the same, the names that tools of other memory servers have. */
const SYNONYMS: Readonly<Record<string, string>> = {
  source: "from",
  target: "to",
  q: "query",
  text: "content",
  metadata: "context",
  keyword: "tag",
  category: "type",
};

/** What programs add to calls for themselves: Gemini CLI, and some versions of n8n. */
const OF_PROGRAMS: ReadonlySet<string> = new Set(["wait_for_previous", "toolCallId"]);

/** The arguments without those of the program: after a refusal, they would be there again. */
export const writtenByAgents = (args: Arguments): Arguments =>
  Object.keys(args).some((name) => OF_PROGRAMS.has(name))
    ? Object.fromEntries(Object.entries(args).filter(([name]) => !OF_PROGRAMS.has(name)))
    : args;

/**
 * Renames arguments whose names agents write in other forms: `memoryId`, `relation_type`, `from_id`, `tag`. Some models
 * repeat a wrong name however clear the refusal is. A name that adds a word with a meaning, such as `add_tags`, stays
 * unknown, and so does one that may stand for two inputs.
 */
export function nameArguments(args: Arguments, fields: readonly PlainField[]): Arguments {
  const known = new Set(fields.map(({ name }) => name));
  const unknown = Object.keys(args).filter((name) => !known.has(name));
  // Each is compared with all others; so many are no other forms of names.
  if (unknown.length === 0 || unknown.length > fields.length) return args;
  const free = fields.map(({ name }) => name).filter((name) => !Object.hasOwn(args, name));
  const meant = (name: string): string => {
    const core = coreOf(name);
    const [field, ...others] = free.filter((one) => coreOf(one) === core);
    const isOnly = others.length === 0 && unknown.filter((one) => coreOf(one) === core).length === 1;
    return field !== undefined && isOnly ? field : name;
  };
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [known.has(name) ? name : meant(name), value]));
}

/** The words that a name consists of, without fillers, in the singular. */
const coreOf = (name: string): string =>
  name
    .replaceAll(/([a-z])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[\s_-]+/)
    .map((word) => word.replace(/s$/, ""))
    .filter((word) => !FILLERS.has(word))
    .map((word) => SYNONYMS[word] ?? word)
    .join("_");
