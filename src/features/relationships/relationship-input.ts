import { Field, Float, InputType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Between, TextLength } from "../../operation/bounds.js";
import { MemoryIdField } from "../../operation/id.js";
import { inputField } from "../../operation/input-fields.js";
import type { BaseClass } from "../../operation/operation.js";
import { RelationshipTypeForm } from "../memories/index.js";

function addContents<Base extends BaseClass>(base: Base, of: "new" | "change") {
  const InputField = inputField(of);

  @InputType()
  abstract class RelationshipContentsInput extends base {
    @InputField(() => Float, { defaultValue: 0.5, description: "How strong the link is, from 0 to 1." })
    @Between(0, 1)
    strength!: number;

    @InputField(() => Float, { defaultValue: 0.8, description: "How sure the link is, from 0 to 1." })
    @Between(0, 1)
    confidence!: number;

    @InputField(() => String, { nullable: true, description: "Where or why it applies." })
    @TextLength(0, LIMITS.memory.relationshipContext)
    context?: string | null;
  }
  return RelationshipContentsInput;
}

/** For a relationship that leads back to the memory where it starts. */
export const MUST_DIFFER = "must be another memory than the one it starts from";

/** Adds the contents of a relationship to an input, without its ends and its type. */
export const RelationshipContents = <Base extends BaseClass>(base: Base) => addContents(base, "new");

type ContentsInput = InstanceType<ReturnType<typeof addContents<BaseClass>>>;

/** Adds the contents for a change to an input: every field may be left out. */
export const ChangedRelationship = <Base extends BaseClass>(base: Base) =>
  addContents(base, "change") as Base & BaseClass<Partial<ContentsInput>>;

/** Adds the ends, the type and the contents of a new relationship to an input. */
export function NewRelationship<Base extends BaseClass>(base: Base) {
  @InputType()
  abstract class NewRelationshipInput extends RelationshipContents(base) {
    @MemoryIdField("The id of the memory it starts from, or its client id.")
    fromMemoryId!: string;

    @MemoryIdField("The id of the memory it leads to, a different one, or its client id.")
    toMemoryId!: string;

    @Field(() => String, {
      description: "Its type, in upper case, such as SOLVES: a well-known one, or one of your own.",
    })
    @RelationshipTypeForm()
    relationshipType!: string;
  }
  return NewRelationshipInput;
}
