import { GraphQLJSONObject } from "graphql-scalars";
import { Field, Float, InputType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Between, Form, JsonSize, ListSize, NotBlank, Nullable, TextLength } from "../../operation/bounds.js";
import { ExpiryField } from "./common-fields.js";
import { CONTENT_MAX, SUMMARY_MAX, TAGS_MAX, TAG_MAX, TITLE_MAX, TYPE_DESCRIPTION, TYPE_FORM } from "./memory.js";
import type { Contents } from "./memory-columns.js";
import type { Context } from "../../operation/context.js";
import { InvalidInput } from "../../operation/failure.js";

/** Adds to an input what a new memory says; whether it has a client's own id, each input says itself. */
// TypeScript lets a class extend a parameter only if that is typed with `any[]`.
// oxlint-disable-next-line typescript/no-explicit-any
export function NewMemory<Base extends abstract new (...args: any[]) => object>(base: Base) {
  @InputType()
  abstract class NewMemoryInput extends base {
    @Field(() => String, { description: TYPE_DESCRIPTION })
    @Form(TYPE_FORM, "must be a lower-case word such as code_pattern, of up to 50 characters")
    type!: string;

    @Field(() => String, { description: "A short name for it." })
    @NotBlank()
    @TextLength(1, TITLE_MAX)
    title!: string;

    @Field(() => String, { description: "The note itself." })
    @TextLength(1, CONTENT_MAX)
    content!: string;

    @Field(() => String, { nullable: true, description: "The note in a few words." })
    @Nullable()
    @TextLength(0, SUMMARY_MAX)
    summary?: string | null;

    @Field(() => [String], { defaultValue: [], description: "Labels to find it by; stored trimmed and in lower case." })
    @ListSize(0, TAGS_MAX, TAG_MAX)
    tags!: string[];

    @Field(() => Float, { defaultValue: 0.5, description: "How much it matters, from 0 to 1." })
    @Between(0, 1)
    importance!: number;

    @Field(() => GraphQLJSONObject, {
      nullable: true,
      description: "What a client keeps with it, such as `project_path`: any JSON object.",
    })
    @Nullable()
    @JsonSize(LIMITS.memory.contextBytes, LIMITS.memory.contextDepth)
    context?: Contents["context"];

    @Field(() => Float, { defaultValue: 0.8, description: "How sure it is, from 0 to 1." })
    @Between(0, 1)
    confidence!: number;

    @ExpiryField("Until when it holds; then it is found no more.")
    expiresAt?: Date | null;
  }
  return NewMemoryInput;
}

/** @throws InvalidInput for a new memory that would have expired already: nobody would find it. */
export function assertHolds({ now }: Pick<Context, "now">, { expiresAt }: Expiring, path = "expiresAt"): void {
  if (expiresAt && expiresAt <= now()) throw new InvalidInput([{ path, message: "must be in the future" }]);
}

interface Expiring {
  readonly expiresAt?: Date | null;
}
