import { IsOptional, ValidateBy, type ValidationArguments, ValidationTypes, getMetadataStorage } from "class-validator";
import { LIMITS } from "../limits.js";
import { InvalidInput } from "./failure.js";

type Class = new () => object;

/** A text of `min` to `max` code points (not UTF-16 units: an emoji counts once). */
export function TextLength(min: number, max: number): PropertyDecorator {
  const description = `must have ${min === 0 ? "at most" : `${min} to`} ${max} characters`;
  return bound("textLength", [min, max], description, (value) => {
    if (typeof value !== "string") return false;
    const length = codePoints(value);
    return length >= min && length <= max;
  });
}

/** A text in which something can be seen: more than spaces, fillers and invisible characters. */
export function NotBlank(): PropertyDecorator {
  const visible = /[^\s\p{Z}\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u;
  return bound("notBlank", [], "must not be blank", (value) => typeof value === "string" && visible.test(value));
}

/** A text, or each text of a list, of this form. */
export function Form(pattern: RegExp, description: string): PropertyDecorator {
  return bound("form", [pattern], description, (value) =>
    every(value, (item) => typeof item === "string" && pattern.test(item)),
  );
}

/** A number from `min` to `max`, both included. */
export function Between(min: number, max: number): PropertyDecorator {
  return bound("between", [min, max], `must be from ${min} to ${max}`, (value) => {
    return typeof value === "number" && value >= min && value <= max;
  });
}

/** A list of `min` to `max` items. */
export function SetSize(min: number, max: number): PropertyDecorator {
  return bound("setSize", [min, max], `must have ${min} to ${max} items`, (value) => {
    return Array.isArray(value) && value.length >= min && value.length <= max;
  });
}

/** A list of `min` to `max` items, each a text of up to `itemMax` code points. */
export function ListSize(min: number, max: number, itemMax: number): PropertyDecorator {
  const description = `must have ${min} to ${max} items of up to ${itemMax} characters`;
  return bound("listSize", [min, max, itemMax], description, (value) => {
    if (!Array.isArray(value) || value.length < min || value.length > max) return false;
    return every(value, (item) => typeof item === "string" && codePoints(item) <= itemMax);
  });
}

/** A time that the database can hold and everybody can write: the years 1 to 9999. */
export function Era(): PropertyDecorator {
  const first = Date.parse("0001-01-01T00:00:00Z");
  const last = Date.parse("9999-12-31T23:59:59.999Z");
  return bound("era", [], "must be a time in the years 1 to 9999", (value) => {
    return value instanceof Date && value.getTime() >= first && value.getTime() <= last;
  });
}

/** Must not equal another field of the same input. */
export function DifferentFrom(other: string, description: string): PropertyDecorator {
  return bound("differentFrom", [other], description, (value, all) => value !== all[other] || value === NOTHING);
}

/**
 * What can be said of a field that bounds nothing. It holds an id. It is a text to be looked at as it was sent, since
 * NFC makes other letters ASCII (the Kelvin sign a K) and so one address pass for another. A selector says where to work
 * and not what to change, so by REST it may also stand in the query string of a change.
 */
export type Mark = "id" | "asSent" | "selector";

export const Marked = (name: Mark): PropertyDecorator => bound(name, [], "", () => true);

/** May be null: an update clears the field, a query goes without it. A field that is absent is never checked. */
export const Nullable: () => PropertyDecorator = IsOptional;

/**
 * The input with every text in NFC and every id in its one form, checked against its class's bounds. From cheap to
 * costly: sizes first, then what a text is made of, then its form, then what it says.
 * @throws InvalidInput naming every field that is out of bounds.
 */
export function withinBounds<Input extends object>(input: Input): Input {
  const { ids, asSent, fields, sizes } = boundsOf(input.constructor as Class);
  const entries = Object.entries(input);
  const issues = entries.flatMap(([path, value]) => {
    const problem = ids.has(path) ? sizeProblem(value, sizes.get(path), isNoText) : textProblem(value, sizes.get(path));
    return problem === undefined ? [] : [{ path, message: problem }];
  });
  if (issues.length === 0) {
    for (const [path, value] of entries) {
      const normal = ids.has(path) ? normalId(value) : asSent.has(path) ? value : normalText(value);
      if (normal !== value) Object.assign(input, { [path]: normal });
    }
    const all = input as Readonly<Record<string, unknown>>;
    for (const { path, mayBeNull, checks } of fields) {
      const value = all[path];
      if (value === undefined || (value === null && mayBeNull)) continue;
      const broken = checks.find(({ holds }) => !holds(value, all));
      if (broken) issues.push({ path, message: broken.message });
    }
  }
  if (issues.length > 0) throw new InvalidInput(issues);
  return input;
}

interface Check {
  readonly holds: (value: unknown, all: Readonly<Record<string, unknown>>) => boolean;
  readonly message: string;
}
/** How large the value of a field may be at all, before anything of it is read. */
interface Size {
  /** UTF-16 units of the text, or of each text of the list. */
  readonly units: number;
  readonly items: number;
  readonly message: string;
}
/** A class's bounds as class-validator knows them, made ready: its own validator reads them anew each time. */
interface Bounds {
  readonly sizes: ReadonlyMap<string, Size>;
  readonly ids: ReadonlySet<string>;
  readonly asSent: ReadonlySet<string>;
  readonly fields: ReadonlyArray<{ path: string; mayBeNull: boolean; checks: readonly Check[] }>;
}
const boundsOfClass = new WeakMap<object, Bounds>();

function boundsOf(inputClass: Class): Bounds {
  const known = boundsOfClass.get(inputClass);
  if (known) return known;
  const rules = getMetadataStorage().getTargetValidationMetadatas(inputClass, "", false, false);
  const marked = (mark: string) =>
    new Set(rules.filter(({ name }) => name === mark).map(({ propertyName }) => propertyName));
  const fields = [...new Set(rules.map(({ propertyName }) => propertyName))].map((path) => {
    const own = rules.filter(({ propertyName }) => propertyName === path);
    const mayBeNull = own.some(({ type }) => type === ValidationTypes.CONDITIONAL_VALIDATION);
    return { path, mayBeNull, checks: own.flatMap(checksOf) };
  });
  const sizes = new Map(fields.map(({ path }) => [path, sizeOf(rules.filter((rule) => rule.propertyName === path))]));
  const bounds = { ids: marked("id"), asSent: marked("asSent"), fields, sizes };
  boundsOfClass.set(inputClass, bounds);
  return bounds;
}

type Rule = ReturnType<ReturnType<typeof getMetadataStorage>["getTargetValidationMetadatas"]>[number];

/** The most items that a list field of this input class may have. */
export const itemsMaxOf = (inputClass: object, path: string): number =>
  (boundsOf(inputClass as Class).sizes.get(path) ?? UNDECLARED).items;

/** Whether a field of this input class bears a mark. */
export const isMarked = (inputClass: object, path: string, mark: Mark): boolean =>
  getMetadataStorage()
    .getTargetValidationMetadatas(inputClass as Class, "", false, false)
    .some(({ name, propertyName }) => name === mark && propertyName === path);

/** One character of NFC stands for at most so many UTF-16 units of what was sent. */
const UNITS_PER_CHARACTER = 4;

const UNDECLARED: Size = {
  units: LIMITS.text.unitsUnlessDeclared,
  items: LIMITS.text.itemsUnlessDeclared,
  message: `must have at most ${LIMITS.text.unitsUnlessDeclared} characters`,
};

/** What a field's rules say about its size: `TextLength`, `ListSize` and `SetSize`. */
function sizeOf(rules: readonly Rule[]): Size {
  const rule = rules.find(({ name }) => ["textLength", "setSize", "listSize"].includes(name ?? ""));
  const [check] = rule ? checksOf(rule) : [];
  if (!rule || !check) return UNDECLARED;
  const [, max = 0, itemMax = 0] = (rule.constraints ?? []) as readonly number[];
  const { message } = check;
  if (rule.name === "textLength") return { ...UNDECLARED, units: max * UNITS_PER_CHARACTER, message };
  if (rule.name === "setSize") return { ...UNDECLARED, items: max, message };
  return { units: itemMax * UNITS_PER_CHARACTER, items: max, message };
}

/** The check of a rule that `bound` made; none for one that only says when to check. */
function checksOf({ type, constraintCls }: Rule): Check[] {
  if (type !== ValidationTypes.CUSTOM_VALIDATION) return [];
  return getMetadataStorage()
    .getTargetValidatorConstraints(constraintCls)
    .map(({ instance }) => ({
      holds: (value, all) => instance.validate(value, { object: all } as ValidationArguments) === true,
      message: instance.defaultMessage?.() ?? "",
    }));
}

/** A UUID that no row has. */
const NOTHING = "00000000-0000-0000-0000-000000000000";

function normalId(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalId);
  if (typeof value !== "string") return value;
  return value.length === NOTHING.length && UUID.test(value) ? value.toLowerCase() : NOTHING;
}

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Why a value is too large to be read, or what `problemOf` finds in one of its texts. */
function sizeProblem(
  value: unknown,
  size: Size | undefined,
  problemOf: (text: string, size: Size) => string | undefined,
): string | undefined {
  const bound = size ?? UNDECLARED;
  if (typeof value === "string") return problemOf(value, bound);
  if (!Array.isArray(value)) return undefined;
  if (value.length > bound.items) return size?.message ?? `must have at most ${bound.items} items`;
  for (const item of value) {
    const problem = typeof item === "string" ? problemOf(item, bound) : undefined;
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** For ids: one that is too long is as unknown as any other that is no id. */
const isNoText = (): undefined => undefined;

const { combiningMarks } = LIMITS.text;
/** Begins where a run begins: else each mark of a long one would be the beginning of another try. */
const TOO_MANY_MARKS = new RegExp(`(?<!\\p{M})\\p{M}{${combiningMarks + 1}}`, "u");

/** PostgreSQL cannot hold NUL, and a lone surrogate has no UTF-8: both are refused before they can be changed. */
const textProblem = (value: unknown, size: Size | undefined): string | undefined =>
  sizeProblem(value, size, (text, { units, message }) => {
    if (text.length > units) return message;
    if (text.includes("\0")) return "must not contain the NUL character";
    if (!text.isWellFormed()) return "must be well-formed Unicode";
    // Normalising takes time by the square of such a run; no language has words with so many (UAX #15, Stream-Safe).
    if (TOO_MANY_MARKS.test(text)) return `must not have more than ${combiningMarks} combining marks in a row`;
    return undefined;
  });

function normalText(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalText);
  return typeof value === "string" ? value.normalize("NFC") : value;
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

const every = (value: unknown, test: (item: unknown) => boolean): boolean =>
  Array.isArray(value) ? value.every(test) : test(value);

function bound(
  name: string,
  constraints: unknown[],
  description: string,
  holds: (value: unknown, all: Readonly<Record<string, unknown>>) => boolean,
): PropertyDecorator {
  return ValidateBy({
    name,
    constraints,
    validator: {
      validate: (value, context) => holds(value, (context?.object ?? {}) as Readonly<Record<string, unknown>>),
      defaultMessage: () => description,
    },
  });
}
