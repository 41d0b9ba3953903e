import { Field } from "type-graphql";

interface SaidOptions {
  readonly description: string;
  readonly nullable?: boolean;
  readonly defaultValue?: unknown;
}

/**
 * Declares a field of what is said of a thing, for two inputs: that of a new thing, and that of a change, in which every
 * field may be left out, and null removes what may be null.
 */
export const saidField =
  (of: "new" | "change") =>
  (type: NonNullable<Parameters<typeof Field>[0]>, options: SaidOptions): PropertyDecorator => {
    if (of === "new") return Field(type, options);
    const { description, nullable } = options;
    return Field(type, { nullable: true, description: nullable ? `${description} Null removes it.` : description });
  };
