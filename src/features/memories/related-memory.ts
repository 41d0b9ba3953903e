import { Field, Float, ID, Int, ObjectType } from "type-graphql";
import { Embedded, IdInRest, NullWhereNothing } from "../../operation/output.js";
import { Direction, LINK_CONTEXT, Memory } from "./memory.js";
import { WHOLE_MEMORY, defineMemoryRelation } from "./memory-relations.js";
import { MemoryHead } from "./memory-head.js";
import { SUPERSEDED_BY, SupersedingMemory } from "./superseding-memory.js";

@ObjectType({ description: "What is said of a relationship that leads to a memory." })
class RelatedLink {
  @Field(() => ID, { description: "The relationship's id." })
  @IdInRest
  relationshipId!: string;

  @Field(() => Float, { description: "How sure the link is, from 0 to 1." })
  confidence!: number;

  @Field(() => String, { nullable: true, description: LINK_CONTEXT })
  context!: string | null;
}

@ObjectType({ description: "A memory that can be reached from another." })
export class RelatedMemory extends MemoryHead {
  @Field(() => String, { description: "The type of the relationship by which it was reached, such as SOLVES." })
  relationship!: string;

  @Field(() => Direction, {
    description: "Which way that relationship was followed: along its arrow (out) or against it (in).",
  })
  direction!: `${Direction}`;

  @Field(() => Int, { description: "How many relationships away it is, from 1." })
  depth!: number;

  @Field(() => ID, {
    nullable: true,
    description: "The id of the memory from which that relationship was followed; null for the one to start from.",
  })
  viaMemoryId!: string | null;

  @Field(() => Float, { description: "How strong that relationship is, from 0 to 1." })
  strength!: number;

  @Field(() => RelatedLink, {
    nullable: true,
    description: "That relationship itself. By REST only with `eachRelationship`.",
  })
  @Embedded()
  link?: RelatedLink;

  @Field(() => SupersedingMemory, {
    nullable: true,
    description: `${SUPERSEDED_BY}. By REST only with \`eachRelationship\`.`,
  })
  @Embedded()
  @NullWhereNothing
  supersededBy?: SupersedingMemory | null;

  @Field(() => Memory, { nullable: true, description: WHOLE_MEMORY })
  @Embedded()
  memory?: Memory;

  /** The memory's graph. Not a declared field, so clients never see it. */
  graphId!: string;
}

export const memoryOfRelatedMemory = defineMemoryRelation({
  of: RelatedMemory,
  name: "memory",
  description: WHOLE_MEMORY,
  placeOf: ({ graphId, memoryId: id }) => ({ graphId, id }),
});
