import { Field, ObjectType } from "type-graphql";
import { LIMITS } from "../../../limits.js";

@ObjectType({ description: "A word of a query that no memory of the graph has." })
export class UnknownWord {
  @Field(() => String, { description: "The word, as it was understood: in lower case and without accents." })
  word!: string;

  @Field(() => [String], {
    description:
      `Up to ${LIMITS.search.takenAs} words that were looked for instead, without their endings: only those that the ` +
      `first ${LIMITS.search.takenFrom} hits by words of this page have.`,
  })
  takenAs!: string[];
}
