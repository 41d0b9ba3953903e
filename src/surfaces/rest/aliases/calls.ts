import { LIMITS } from "../../../limits.js";
import { Failure, InvalidInput } from "../../../operation/failure.js";
import type { Plain } from "../../run.js";
import { type AliasAnswer, type RunNamed, created, ok } from "./alias.js";
import { memoryInput, relationshipInput, relationshipOf } from "./forms.js";
import { beginningOf, cutTo, listOf, numberOf, typesOf, withoutBlanks } from "./values.js";

const LIMIT_DEFAULT = 20;
/** What these clients may ask for at once: exporters ask for 1,000. */
const LIST_MAX = 1_000;
const { search, walk, answer, storage } = LIMITS;
const DEPTHS = [1, walk.depth] as const;
const BYTES_MAX = answer.graphqlBytes;

/** An exporter takes what it gets for all that there is, so what is too large is refused, never cut. */
const refuseTooLarge = (bytes: number): never => {
  const message = `so many memories have more than ${bytes / 1_048_576} MiB: ask for fewer at once`;
  throw new InvalidInput([{ path: "limit", message }]);
};

/** Changes what is given; without anything to change, the memory as it is. */
export async function changeMemory(run: RunNamed, id: string, body: Plain): Promise<Plain> {
  const changes = memoryInput(body);
  return Object.keys(changes).length > 0 ? run("updateMemory", { id, ...changes }) : run("memory", { id });
}

/** Stores a memory under the client's own id, in place of the one that it means by that id. */
export function storeMemory(run: RunNamed, body: Plain): Promise<Plain> {
  const said = memoryInput(body);
  const { id } = body;
  return id == null || id === "" ? run("createMemory", said) : run("putMemory", { ...said, external_id: id });
}

/** Links two memories; where they are linked already, answers with that relationship. */
export async function linkMemories(run: RunNamed, body: Plain): Promise<AliasAnswer> {
  const input = relationshipInput(body);
  try {
    return created(relationshipOf(await run("createRelationship", input), input));
  } catch (error) {
    if (!(error instanceof Failure) || error.reason !== "relationship_exists") throw error;
    const { id } = error.details as { readonly id: string };
    return ok(relationshipOf(await run("relationship", { id }), input));
  }
}

interface Find {
  readonly tagsMatch: "all" | "any";
  /** Whether the call lists all that there is where it names nothing to look for, as exporters do. */
  readonly listsAll: boolean;
  /** What the client gets of a memory: made of each page by itself, so that no turn of the event loop makes all. */
  readonly form: (memory: Plain) => Plain;
}

/** Memories that match, best first; the newest first without a query. */
export async function findMemories(
  run: RunNamed,
  wishes: Plain,
  { tagsMatch, listsAll, form }: Find,
): Promise<readonly Plain[]> {
  const { query, memory_types, tags, min_importance, project_path: project } = wishes;
  const narrowed = withoutBlanks({
    ...{ types: typesOf(memory_types), tags: listOf(tags) },
    ...{ min_importance: numberOf(min_importance), project },
  });
  const filter = { ...narrowed, tags_match: tagsMatch };
  const most = cutTo([1, LIST_MAX], wishes["limit"], LIMIT_DEFAULT);
  const start = cutTo([0, storage.team.memories], wishes["offset"], 0);
  const isBlank = query == null || (typeof query === "string" && query.trim() === "");
  if (!isBlank) return (await searchMemories(run, { ...filter, query }, start, most)).map(form);
  // An export that lacks the memories that have expired would lose them without a word.
  const include_expired = listsAll && Object.keys(narrowed).length === 0;
  return listMemories(run, { ...filter, include_expired }, { start, most, form });
}

async function searchMemories(run: RunNamed, wishes: Plain, offset: number, limit: number): Promise<readonly Plain[]> {
  // Beyond the hits that are ranked there is nothing.
  if (offset >= search.ranked) return [];
  const { query } = wishes;
  const words = typeof query === "string" ? beginningOf(query, search.queryLength) : query;
  const asked = { ...wishes, query: words, offset, limit, full: true };
  const { memories, truncated } = await run("searchMemories", asked);
  if (truncated) refuseTooLarge(answer.restPageBytes);
  return (memories as Plain[]).map(({ memory }) => memory as Plain);
}

/** As many as are asked for, page by page: exporters take a page that is shorter for the last one. */
async function listMemories(
  run: RunNamed,
  filter: Plain,
  { start, most, form }: Pick<Find, "form"> & { readonly start: number; readonly most: number },
): Promise<readonly Plain[]> {
  const found: Plain[] = [];
  let [place, bytes]: [Plain, number] = [start > 0 ? { offset: start } : {}, 0];
  for (;;) {
    const limit = Math.min(answer.pageItems, most - found.length);
    const { memories, next_cursor: cursor } = await run("memories", { ...filter, ...place, limit });
    found.push(...(memories as Plain[]).map(form));
    if (cursor === null || found.length >= most) return found;
    bytes += Buffer.byteLength(JSON.stringify(memories));
    if (bytes > BYTES_MAX) refuseTooLarge(BYTES_MAX);
    place = { cursor };
  }
}

const TOO_MANY =
  `more than ${walk.relationships.toLocaleString("en")} relationships start at this memory, or they lead to more than ` +
  `${answer.restPageBytes / 1_048_576} MiB: give one type at a time, or export the graph by \`GET /v1/export\``;

interface Walk {
  readonly direction: "any" | "out";
  /** Whether each relationship is wanted, and not each memory once. */
  readonly eachRelationship: boolean;
  /** Whether all is wanted, also what has expired, or else nothing. */
  readonly isExport: boolean;
}

/**
 * What relationships lead to from a memory, with the whole memories: the nearest and strongest.
 * @throws InvalidInput when not all have room and all are wanted.
 */
export async function walkFrom(
  run: RunNamed,
  id: string,
  { max_depth, relationship_types }: Plain,
  { direction, eachRelationship, isExport }: Walk,
): Promise<readonly Plain[]> {
  const types = typesOf(relationship_types);
  const depth = cutTo(DEPTHS, max_depth, 1);
  const limit = eachRelationship ? walk.relationships : walk.memories;
  const wishes = { id, ...(types && { types }), max_depth: depth, direction, limit, full: true };
  const form = { each_relationship: eachRelationship, include_expired: isExport };
  const { memories, truncated } = await run("relatedMemories", { ...wishes, ...form });
  if (isExport && truncated) throw new InvalidInput([{ path: "relationship_types", message: TOO_MANY }]);
  return memories as Plain[];
}
