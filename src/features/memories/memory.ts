import { GraphQLJSONObject } from "graphql-scalars";
import { Field, Float, ID, Int, ObjectType, registerEnumType } from "type-graphql";
import { Failure } from "../../operation/failure.js";
import { Embedded, InRest, NullWhereNothing } from "../../operation/output.js";
import type { Contents, MemoryRow } from "./memory-columns.js";
import { SIMILAR, SimilarMemory } from "./similar-memory.js";
import { SUPERSEDED_BY, SupersedingMemory } from "./superseding-memory.js";

export const TYPE_FORM = /^[a-z][a-z0-9_]{0,49}$/;
export const TITLE_MAX = 500;
export const CONTENT_MAX = 50_000;
export const SUMMARY_MAX = 1_000;
export const TAGS_MAX = 50;
export const TAG_MAX = 100;
/** How many relationships a memory shows; `relationshipsTotal` counts them all. */
export const RELATIONSHIPS_SHOWN_MAX = 100;

const WELL_KNOWN_TYPES =
  "task, code_pattern, problem, solution, project, technology, error, fix, command, file_context, workflow, " +
  "general, conversation";
export const TYPE_DESCRIPTION = `What kind of note it is, in lower case. Well known: ${WELL_KNOWN_TYPES}.`;

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

@ObjectType({ description: "A typed note in a graph." })
export class Memory implements MemoryRow {
  @Field(() => ID, { description: "Its id, a UUIDv7." })
  id!: string;

  @Field(() => String, { description: TYPE_DESCRIPTION })
  type!: string;

  @Field(() => String, { description: "A short name." })
  title!: string;

  @Field(() => String, { description: "The note itself." })
  content!: string;

  @Field(() => String, { nullable: true, description: "The note in a few words." })
  summary!: string | null;

  @Field(() => [String], { description: "Labels, in lower case and without repeats." })
  tags!: string[];

  @Field(() => Float, { description: "How much it matters, from 0 to 1." })
  importance!: number;

  @Field(() => GraphQLJSONObject, { nullable: true, description: "What a client keeps with it." })
  context!: Contents["context"];

  @Field(() => Float, { description: "How sure it is, from 0 to 1." })
  confidence!: number;

  @Field(() => String, {
    nullable: true,
    description: "The id that a client has given it, unlike any other in the graph.",
  })
  externalId!: string | null;

  @Field(() => Date, { nullable: true, description: "Until when it holds; null if it does not end." })
  expiresAt!: Date | null;

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

  @Field(() => [SimilarMemory], { nullable: true, description: SIMILAR })
  @Embedded()
  similar?: SimilarMemory[] | null;

  /** Undeclared, so it never leaves: where to look for what this memory leads to. */
  graphId!: string;
}

@ObjectType({ description: "A relationship, seen from one of its two memories." })
export class MemoryRelationship {
  @Field(() => ID, { description: "The relationship's id." })
  @InRest("id")
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

  @Field(() => Date, { description: "When it was made." })
  createdAt!: Date;
}

export class MemoryNotFound extends Failure {
  readonly kind = "not_found";

  constructor() {
    super("No memory of this graph has this id. `searchMemories` finds memories; `graph` chooses the graph.");
  }
}
