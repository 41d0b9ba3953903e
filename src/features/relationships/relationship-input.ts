import { Field, Float, InputType } from "type-graphql";
import { Between, Form, Nullable, TextLength } from "../../operation/bounds.js";
import { MemoryIdField } from "../../operation/id.js";
import { CONTEXT_MAX } from "./relationship.js";
import { RELATIONSHIP_FORM } from "../memories/index.js";

/** Adds to an input what is said of a relationship besides its ends and its type. */
// TypeScript lets a class extend a parameter only if that is typed with `any[]`.
// oxlint-disable-next-line typescript/no-explicit-any
export function SaidOfRelationship<Base extends abstract new (...args: any[]) => object>(base: Base) {
  @InputType()
  abstract class SaidOfRelationshipInput extends base {
    @Field(() => Float, { defaultValue: 0.5, description: "How strong the link is, from 0 to 1." })
    @Between(0, 1)
    strength!: number;

    @Field(() => Float, { defaultValue: 0.8, description: "How sure the link is, from 0 to 1." })
    @Between(0, 1)
    confidence!: number;

    @Field(() => String, { nullable: true, description: "Where or why it applies." })
    @Nullable()
    @TextLength(0, CONTEXT_MAX)
    context?: string | null;
  }
  return SaidOfRelationshipInput;
}

/** Adds to an input what a new relationship says. */
// TypeScript lets a class extend a parameter only if that is typed with `any[]`.
// oxlint-disable-next-line typescript/no-explicit-any
export function NewRelationship<Base extends abstract new (...args: any[]) => object>(base: Base) {
  @InputType()
  abstract class NewRelationshipInput extends SaidOfRelationship(base) {
    @MemoryIdField("The id of the memory it starts from, or its external id.")
    fromMemoryId!: string;

    @MemoryIdField("The id of the memory it leads to, a different one, or its external id.")
    toMemoryId!: string;

    @Field(() => String, {
      description: "Its type, in upper case, such as SOLVES; `relationshipTypes` lists the well-known ones.",
    })
    @Form(RELATIONSHIP_FORM, "must be an upper-case name such as SOLVES, of up to 50 characters")
    relationshipType!: string;
  }
  return NewRelationshipInput;
}
