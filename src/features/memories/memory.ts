import { Field, Float, ID, Int, ObjectType, registerEnumType } from "type-graphql";
import { Failure } from "../../operation/failure.js";
import { Embedded, ForAgents, IdInRest, NullWhereNothing } from "../../operation/output.js";
import type { MemoryRow } from "./memory-columns.js";
import { ShowsContents } from "./memory-contents.js";
import { AUTHOR, EDITOR } from "./makers.js";
import { SIMILAR, SimilarMemory } from "./similar-memory.js";
import { SOLVED_BY, SolvingMemory } from "./solving-memory.js";
import { SUPERSEDED_BY, SupersedingMemory } from "./superseding-memory.js";

/** How many relationships a memory shows; `relationshipsTotal` counts them all. */
export const RELATIONSHIPS_SHOWN_MAX = 100;

export const LINK_CONTEXT = "Where it holds, or why.";

export enum Direction {
  OUT = "out",
  IN = "in",
}
registerEnumType(Direction, {
  name: "Direction",
  description: "Which way a relationship points, seen from a memory.",
  valuesConfig: {
    OUT: { description: "From the memory to another." },
    IN: { description: "From another to the memory." },
  },
});

@ObjectType()
abstract class MemoryId {
  @Field(() => ID, { description: "Its id, a UUIDv7." })
  id!: string;
}

@ObjectType({ description: "A typed note in a graph." })
export class Memory extends ShowsContents(MemoryId) implements MemoryRow {
  @Field(() => Date, { description: "When it was stored." })
  createdAt!: Date;

  @Field(() => Date, { description: "When it was last changed." })
  updatedAt!: Date;

  @Field(() => Int, { description: "1 when stored, one more with every update." })
  version!: number;

  @Field(() => ID, { description: "The id of the user who stored it; it stays when that user is deleted." })
  createdBy!: string;

  @Field(() => [MemoryRelationship], {
    nullable: true,
    description: `Its relationships, newest first, at most ${RELATIONSHIPS_SHOWN_MAX}.`,
  })
  @Embedded()
  relationships?: MemoryRelationship[];

  @Field(() => Int, { nullable: true, description: "How many relationships it has in all." })
  @Embedded()
  relationshipsTotal?: number;

  @Field(() => SupersedingMemory, { nullable: true, description: `${SUPERSEDED_BY}.` })
  @Embedded()
  @NullWhereNothing
  supersededBy?: SupersedingMemory | null;

  @Field(() => SolvingMemory, { nullable: true, description: SOLVED_BY })
  @ForAgents
  solvedBy?: SolvingMemory | null;

  @Field(() => [SimilarMemory], { nullable: true, description: SIMILAR })
  @Embedded()
  @NullWhereNothing
  similar?: SimilarMemory[] | null;

  @Field(() => String, { nullable: true, description: `${AUTHOR}.` })
  @ForAgents
  author?: string | null;

  @Field(() => String, { nullable: true, description: `${EDITOR}.` })
  @ForAgents
  editor?: string | null;

  /** The graph in which to follow its relations. Not a declared field, so clients never see it. */
  graphId!: string;
}

@ObjectType({ description: "A relationship, seen from one of its two memories." })
export class MemoryRelationship {
  @Field(() => ID, { description: "The relationship's id." })
  @IdInRest
  relationshipId!: string;

  @Field(() => String, { description: "Its type, such as SOLVES." })
  type!: string;

  @Field(() => Direction, { description: "Whether it points away from the memory or to it." })
  direction!: Direction;

  @Field(() => ID, { description: "The id of the memory it starts from." })
  from!: string;

  @Field(() => ID, { description: "The id of the memory it leads to." })
  to!: string;

  @Field(() => Memory, { description: "The memory at the other end." })
  @Embedded("id", "type", "title")
  memory!: Pick<Memory, "id" | "type" | "title" | "graphId">;

  @Field(() => Float, { description: "How strong the link is, from 0 to 1." })
  strength!: number;

  @Field(() => Float, { description: "How sure the link is, from 0 to 1." })
  confidence!: number;

  @Field(() => String, { nullable: true, description: LINK_CONTEXT })
  @Embedded()
  @NullWhereNothing
  context?: string | null;

  @Field(() => Date, { description: "When it was made." })
  createdAt!: Date;
}

export class MemoryNotFound extends Failure {
  readonly kind = "not_found";
  override readonly details: { readonly path: string } | undefined;

  /** @param which names the id where there are several, for people; `path` names its field, for programs */
  constructor(
    which = "this id",
    path?: string,
    message = `No memory of this graph has ${which}. \`searchMemories\` finds memories; \`graph\` chooses the graph.`,
  ) {
    super(message);
    this.details = path === undefined ? undefined : { path };
  }
}
