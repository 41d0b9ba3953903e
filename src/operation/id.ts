import { Field, ID } from "type-graphql";
import { Marked } from "./bounds.js";

/**
 * A field of an input that holds an id, or a list of them. A malformed id names nothing: `withinBounds` reads it as one
 * that no row has, so the answer is that of an unknown id. A well-formed one is lower-cased, as ids are stored.
 */
export function IdField(description: string): PropertyDecorator {
  return (target, property) => {
    Field(() => ID, { description })(target, property);
    Marked("id")(target, property);
  };
}
