import { UUID } from "../../operation/id.js";
import type { Context } from "../../operation/context.js";
import type { RowOf } from "../../platform/database/statement.js";
import { memoriesByIds } from "./many-statements.js";
import { MemoryNotFound } from "./memory.js";
import type { Place } from "./read-memories.js";

/**
 * Where a memory is. `clientId` is set if the client named the memory by it: a change must check that it still has
 * it.
 */
export interface ResolvedPlace extends Place {
  readonly clientId?: string;
}

/**
 * Runs `act` on the memory that a client names by its id or by its client id. A UUID is tried as the id first, so no
 * further query is needed.
 * @param act returns undefined, and has changed nothing, if no memory has this id.
 * @returns undefined if the graph has no such memory.
 */
export async function withResolvedId<Result>(
  context: Pick<Context, "database">,
  { graphId, id: given }: Place,
  act: (place: ResolvedPlace) => Promise<Result | undefined>,
): Promise<Result | undefined> {
  const result = UUID.test(given) ? await act({ graphId, id: given.toLowerCase() }) : undefined;
  if (result !== undefined) return result;
  const known = await context.database.models.memory.findUnique({
    where: { graphId_clientId: { graphId, clientId: given } },
    select: { id: true },
  });
  return known ? act({ graphId, id: known.id, clientId: given }) : undefined;
}

/** Finds which of these ids belong to memories of the graph. */
export async function findExistingIds(
  { database }: Pick<Context, "database">,
  graphId: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const found = await database.run(memoriesByIds, { graphId, ids, clientIds: [] });
  return new Set(found.map(({ id }) => id));
}

/** Maps each id or client id that a client gives to the id of its memory. Unknown ones are missing. One query. */
export async function resolveMemoryIds(
  context: Pick<Context, "database">,
  graphId: string,
  given: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const meant = await meantMemories(context, graphId, given);
  return new Map([...meant].map(([one, { id }]) => [one, id]));
}

type MeantMemory = RowOf<typeof memoriesByIds>;

/** The memory of each id or client id that a client gives. */
async function meantMemories(
  { database }: Pick<Context, "database">,
  graphId: string,
  given: readonly string[],
): Promise<ReadonlyMap<string, MeantMemory>> {
  const ids = given.filter((one) => UUID.test(one)).map((id) => id.toLowerCase());
  const found = await database.run(memoriesByIds, { graphId, ids, clientIds: given });
  const byId = new Map(found.map((memory) => [memory.id, memory]));
  const byClientId = new Map(found.map((memory) => [memory.clientId, memory]));
  return new Map(
    given.flatMap((one): [string, MeantMemory][] => {
      const memory = byId.get(one.toLowerCase()) ?? byClientId.get(one);
      return memory === undefined ? [] : [[one, memory]];
    }),
  );
}

/**
 * The ids of all memories that a client names, sorted, each once.
 * @throws MemoryNotFound, or this class of it, naming the first of the given ids that no memory has, by its place.
 */
export async function resolveEveryId(
  context: Pick<Context, "database">,
  graphId: string,
  given: readonly string[],
  NotFound = MemoryNotFound,
): Promise<string[]> {
  const resolved = await resolveMemoryIds(context, graphId, given);
  const unknown = given.findIndex((id) => !resolved.has(id));
  if (unknown >= 0) throw new NotFound(`the id at ids.${unknown}`, `ids.${unknown}`);
  return [...new Set(resolved.values())].sort();
}

type End = Pick<MeantMemory, "id" | "type" | "title">;

/**
 * The two memories that a relationship or a path joins.
 * @throws MemoryNotFound unless both exist.
 */
export async function resolveEnds(
  context: Pick<Context, "database">,
  graphId: string,
  { fromMemoryId, toMemoryId }: { readonly fromMemoryId: string; readonly toMemoryId: string },
  joined: "relationship" | "path",
): Promise<{ readonly from: End; readonly to: End }> {
  const meant = await meantMemories(context, graphId, [fromMemoryId, toMemoryId]);
  const [from, to] = [meant.get(fromMemoryId), meant.get(toMemoryId)];
  const notFound = (does: string, path: string) =>
    new MemoryNotFound(`the id that the ${joined} ${does}; both must be in one graph`, path);
  if (from === undefined) throw notFound("starts from", "fromMemoryId");
  if (to === undefined) throw notFound("leads to", "toMemoryId");
  return { from, to };
}
