import { GraphQLJSONObject } from "graphql-scalars";
import { Float, InputType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { TYPE_MAX } from "../../relationship-types.js";
import { Between, Era, Form, JsonSize, ListSize, Marked, NotBlank, TextLength } from "../../operation/bounds.js";
import type { Context } from "../../operation/context.js";
import { InvalidInput } from "../../operation/failure.js";
import { inputField } from "../../operation/input-fields.js";
import type { BaseClass } from "../../operation/operation.js";
import type { Contents } from "./memory-columns.js";
import { TYPE_DESCRIPTION, TYPE_FORM } from "./memory-contents.js";

function addContents<Base extends BaseClass>(base: Base, of: "new" | "change") {
  const InputField = inputField(of);

  @InputType()
  abstract class ContentsInput extends base {
    @InputField(() => String, { description: TYPE_DESCRIPTION })
    @Form(TYPE_FORM, `must be a lower-case word such as code_pattern, of up to ${TYPE_MAX} characters`)
    type!: string;

    @InputField(() => String, { description: "A short name for it." })
    @NotBlank()
    @TextLength(1, LIMITS.memory.title)
    title!: string;

    @InputField(() => String, { description: "The note itself." })
    @TextLength(1, LIMITS.memory.content)
    content!: string;

    @InputField(() => String, { nullable: true, description: "The note in a few words." })
    @TextLength(0, LIMITS.memory.summary)
    summary?: string | null;

    @InputField(() => [String], {
      defaultValue: [],
      description: "Labels to find it by; stored trimmed and in lower case.",
    })
    @ListSize(0, LIMITS.memory.tags, LIMITS.memory.tag)
    tags!: string[];

    @InputField(() => Float, { defaultValue: 0.5, description: "How much it matters, from 0 to 1." })
    @Between(0, 1)
    importance!: number;

    @InputField(() => GraphQLJSONObject, {
      nullable: true,
      description: "What a client keeps with it, such as `project_path`: any JSON object.",
    })
    @JsonSize(LIMITS.memory.contextBytes, LIMITS.memory.contextDepth)
    context?: Contents["context"];

    @InputField(() => Float, { defaultValue: 0.8, description: "How sure it is, from 0 to 1." })
    @Between(0, 1)
    @Marked("notForAgents")
    confidence!: number;

    @InputField(() => Date, { nullable: true, description: "Until when it holds; then it is found no more." })
    @Era()
    expiresAt?: Date | null;
  }
  return ContentsInput;
}

/** Adds the contents of a new memory to an input, except a client's own id, which each input declares itself. */
export const NewMemory = <Base extends BaseClass>(base: Base) => addContents(base, "new");

type ContentsInput = InstanceType<ReturnType<typeof addContents<BaseClass>>>;

/** Adds the contents for a change to an input: every field may be left out. */
export const ChangedMemory = <Base extends BaseClass>(base: Base) =>
  addContents(base, "change") as Base & BaseClass<Partial<ContentsInput>>;

/** @throws InvalidInput if a new memory has expired already: nobody would find it. */
export function assertHolds({ now }: Pick<Context, "now">, { expiresAt }: Partial<Contents>, path = "expiresAt"): void {
  if (expiresAt && expiresAt <= now()) throw InvalidInput.at(path, "must be in the future");
}
