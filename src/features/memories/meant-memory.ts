import { UUID } from "../../operation/bounds.js";
import type { Context } from "../../operation/context.js";
import { meantMemories } from "./many-statements.js";
import type { Place } from "./read-memories.js";

/** A memory. `externalId` is what it was called by, if not by its id: a change must check that it still has that. */
export interface MeantPlace extends Place {
  readonly externalId?: string;
}

/**
 * Does something with the memory that a client means, by its id or by the id that the client has given it. What is a
 * UUID is taken for its id first, so finding it takes no further query.
 * @param act answers undefined if there is no memory of this id, and has changed nothing then.
 * @returns undefined if no memory of the graph is meant.
 */
export async function withMemory<Result>(
  context: Pick<Context, "database">,
  { graphId, id: given }: Place,
  act: (place: MeantPlace) => Promise<Result | undefined>,
): Promise<Result | undefined> {
  const result = UUID.test(given) ? await act({ graphId, id: given.toLowerCase() }) : undefined;
  if (result !== undefined) return result;
  const known = await context.database.models.memory.findUnique({
    where: { graphId_externalId: { graphId, externalId: given } },
    select: { id: true },
  });
  return known ? act({ graphId, id: known.id, externalId: given }) : undefined;
}

/**
 * The ids of the memories that a client means, by what it calls them; what it calls otherwise is missing. One query.
 */
export async function idsMeant(
  { database }: Pick<Context, "database">,
  graphId: string,
  given: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const ids = given.filter((one) => UUID.test(one)).map((id) => id.toLowerCase());
  const found = await database.run(meantMemories, { graphId, ids, externalIds: given });
  const known = new Set(found.map(({ id }) => id));
  const byExternalId = new Map(found.map(({ id, externalId }) => [externalId, id]));
  return new Map(
    given.flatMap((one): [string, string][] => {
      const id = known.has(one.toLowerCase()) ? one.toLowerCase() : byExternalId.get(one);
      return id === undefined ? [] : [[one, id]];
    }),
  );
}
