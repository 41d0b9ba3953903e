import { Field } from "type-graphql";

interface SaidOptions {
  readonly description: string;
  readonly nullable?: boolean;
  readonly defaultValue?: unknown;
}

/**
 * Declares a field that two inputs have: that of a new thing, and that of a change to it. In a change every field may
 * be left out, and null removes what may be null.
 */
export const saidField =
  (of: "new" | "change") =>
  (type: NonNullable<Parameters<typeof Field>[0]>, options: SaidOptions): PropertyDecorator => {
    if (of === "new") return Field(type, options);
    const { description, nullable } = options;
    return Field(type, { nullable: true, description: nullable ? `${description} Null removes it.` : description });
  };

/** The fields of a thing that an input lacks. To require them of it does not compile, and the error names them. */
export type Whole<Said, Input> = Record<Exclude<keyof Said, keyof Input>, unknown>;

/** What is said of a new thing: each of these fields, null where it is left out. */
export const saidOf = <Said extends object>(names: readonly (keyof Said)[], input: Partial<Said>): Said =>
  Object.fromEntries(names.map((name) => [name, input[name] ?? null])) as unknown as Said;

/** What is changed of a thing: those of these fields that are given. */
export const changedOf = <Said extends object>(names: readonly (keyof Said)[], input: Partial<Said>): Partial<Said> =>
  Object.fromEntries(
    names.filter((name) => input[name] !== undefined).map((name) => [name, input[name]]),
  ) as unknown as Partial<Said>;
