import { IsOptional, ValidateBy, ValidationTypes, getMetadataStorage } from "class-validator";
import { hasTooManyMarks } from "../combining-marks.js";
import { LIMITS } from "../limits.js";
import { type InputIssue, InvalidInput } from "./failure.js";

type Class = new () => object;

/** A text of `min` to `max` code points (not UTF-16 units: an emoji counts once). */
export function TextLength(min: number, max: number): PropertyDecorator {
  const description = `must have ${min === 0 ? "at most" : `${min} to`} ${max} characters`;
  return defineBound("textLength", [min, max], description, (value) => {
    if (typeof value !== "string") return false;
    const length = countCodePoints(value);
    return length >= min && length <= max;
  });
}

const VISIBLE = /[^\s\p{Z}\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Whether nothing of a text is visible: it has only spaces, fillers and invisible characters. */
export const isBlank = (text: string): boolean => !VISIBLE.test(text);

/** A text that is not blank. */
export function NotBlank(): PropertyDecorator {
  return defineBound("notBlank", [], BLANK, (value) => typeof value === "string" && !isBlank(value));
}

/** A list with at least one text that is not blank. */
export function NotAllBlank(): PropertyDecorator {
  return defineBound("notAllBlank", [], BLANK, (value) => {
    return Array.isArray(value) && value.some((text) => typeof text === "string" && !isBlank(text));
  });
}

const BLANK = "must not be blank";

/** A text, or each text of a list, that matches the pattern. */
export function Form(pattern: RegExp, description: string): PropertyDecorator {
  return defineBound("form", [pattern], description, (value) =>
    every(value, (item) => typeof item === "string" && pattern.test(item)),
  );
}

/** A text that is the base64url of one that matches the pattern. */
export function Encoded(pattern: RegExp, description: string): PropertyDecorator {
  return defineBound("encoded", [pattern], description, (value) => {
    return typeof value === "string" && pattern.test(Buffer.from(value, "base64url").toString());
  });
}

/** A number from `min` to `max`, both included. `description` says when only a part of that range is accepted. */
export function Between(min: number, max: number, description = `must be from ${min} to ${max}`): PropertyDecorator {
  return defineBound("between", [min, max], description, (value) => {
    return typeof value === "number" && value >= min && value <= max;
  });
}

/** A list of `min` to `max` items. */
export function SetSize(min: number, max: number): PropertyDecorator {
  return defineBound("setSize", [min, max], `must have ${min} to ${max} items`, (value) => {
    return Array.isArray(value) && value.length >= min && value.length <= max;
  });
}

/**
 * A list of `min` to `max` items, each a text of up to `itemMax` code points, also in lower case, in which some letters
 * become two: what is stored so can then be sent back.
 */
export function ListSize(min: number, max: number, itemMax: number): PropertyDecorator {
  const description = `must have ${min} to ${max} items of up to ${itemMax} characters`;
  return defineBound("listSize", [min, max, itemMax], description, (value) => {
    if (!Array.isArray(value) || value.length < min || value.length > max) return false;
    return every(value, (item) => typeof item === "string" && countCodePoints(item.toLowerCase()) <= itemMax);
  });
}

/** A time that the database can store and every format can write: the years 1 to 9999. */
export function Era(): PropertyDecorator {
  const first = Date.parse("0001-01-01T00:00:00Z");
  const last = Date.parse("9999-12-31T23:59:59.999Z");
  return defineBound("era", [], "must be a time in the years 1 to 9999", (value) => {
    return value instanceof Date && value.getTime() >= first && value.getTime() <= last;
  });
}

/** A JSON object of up to `bytesMax` bytes as compact JSON, nested up to `depthMax` levels, that can be stored. */
export function JsonSize(bytesMax: number, depthMax: number): PropertyDecorator {
  const description =
    `must have at most ${bytesMax.toLocaleString("en")} bytes as compact JSON and ${depthMax} levels, ` +
    "without the NUL character, broken Unicode and numbers beyond 1.7e308";
  return defineBound("jsonSize", [bytesMax, depthMax], description, (value) => {
    return isStorable(value, depthMax) && Buffer.byteLength(JSON.stringify(value)) <= bytesMax;
  });
}

/**
 * A property of a field that is not a bound:
 * - `id`: it holds an id.
 * - `memoryId`: it holds the id of a memory, or the id that a client gave the memory.
 * - `asSent`: it is not converted to NFC, which turns some characters into ASCII (the Kelvin sign into K), so that two
 *   different addresses would become equal.
 * - `notForAgents`: no tool of MCP takes it.
 * - `selector`: it says where to work, not what to change, so in REST it may be in the query string of a change, too.
 */
export type Mark = "id" | "memoryId" | "asSent" | "notForAgents" | "selector";

export const Marked = (name: Mark): PropertyDecorator => defineBound(name, [], "", () => true);

/** Each item of this list is an input of its own, with the bounds of its class. */
export const Nested = (inputClass: object): PropertyDecorator => defineBound("nested", [inputClass], "", () => true);

/** May be null: an update clears the field, a query ignores it. An absent field is never checked. */
export const Nullable: () => PropertyDecorator = IsOptional;

/**
 * Converts texts to NFC and ids to lower case, and checks the input against the bounds of its class. Cheap checks come
 * first: sizes, then characters, then the bounds.
 * @throws InvalidInput naming every field that is out of bounds.
 */
export function withinBounds<Input extends object>(input: Input): Input {
  const issues = issuesOf(input);
  if (issues.length > 0) throw new InvalidInput(issues);
  return input;
}

/** The problems of an input. Bounds are checked only if sizes and characters are right. */
function issuesOf(input: object): InputIssue[] {
  const bounds = boundsOf(input.constructor as Class);
  const issues = issuesOfTexts(input, bounds);
  if (issues.length > 0) return issues;
  normalize(input, bounds);
  return [...issuesOfFields(input, bounds), ...issuesOfItems(input, bounds)];
}

/** Problems of sizes and characters. Of ids only the number is checked: a malformed id counts as unknown later. */
function issuesOfTexts(input: object, { ids, sizes }: Bounds): InputIssue[] {
  return Object.entries(input).flatMap(([path, value]) => {
    const size = sizes.get(path);
    const problem = ids.has(path) ? findSizeProblem(value, size, findNoProblem) : findTextProblem(value, size);
    return problem === undefined ? [] : [{ path, message: problem }];
  });
}

function normalize(input: object, { normalizers }: Bounds): void {
  for (const [path, value] of Object.entries(input)) {
    const normal = (normalizers.get(path) ?? normalizeText)(value);
    if (normal !== value) Object.assign(input, { [path]: normal });
  }
}

function issuesOfFields(input: object, { fields }: Bounds): InputIssue[] {
  const given = input as Readonly<Record<string, unknown>>;
  return fields.flatMap(({ path, mayBeNull, checks }) => {
    const value = given[path];
    if (value === undefined || (value === null && mayBeNull)) return [];
    const broken = checks.find(({ holds }) => !holds(value));
    return broken ? [{ path, message: value === null ? "must not be null" : broken.message }] : [];
  });
}

/** Replaces each item of the nested lists by an instance of its class, and checks it. */
function issuesOfItems(input: object, { nested }: Bounds): InputIssue[] {
  const issues: InputIssue[] = [];
  for (const [path, inputClass] of nested) {
    const given = (input as Readonly<Record<string, readonly object[]>>)[path] ?? [];
    const items = given.map((item) => Object.assign(new inputClass(), item));
    Object.assign(input, { [path]: items });
    for (const [index, item] of items.entries()) {
      if (issues.length >= LIMITS.refusal.issues) return issues;
      issues.push(...issuesOf(item).map((issue) => ({ ...issue, path: `${path}.${index}.${issue.path}` })));
    }
  }
  return issues;
}

interface Check {
  readonly holds: (value: unknown) => boolean;
  readonly message: string;
}
/** The maximum size of a field's value, checked before the value is read. */
interface Size {
  /** UTF-16 units of the text, or of each text of the list. */
  readonly units: number;
  readonly items: number;
  readonly message: string;
}
/** The bounds of an input class, read from class-validator once. Its own validator collects them at each check. */
interface Bounds {
  readonly sizes: ReadonlyMap<string, Size>;
  /** Fields with ids, of both kinds. */
  readonly ids: ReadonlySet<string>;
  /** Conversions of marked fields. All other fields are converted to NFC. */
  readonly normalizers: ReadonlyMap<string, (value: unknown) => unknown>;
  /** Lists of inputs, with the class of their items. */
  readonly nested: ReadonlyMap<string, Class>;
  readonly fields: ReadonlyArray<{ path: string; mayBeNull: boolean; checks: readonly Check[] }>;
}
const boundsOfClass = new WeakMap<object, Bounds>();

function boundsOf(inputClass: Class): Bounds {
  const known = boundsOfClass.get(inputClass);
  if (known) return known;
  const rules = getMetadataStorage().getTargetValidationMetadatas(inputClass, "", false, false);
  const marked = (mark: Mark) => rules.filter(({ name }) => name === mark).map(({ propertyName }) => propertyName);
  const fields = [...new Set(rules.map(({ propertyName }) => propertyName))].map((path) => {
    const own = rules.filter(({ propertyName }) => propertyName === path);
    const mayBeNull = own.some(({ type }) => type === ValidationTypes.CONDITIONAL_VALIDATION);
    return { path, mayBeNull, checks: own.flatMap(checksOf) };
  });
  const sizes = new Map(fields.map(({ path }) => [path, sizeOf(rules.filter((rule) => rule.propertyName === path))]));
  const nested = new Map(rules.filter(({ name }) => name === "nested").map(nestedIn));
  const ids = new Set([...marked("id"), ...marked("memoryId")]);
  const normalizers = new Map([
    ...marked("id").map((path) => [path, normalizeId] as const),
    ...marked("memoryId").map((path) => [path, normalizeMemoryId] as const),
    ...marked("asSent").map((path) => [path, (value: unknown) => value] as const),
  ]);
  const bounds = { nested, ids, normalizers, fields, sizes };
  boundsOfClass.set(inputClass, bounds);
  return bounds;
}

const nestedIn = ({ propertyName, constraints }: Rule): [string, Class] => [
  propertyName,
  (constraints as readonly Class[])[0] ?? Object,
];

type Rule = ReturnType<ReturnType<typeof getMetadataStorage>["getTargetValidationMetadatas"]>[number];

/** The most items that a list field of this input class may have. */
export const itemsMaxOf = (inputClass: object, path: string): number =>
  (boundsOf(inputClass as Class).sizes.get(path) ?? UNDECLARED).items;

/** Whether a field of this input class has a mark. */
export const isMarked = (inputClass: object, path: string, mark: Mark): boolean =>
  getMetadataStorage()
    .getTargetValidationMetadatas(inputClass as Class, "", false, false)
    .some(({ name, propertyName }) => name === mark && propertyName === path);

/** One character in NFC comes from at most this many UTF-16 units of the sent text. */
const UNITS_PER_CHARACTER = 4;

const UNDECLARED: Size = {
  units: LIMITS.text.unitsUnlessDeclared,
  items: LIMITS.text.itemsUnlessDeclared,
  message: `must have at most ${LIMITS.text.unitsUnlessDeclared} characters`,
};

/** The size of a field by its rules: `TextLength`, `ListSize` or `SetSize`. */
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

/** The checks of a rule that `defineBound` made; none for a rule that only says when to check. */
function checksOf({ type, constraintCls }: Rule): Check[] {
  if (type !== ValidationTypes.CUSTOM_VALIDATION) return [];
  return getMetadataStorage()
    .getTargetValidatorConstraints(constraintCls)
    .map(({ instance }) => ({
      holds: (value) => instance.validate(value) === true,
      message: instance.defaultMessage?.() ?? "",
    }));
}

/** A UUID that no row has, and that is below all others. */
export const NIL_ID = "00000000-0000-0000-0000-000000000000";

function normalizeId(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalizeId);
  if (typeof value !== "string") return value;
  return UUID.test(value) ? value.toLowerCase() : NIL_ID;
}

/** Longest id that a client may give a memory. */
export const CLIENT_ID_MAX = 200;

/** An id that no memory has, since a client's own id cannot be blank. */
const NO_NAME = "";

/** Converts a UUID, or a text that may be a client's own id, to NFC; any other text to an id that no memory has. */
function normalizeMemoryId(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalizeMemoryId);
  if (typeof value !== "string") return value;
  return findTextProblem(value, undefined) === undefined ? value.normalize("NFC") : NO_NAME;
}

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Says why a value is too large, or what `problemOf` finds in one of its texts. */
function findSizeProblem(
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

/** For ids: one that is too long is treated like any other malformed id, as unknown. */
const findNoProblem = (): undefined => undefined;

/** PostgreSQL cannot store NUL, and a lone surrogate has no UTF-8. Both are refused, not replaced. */
const findTextProblem = (value: unknown, size: Size | undefined): string | undefined =>
  findSizeProblem(value, size, (text, { units, message }) => {
    if (text.length > units) return message;
    if (text.includes("\0")) return "must not contain the NUL character";
    if (!text.isWellFormed()) return "must be well-formed Unicode";
    if (hasTooManyMarks(text)) return `must not have more than ${LIMITS.text.combiningMarks} combining marks in a row`;
    return undefined;
  });

function normalizeText(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalizeText);
  return typeof value === "string" ? value.normalize("NFC") : value;
}

/** Whether PostgreSQL can store a JSON value: finite numbers, no NUL or lone surrogate, at most `depthLeft` levels. */
function isStorable(value: unknown, depthLeft: number): boolean {
  if (typeof value === "string") return !value.includes("\0") && value.isWellFormed();
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return true;
  if (depthLeft === 0) return false;
  const inner = Array.isArray(value) ? value : [...Object.keys(value), ...Object.values(value)];
  return inner.every((item) => isStorable(item, depthLeft - 1));
}

function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

const every = (value: unknown, test: (item: unknown) => boolean): boolean =>
  Array.isArray(value) ? value.every(test) : test(value);

function defineBound(
  name: string,
  constraints: unknown[],
  description: string,
  holds: (value: unknown) => boolean,
): PropertyDecorator {
  return ValidateBy({
    name,
    constraints,
    validator: {
      validate: holds,
      defaultMessage: () => description,
    },
  });
}
