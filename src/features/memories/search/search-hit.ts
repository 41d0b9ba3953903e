import { Field, Float, ObjectType } from "type-graphql";
import { Embedded, ForAgents } from "../../../operation/output.js";
import { AUTHOR, EDITOR } from "../makers.js";
import { Memory } from "../memory.js";
import { WHOLE_MEMORY, defineMemoryRelation } from "../memory-relations.js";
import { SearchMatch } from "../words/match.js";
import { SNIPPET_MAX } from "./snippet.js";
import { SOLVED_BY, SolvingMemory } from "../solving-memory.js";
import { SUPERSEDED_BY, SupersedingMemory } from "../superseding-memory.js";
import { MemoryHead } from "../memory-head.js";

@ObjectType({ description: "A memory that a search found." })
export class SearchHit extends MemoryHead {
  @Field(() => String, { nullable: true, description: "The memory in a few words." })
  summary!: string | null;

  @Field(() => [String], { description: "The memory's tags." })
  tags!: string[];

  @Field(() => Date, { description: "When it was last changed, or stored." })
  updatedAt!: Date;

  @Field(() => String, {
    description:
      `At most ${SNIPPET_MAX} characters of the content around what matched, in one line; of the summary if only that ` +
      "matches, else the beginning of the part of the content that is nearest in meaning, or of all. `…` marks a cut.",
  })
  snippet?: string;

  @Field(() => Float, { description: "How well it fits the query, from 0 to 1: a title that says it all is near 1." })
  relevance!: number;

  @Field(() => SupersedingMemory, { nullable: true, description: `${SUPERSEDED_BY}. Such hits rank lower.` })
  supersededBy!: SupersedingMemory | null;

  @Field(() => SolvingMemory, { nullable: true, description: SOLVED_BY })
  solvedBy!: SolvingMemory | null;

  @Field(() => [SearchMatch], {
    nullable: true,
    description:
      "Which words of the query it matches, highest weight first: none if it was found by meaning alone, or behind hits " +
      "of very long contents. Null without `explain`.",
  })
  matches!: SearchMatch[] | null;

  @Field(() => String, { nullable: true, description: `${AUTHOR}.` })
  @ForAgents
  author?: string | null;

  @Field(() => String, { nullable: true, description: `${EDITOR}.` })
  @ForAgents
  editor?: string | null;

  @Field(() => Memory, { nullable: true, description: WHOLE_MEMORY })
  @Embedded()
  memory?: Memory;

  /** The memory's graph. Not a declared field, so clients never see it. */
  graphId!: string;
}

export const memoryOfHit = defineMemoryRelation({
  of: SearchHit,
  name: "memory",
  description: WHOLE_MEMORY,
  placeOf: ({ graphId, memoryId: id }) => ({ graphId, id }),
});
