import { LIMITS } from "../../../limits.js";
import { isBlank } from "../../../operation/bounds.js";
import { Failure, InvalidInput } from "../../../operation/failure.js";
import { nestedBytesIn } from "../../../operation/pieces.js";
import type { Plain } from "../../run.js";
import { stringify } from "../../stringify.js";
import { type AliasAnswer, type AliasRequest, type RunNamed, created, ok, runNaming } from "./alias.js";
import { memoryInput, relationshipInput, relationshipOf } from "./forms.js";
import { beginningOf, cutTo, listOf, numberOf, typesOf, withoutBlanks } from "./values.js";

const LIMIT_DEFAULT = 20;
/** The most memories that a client may ask for at once: exporters ask for 1,000. */
const LIST_MAX = 1_000;
const { search, walk, answer, storage } = LIMITS;
const DEPTHS = [1, walk.depth] as const;
const BYTES_MAX = answer.graphqlBytes;

/** Refuses an answer that is too large. Never cut it: an exporter would take the part for everything. */
const refuseTooLarge = (bytes: number): never => {
  throw InvalidInput.at("limit", `so many memories have more than ${bytes / 1_048_576} MiB: ask for fewer at once`);
};

/** Changes the given fields, and returns the memory; without any, returns it as it is. */
export async function changeMemory(run: RunNamed, id: string, body: Plain): Promise<Plain> {
  const changes = memoryInput(body);
  return Object.keys(changes).length > 0 ? run("updateMemory", { id, ...changes }) : run("memory", { id });
}

/** Stores a memory. With an id, which is the client's own, it replaces the memory that has this id. */
export function storeMemory(run: RunNamed, body: Plain): Promise<Plain> {
  const said = memoryInput(body);
  const { id } = body;
  if (id == null || id === "") return run("createMemory", said);
  return runNaming(run, { client_id: "id" })("putMemory", { ...said, client_id: id });
}

/** Links two memories; if they are linked already, answers with that relationship. */
export async function linkMemories(run: RunNamed, body: Plain): Promise<AliasAnswer> {
  const input = relationshipInput(body);
  try {
    const relationship = await run("createRelationship", input);
    // These clients have no call that reads one.
    return created(relationshipOf(relationship, input), "/v1/relationships", relationship["id"]);
  } catch (error) {
    if (!(error instanceof Failure) || error.reason !== "relationship_exists") throw error;
    const { id } = error.details as { readonly id: string };
    return ok(relationshipOf(await run("relationship", { id }), input));
  }
}

interface Find extends Pick<AliasRequest, "pause"> {
  readonly tagsMatch: "all" | "any";
  /** Whether a call without query and filters lists everything, expired memories too, for exporters. */
  readonly listsAll: boolean;
  /** Converts a memory for the client. Called page by page, so that no turn of the event loop converts all. */
  readonly form: (memory: Plain) => Plain;
}

/** Finds memories that match, best first; without a query, newest first. */
export async function findMemories(
  runOurs: RunNamed,
  request: Plain,
  { tagsMatch, listsAll, form, pause }: Find,
): Promise<readonly Plain[]> {
  const run = runNaming(runOurs, { types: "memory_types", project: "project_path" });
  const { query, memory_types, tags, min_importance, project_path: project } = request;
  const narrowed = withoutBlanks({
    types: typesOf(memory_types),
    tags: listOf(tags),
    min_importance: numberOf(min_importance),
    project,
  });
  const filter = { ...narrowed, tags_match: tagsMatch };
  const most = cutTo([1, LIST_MAX], request["limit"], LIMIT_DEFAULT);
  const start = cutTo([0, storage.team.memories], request["offset"], 0);
  const isGiven = query != null && !(typeof query === "string" && isBlank(query));
  if (isGiven) return (await searchMemories(run, { ...filter, query }, start, most)).map(form);
  // An export without the expired memories would lose them silently.
  const include_expired = listsAll && Object.keys(narrowed).length === 0;
  return listMemories(run, { ...filter, include_expired }, { start, most, form, pause });
}

async function searchMemories(run: RunNamed, request: Plain, start: number, limit: number): Promise<readonly Plain[]> {
  const { query } = request;
  const words = typeof query === "string" ? beginningOf(query, search.queryLength) : query;
  // A search returns only ranked hits: none beyond. It runs all the same, since it checks the scope and the filters.
  const offset = Math.min(start, search.ranked);
  const asked = { ...request, query: words, offset, limit, full: true };
  const { memories, truncated } = await run("searchMemories", asked);
  if (truncated) refuseTooLarge(answer.restPageBytes);
  return (memories as Plain[]).map(({ memory }) => memory as Plain);
}

/** What these clients are shown of an operation's answer: of a search hit, only its memory. */
export const shownOf =
  (operation: string) =>
  (field: string, within?: string): boolean =>
    operation !== "searchMemories" || within !== "memories" || field === "memory";

/** Reads page by page until all requested memories are found: exporters take a shorter answer for the last one. */
async function listMemories(
  run: RunNamed,
  filter: Plain,
  { start, most, form, pause }: Pick<Find, "form" | "pause"> & { readonly start: number; readonly most: number },
): Promise<readonly Plain[]> {
  const found: Plain[] = [];
  let [place, bytes]: [Plain, number] = [start > 0 ? { offset: start } : {}, 0];
  for (;;) {
    const limit = Math.min(answer.pageItems, most - found.length);
    const { memories, next_cursor: cursor } = await run("memories", { ...filter, ...place, limit });
    found.push(...(memories as Plain[]).map(form));
    if (cursor === null || found.length >= most) return found;
    bytes += Buffer.byteLength(await stringify(memories as Plain[], pause)) + nestedBytesIn(memories);
    if (bytes > BYTES_MAX) refuseTooLarge(BYTES_MAX);
    place = { cursor };
  }
}

const TOO_MANY =
  `more than ${walk.relationships.toLocaleString("en")} relationships start at this memory, or they lead to more than ` +
  `${answer.restPageBytes / 1_048_576} MiB: give one type at a time, or export the graph by \`GET /v1/export\``;

interface Walk {
  /** Whether the answer has an item for each relationship, instead of one for each memory. */
  readonly eachRelationship: boolean;
  /**
   * Whether the answer must be complete, with expired memories, or else is refused. It has only the relationships that
   * start at the memory.
   */
  readonly isExport: boolean;
}

/**
 * Follows relationships from a memory, and returns the nearest and strongest with the full memories.
 * @throws InvalidInput when an export has no room for all.
 */
export async function walkFrom(
  run: RunNamed,
  id: string,
  { max_depth, relationship_types }: Plain,
  { eachRelationship, isExport }: Walk,
): Promise<readonly Plain[]> {
  const types = typesOf(relationship_types);
  const depth = cutTo(DEPTHS, max_depth, 1);
  const limit = eachRelationship ? walk.relationships : walk.memories;
  const direction = isExport ? "out" : "any";
  const input = { id, ...(types && { types }), max_depth: depth, direction, limit, full: true };
  const form = { each_relationship: eachRelationship, include_expired: isExport };
  const runWalk = runNaming(run, { types: "relationship_types" });
  const { memories, truncated } = await runWalk("relatedMemories", { ...input, ...form });
  if (isExport && truncated) throw InvalidInput.at("relationship_types", TOO_MANY);
  return memories as Plain[];
}
