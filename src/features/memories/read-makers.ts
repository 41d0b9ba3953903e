import type { Context } from "../../operation/context.js";
import { type Batch, load } from "../../operation/load.js";
import { type Relation, defineRelation } from "../../operation/relation.js";
import type { Makers } from "./makers.js";
import { Memory } from "./memory.js";
import { TooManyFollowed, checkFollowed } from "./memory-relations.js";
import { addressesOfMembers, makersOfMemories } from "./memory-statements.js";
import { type Place, idsByGraph } from "./read-memories.js";
import { SearchHit } from "./search/search-hit.js";

const NOBODY: Makers = { author: null, editor: null };
const FORMER = "a former member";

/**
 * Reads who made memories, in the order of the places. The addresses of present members alone, since other users are no
 * business of the team, and not names, since users choose them: a member could take another's.
 */
async function readMakers(
  { caller, database }: Pick<Context, "caller" | "database">,
  places: readonly Place[],
): Promise<Makers[]> {
  const { team, userId, email } = caller;
  const domain = email.slice(email.lastIndexOf("@"));
  const ids = idsByGraph(places).find(({ graphId }) => graphId === team?.graphId)?.ids;
  if (!team || !ids) return places.map(() => NOBODY);
  const made = await database.run(makersOfMemories, { graphId: team.graphId, ids });
  const others = new Set(made.flatMap(({ createdBy, updatedBy }) => [createdBy, updatedBy]));
  others.delete(userId);
  const members = others.size > 0 ? await database.run(addressesOfMembers, { teamId: team.id, ids: [...others] }) : [];
  const names = new Map(members.map((member) => [member.id, nameOf(member.email, domain)]));
  names.set(userId, `${nameOf(email, domain)} (you)`);
  const name = (id: string) => names.get(id) ?? FORMER;
  const makers = new Map(
    made.map(({ id, createdBy, updatedBy }): [string, Makers] => [
      id,
      { author: name(createdBy), editor: updatedBy === createdBy ? null : name(updatedBy) },
    ]),
  );
  return places.map(({ graphId, id }) => (graphId === team.graphId && makers.get(id)) || NOBODY);
}

/** An address without this domain: so no two members have one name. */
const nameOf = (email: string, domain: string): string =>
  email.endsWith(domain) ? email.slice(0, -domain.length) : email;

/**
 * Whether to call `setMakers`: for agents, in a team's graph. Other clients know ids, or ask for it. Not decided there: a
 * call alone takes reading a memory three promises.
 */
export const showsMakers = ({ door, caller }: Pick<Context, "caller" | "door">, graphId: string): boolean =>
  door === "mcp" && graphId === caller.team?.graphId;

/** Adds to the items of an answer who made their memories. */
export async function setMakers<Item extends Partial<Makers>>(
  context: Pick<Context, "caller" | "database">,
  items: readonly Item[],
  placeOf: (item: Item) => Place,
): Promise<void> {
  const makers = await readMakers(context, items.map(placeOf));
  for (const [index, item] of items.entries()) Object.assign(item, makers[index]);
}

const NAMES = ["author", "editor"] as const satisfies ReadonlyArray<keyof Makers>;

const MAKERS: Batch<Place, Makers> = (context, places) => readMakers(context, checkFollowed(places));

/** Both are declared fields, which an agent's answer has already. */
const makersRelation = <Source extends object>(
  of: Relation<Source>["of"],
  placeOf: (source: Source) => Place,
): readonly Relation[] =>
  NAMES.map((name) =>
    defineRelation<Source, string | null>({
      of,
      name,
      permission: "memories:read",
      failures: [TooManyFollowed],
      follow: async (context, source) => (await load(context, MAKERS, placeOf(source)))[name],
    }),
  );

export const makersRelations = [
  ...makersRelation(Memory, ({ graphId, id }) => ({ graphId, id })),
  ...makersRelation(SearchHit, ({ graphId, memoryId: id }) => ({ graphId, id })),
];
