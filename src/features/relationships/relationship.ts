import { Field, Float, ID, ObjectType } from "type-graphql";
import type { Context } from "../../operation/context.js";
import { Failure } from "../../operation/failure.js";
import { type Batch, load } from "../../operation/load.js";
import { ForAgents } from "../../operation/output.js";
import { defineRelation } from "../../operation/relation.js";
import type { Relationship as RelationshipRow } from "../../platform/prisma/client.js";
import {
  LINK_CONTENTS,
  MEMORY_RELATIONSHIP_EXAMPLE,
  MemoryRelationship,
  type Place,
  callersIdsByGraph,
  defineMemoryRelation,
  keyOf,
  linkContentsOf,
} from "../memories/index.js";

const JUST_CREATED = "Only where it was just created, for a key with the scope `memories:read`.";

@ObjectType({ description: "A typed link from one memory to another." })
export class Relationship {
  @Field(() => ID, { description: "Its id, a UUIDv7." })
  id!: string;

  @Field(() => ID, { description: "The id of the memory it starts from." })
  from!: string;

  @Field(() => ID, { description: "The id of the memory it leads to." })
  to!: string;

  @Field(() => String, { description: "Its type, such as SOLVES." })
  type!: string;

  @Field(() => Float, { description: "How strong the link is, from 0 to 1." })
  strength!: number;

  @Field(() => Float, { description: "How sure the link is, from 0 to 1." })
  confidence!: number;

  @Field(() => String, { nullable: true, description: "Where or why it applies." })
  context!: string | null;

  @Field(() => Date, { description: "When it was created." })
  createdAt!: Date;

  @Field(() => String, { nullable: true, description: `The title of the memory it starts from. ${JUST_CREATED}` })
  @ForAgents
  fromTitle?: string | null;

  @Field(() => String, { nullable: true, description: `The title of the memory it leads to. ${JUST_CREATED}` })
  @ForAgents
  toTitle?: string | null;

  /** The graph of its memories. Not a declared field, so no client sees it. */
  graphId!: string;
}

/** A relationship as the documentation shows it. */
export const RELATIONSHIP_EXAMPLE = itselfOf(MEMORY_RELATIONSHIP_EXAMPLE);

/** The relationship itself, without the point of view of a memory. */
function itselfOf(seen: MemoryRelationship): Relationship {
  const { relationshipId: id, memory, from, to, type, strength, confidence, context = null, createdAt } = seen;
  const said = linkContentsOf({ strength, confidence, context });
  return { graphId: memory.graphId, id, from, to, type, ...said, createdAt };
}

export const fromMemoryOfRelationship = defineMemoryRelation({
  of: Relationship,
  name: "fromMemory",
  description: "The memory it starts from.",
  placeOf: ({ graphId, from: id }) => ({ graphId, id }),
});

export const toMemoryOfRelationship = defineMemoryRelation({
  of: Relationship,
  name: "toMemory",
  description: "The memory it leads to.",
  placeOf: ({ graphId, to: id }) => ({ graphId, id }),
});

export class RelationshipNotFound extends Failure {
  readonly kind = "not_found";

  constructor() {
    super(
      "No relationship of this graph has this id. `memory` shows a memory's relationships; `graph` chooses the graph.",
    );
  }
}

/** A memory shows its relationships from its own point of view; this leads to the relationship itself. */
export const relationshipOfMemoryRelationship = defineRelation<MemoryRelationship, Relationship>({
  of: MemoryRelationship,
  name: "relationship",
  to: () => Relationship,
  description: "The relationship itself, with its own direction; null if it was deleted meanwhile.",
  permission: "memories:read",
  failures: [RelationshipNotFound],
  follow(context, seen, asked) {
    // The source may lack some fields, such as `context`. The relationship is read only if one of these is requested.
    const lacks = LINK_CONTENTS.some((name) => seen[name] === undefined && asked().has(name));
    return lacks ? loadRelationship(context, seen) : itselfOf(seen);
  },
});

export const contextOfMemoryRelationship = defineRelation<MemoryRelationship, string | null>({
  of: MemoryRelationship,
  name: "context",
  to: () => String,
  permission: "memories:read",
  failures: [RelationshipNotFound],
  follow: async (context, seen) =>
    seen.context === undefined ? (await loadRelationship(context, seen)).context : seen.context,
});

async function loadRelationship(
  context: Context,
  { relationshipId: id, memory: { graphId } }: MemoryRelationship,
): Promise<Relationship> {
  const found = await load(context, relationshipsAt, { graphId, id });
  if (!found) throw new RelationshipNotFound();
  return found;
}

/** Relationships read by one query. Their contexts have at most 10 MB. */
const BATCH = 250;

/** Reads relationships by one query for each batch of a graph. */
const relationshipsAt: Batch<Place, Relationship | undefined> = async ({ caller, database, answer, pause }, places) => {
  const found = new Map<string, Relationship>();
  let length = 0;
  for (const { graphId, ids } of callersIdsByGraph(caller, places, BATCH)) {
    const where = { graphId, id: { in: ids } };
    for (const row of await database.models.relationship.findMany({ where, omit: UNSEEN })) {
      found.set(keyOf(graphId, row.id), toRelationship(row));
      length += row.context?.length ?? 0;
    }
    answer?.assertRoom(length);
    await pause();
  }
  return places.map(({ graphId, id }) => found.get(keyOf(graphId, id)));
};

/** Columns that no client sees. */
export const UNSEEN = { createdBy: true } as const;

export const toRelationship = ({
  fromId: from,
  toId: to,
  ...row
}: Omit<RelationshipRow, keyof typeof UNSEEN>): Relationship => ({ ...row, from, to });
