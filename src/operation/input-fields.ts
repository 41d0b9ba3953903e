import { Field } from "type-graphql";
import { Nullable } from "./bounds.js";
import { combine } from "./combine.js";
import { InvalidInput } from "./failure.js";

interface FieldOptions {
  readonly description: string;
  readonly nullable?: boolean;
  readonly defaultValue?: unknown;
}

/**
 * Declares a field of two inputs: one that creates an object, and one that changes it. In a change every field may be
 * omitted, and null clears a field that is `nullable`.
 */
export const inputField =
  (of: "new" | "change") =>
  (type: NonNullable<Parameters<typeof Field>[0]>, options: FieldOptions): PropertyDecorator => {
    const { description, nullable } = options;
    const changing = { nullable: true, description: nullable ? `${description} Null removes it.` : description };
    const field = Field(type, of === "new" ? options : changing);
    return nullable ? combine(field, Nullable()) : field;
  };

/** Requires the fields that an input type lacks: passing such an input does not compile, and the error names them. */
export type MissingFields<Fields, Input> = Record<Exclude<keyof Fields, keyof Input>, unknown>;

/** @throws InvalidInput for an update without any field to change; `advice` follows the message. */
export function assertChanges(changes: object, advice = ""): void {
  if (Object.keys(changes).length === 0) throw InvalidInput.at("", `Give at least one field to change.${advice}`);
}

/** The values of these fields for a new object; null where the input omits one. */
export const pickOrNull = <Fields extends object>(names: readonly (keyof Fields)[], input: Partial<Fields>): Fields =>
  Object.fromEntries(names.map((name) => [name, input[name] ?? null])) as unknown as Fields;

/** The values to change: those of these fields that the input gives. */
export const pickGiven = <Fields extends object>(
  names: readonly (keyof Fields)[],
  input: Partial<Fields>,
): Partial<Fields> =>
  Object.fromEntries(
    names.filter((name) => input[name] !== undefined).map((name) => [name, input[name]]),
  ) as unknown as Partial<Fields>;
