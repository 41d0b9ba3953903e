import { LIMITS } from "../../limits.js";
import type { Context } from "../../operation/context.js";
import { InvalidInput } from "../../operation/failure.js";
import { lockRow } from "../../operation/lock-row-statement.js";
import {
  type Contents,
  type LinkContents,
  MemoryNotFound,
  assertRoom,
  linkBytes,
  findExistingIds,
  relationshipsOfEach,
  memoryBytes,
  refuseWithoutRoom,
  settle,
  storeRelationships,
  MemoryExists,
} from "../memories/index.js";
import { TooManyRelationships } from "../relationships/index.js";
import { relationshipsAlike, storeMemories } from "./bulk-statements.js";

/** A memory to store with its own id, version, authors and times. */
export interface MemoryToStore extends Contents {
  readonly id: string;
  readonly version: number;
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly updatedBy: string;
  readonly updatedAt: Date;
}

/** A relationship to store with its own id, author and time. Its memories exist when it is stored. */
export interface LinkToStore extends LinkContents {
  readonly id: string;
  readonly fromId: string;
  readonly toId: string;
  readonly type: string;
  readonly createdBy: string;
  readonly createdAt: Date;
}

/**
 * Stores memories and relationships by a few statements, in the transaction of `context`: all or none.
 * @param keepsExisting whether memories whose ids are taken stay as they are; otherwise the call is refused.
 * @returns the ids of the relationships in their order. An existing relationship stays as it is, with its own id.
 * @throws MemoryExists, MemoryNotFound, TooManyRelationships, InvalidInput if a link has the id of another one, or what
 * `refuseWithoutRoom` throws.
 */
export async function storeAll(
  context: Context,
  graphId: string,
  memories: readonly MemoryToStore[],
  links: readonly LinkToStore[],
  { keepsExisting }: { readonly keepsExisting: boolean },
): Promise<{ readonly relationshipIds: string[]; readonly existing: number; readonly existingMemories: number }> {
  const { database } = context;
  let bytes = memories.reduce((sum, memory) => sum + memoryBytes(memory), 0);
  // If some records may exist already, only the end tells how much is added.
  if (keepsExisting) await takeTurn(context, graphId);
  else await assertRoom(context, graphId, { memories: memories.length, bytes });
  const stored = await database
    .run(storeMemories, { graphId, memories: JSON.stringify(memories) })
    .catch((error: unknown) => refuseWithoutRoom(context, graphId, error));
  const written = new Set(stored.map(({ id }) => id));
  const others = memories.filter(({ id }) => !written.has(id));
  if (others.length > 0) {
    const ids = others.map(({ id }) => id);
    const there = keepsExisting ? await findExistingIds(context, graphId, ids) : new Set<string>();
    // A memory whose client id belongs to another memory must not be left out silently.
    const refused = memories.findIndex(({ id }) => !written.has(id) && !there.has(id));
    // Somebody who restores a file does not know its place in the call, but can find its id in the file.
    const which = keepsExisting ? memories[refused]?.id : `at memories.${refused}`;
    if (refused >= 0) throw new MemoryExists(`The memory ${which}`);
    bytes -= others.reduce((sum, memory) => sum + memoryBytes(memory), 0);
  }
  const { made, known } = await makeOrFindLinks(context, graphId, links);
  await assertFewRelationships(context, graphId, made);
  bytes += made.reduce((sum, link) => sum + linkBytes(link), 0);
  await settle(context, graphId, { memories: written.size, bytes, written: [...written] });
  return {
    relationshipIds: links.map((link) => known.get(keyOf(link)) ?? link.id),
    existing: links.length - made.length,
    existingMemories: others.length,
  };
}

/**
 * Lets only one transaction at a time store memories that have ids already in a graph. Both their ids and client ids are
 * unique, and no order of rows is an order of both, so two transactions could wait for each other.
 */
const takeTurn = ({ database }: Context, graphId: string): Promise<boolean> =>
  lockRow(database, "graph_root", { graph_id: graphId }, { strength: "NO KEY UPDATE" });

/** Stores relationships. Returns those that did not exist yet, and whose memories exist. */
async function makeLinks({ database }: Context, graphId: string, links: readonly LinkToStore[]) {
  const rows = await database.run(storeRelationships, { graphId, relationships: JSON.stringify(links) });
  const ids = new Set(rows.map(({ id }) => id));
  return links.filter(({ id }) => ids.has(id));
}

type End = Pick<LinkToStore, "fromId" | "type" | "toId">;
const keyOf = ({ fromId, type, toId }: End): string => `${fromId} ${type} ${toId}`;

/**
 * Stores the relationships that do not exist yet. Returns them, and the ids of all by their ends and types.
 * @throws what `findLinkIds` throws.
 */
async function makeOrFindLinks(context: Context, graphId: string, links: readonly LinkToStore[]) {
  const made: LinkToStore[] = [];
  const known = new Map<string, string>();
  // More than once only if one existed, and was deleted before its id was read; at most until the transaction times out.
  for (let missing = links; missing.length > 0; missing = links.filter((link) => !known.has(keyOf(link)))) {
    const some = await makeLinks(context, graphId, missing);
    made.push(...some);
    for (const link of some) known.set(keyOf(link), link.id);
    await findLinkIds(context, graphId, links, known);
  }
  return { made, known };
}

/**
 * Adds the ids of existing links to the known ones, by their ends and types.
 * @throws MemoryNotFound naming the first relationship with an end that does not exist; InvalidInput if a link could not
 * be stored, since another one has its id.
 */
async function findLinkIds(
  context: Context,
  graphId: string,
  links: readonly LinkToStore[],
  known: Map<string, string>,
): Promise<void> {
  const others = links.filter((link) => !known.has(keyOf(link)));
  if (others.length === 0) return;
  const sought = others.map(({ id, fromId, type, toId }) => ({ id, fromId, type, toId }));
  const rows = await context.database.run(relationshipsAlike, { graphId, relationships: JSON.stringify(sought) });
  for (const row of rows) known.set(keyOf(row), row.id);
  const ids = new Set(rows.map(({ id }) => id));
  if (others.some((link) => !known.has(keyOf(link)))) await assertEnds(context, graphId, links);
  const index = links.findIndex((link) => ids.has(link.id) && !known.has(keyOf(link)));
  if (index < 0) return;
  throw InvalidInput.at(`relationships.${index}.id`, "must not be that of another relationship");
}

/** @throws MemoryNotFound naming the first relationship with an end that is not in the graph. */
async function assertEnds(context: Context, graphId: string, links: readonly LinkToStore[]): Promise<void> {
  const there = await findExistingIds(
    context,
    graphId,
    links.flatMap(({ fromId, toId }) => [fromId, toId]),
  );
  for (const [index, { fromId, toId }] of links.entries()) {
    const place = `relationships.${index}`;
    if (!there.has(fromId)) throw new MemoryNotFound(`the id that ${place} starts from`, place);
    if (!there.has(toId)) throw new MemoryNotFound(`the id that ${place} leads to`, place);
  }
}

/**
 * Counts all relationships at the ends of the new ones. It does not wait for concurrent requests that link the same
 * memory, so a memory may get a few relationships more.
 */
async function assertFewRelationships(
  { database }: Context,
  graphId: string,
  made: readonly LinkToStore[],
): Promise<void> {
  if (made.length === 0) return;
  const ends = [...new Set(made.flatMap(({ fromId, toId }) => [fromId, toId]))];
  for (const { id, count } of await database.run(relationshipsOfEach, { graphId, ids: ends })) {
    if (count > LIMITS.memory.relationships) throw new TooManyRelationships(id);
  }
}
