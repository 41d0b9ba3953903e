import { GraphQLJSONObject } from "graphql-scalars";
import { Field, Float, ObjectType } from "type-graphql";
import type { BaseClass } from "../../operation/operation.js";
import { TYPE_MAX } from "../../relationship-types.js";
import type { Contents } from "./memory-columns.js";
import { MEMORY_TYPES } from "./memory-types.js";

export const TYPE_FORM = new RegExp(`^[a-z][a-z0-9_]{0,${TYPE_MAX - 1}}$`);

const WELL_KNOWN_TYPES = `${MEMORY_TYPES.join(", ")}; or another one, such as decision`;
export const TYPE_DESCRIPTION = `What kind of note it is, in lower case. Well known: ${WELL_KNOWN_TYPES}.`;

/** Adds the contents of a memory, or of one of its versions, to an output. */
export function ShowsContents<Base extends BaseClass>(base: Base) {
  @ObjectType()
  abstract class MemoryContents extends base implements Contents {
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

    @Field(() => String, { nullable: true, description: "The id that a client has given it." })
    clientId!: string | null;

    @Field(() => Date, { nullable: true, description: "Until when it holds; null if it does not end." })
    expiresAt!: Date | null;
  }
  return MemoryContents;
}
