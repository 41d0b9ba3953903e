import { ValidationTypes, getMetadataStorage } from "class-validator";
import { LIMITS } from "../limits.js";
import type { Mark } from "./bounds.js";

export type Class = new () => object;

/** Marks that say how a text is checked and converted. */
const TEXT_MARKS = ["id", "memoryId", "asSent"] as const satisfies readonly Mark[];
type TextMark = (typeof TEXT_MARKS)[number];

interface Check {
  readonly holds: (value: unknown) => boolean;
  readonly message: string;
}
/** The maximum size of a field's value, checked before the value is read. */
export interface Size {
  /** UTF-16 units of the text, or of each text of the list. */
  readonly units: number;
  readonly items: number;
  readonly message: string;
}
/** The numbers that a field takes, both ends included. `message` says them, and perhaps more. */
export interface Range {
  readonly min: number;
  readonly max: number;
  readonly message: string;
}
/** The bounds of an input class, read from class-validator once. Its own validator collects them at each check. */
export interface Bounds {
  readonly sizes: ReadonlyMap<string, Size>;
  /** The fields whose texts are not converted to NFC alone. */
  readonly marks: ReadonlyMap<string, TextMark>;
  /** Lists of inputs, with the class of their items. */
  readonly nested: ReadonlyMap<string, Class>;
  /** What the size of a field must be, in words. */
  readonly sizeWords: ReadonlyMap<string, string>;
  readonly ranges: ReadonlyMap<string, Range>;
  readonly fields: ReadonlyArray<{ path: string; mayBeNull: boolean; checks: readonly Check[] }>;
}
const boundsOfClass = new WeakMap<object, Bounds>();

export function boundsOf(inputClass: Class): Bounds {
  const known = boundsOfClass.get(inputClass);
  if (known) return known;
  const rules = rulesOf(inputClass);
  const paths = [...new Set(rules.map(({ propertyName }) => propertyName))];
  const rulesFor = (path: string) => rules.filter(({ propertyName }) => propertyName === path);
  const bounds = {
    sizes: new Map(paths.map((path) => [path, sizeOf(rulesFor(path))])),
    marks: new Map(rules.flatMap(markIn)),
    nested: new Map(rules.filter(({ name }) => name === "nested").map(nestedIn)),
    sizeWords: new Map(
      rules.filter(isSize).flatMap((rule) => checksOf(rule).map(({ message }) => [rule.propertyName, message])),
    ),
    ranges: new Map(rules.flatMap(rangesIn)),
    fields: paths.map((path) => ({ path, ...checksOfField(rulesFor(path)) })),
  };
  boundsOfClass.set(inputClass, bounds);
  return bounds;
}

/** What class-validator knows of an input class. */
export const rulesOf = (inputClass: object): Rule[] =>
  getMetadataStorage().getTargetValidationMetadatas(inputClass as Class, "", false, false);

const checksOfField = (rules: readonly Rule[]) => ({
  mayBeNull: rules.some(({ type }) => type === ValidationTypes.CONDITIONAL_VALIDATION),
  checks: rules.flatMap(checksOf),
});

const markIn = ({ name, propertyName }: Rule): Array<[string, TextMark]> =>
  TEXT_MARKS.filter((mark) => mark === name).map((mark) => [propertyName, mark]);

const nestedIn = ({ propertyName, constraints }: Rule): [string, Class] => [
  propertyName,
  (constraints as readonly Class[])[0] ?? Object,
];

function rangesIn(rule: Rule): Array<[string, Range]> {
  if (rule.name !== "between") return [];
  const [min = -Infinity, max = Infinity] = rule.constraints as readonly number[];
  return checksOf(rule).map(({ message }) => [rule.propertyName, { min, max, message }]);
}

type Rule = ReturnType<ReturnType<typeof getMetadataStorage>["getTargetValidationMetadatas"]>[number];

/** The size of a field of this input class, if a rule declares it. */
export const sizeIn = (inputClass: object, path: string): Size | undefined =>
  boundsOf(inputClass as Class).sizes.get(path);

/** Whether a field of this input class has a mark. */
export const isMarked = (inputClass: object, path: string, mark: Mark): boolean =>
  rulesOf(inputClass).some(({ name, propertyName }) => name === mark && propertyName === path);

/** One character in NFC comes from at most this many UTF-16 units of the sent text. */
const UNITS_PER_CHARACTER = 4;

export const UNDECLARED: Size = {
  units: LIMITS.text.unitsUnlessDeclared,
  items: LIMITS.text.itemsUnlessDeclared,
  message: `must have at most ${LIMITS.text.unitsUnlessDeclared.toLocaleString("en")} characters`,
};

/** What is wrong with a list of so many items. */
export const itemsProblem = (items: number, size: Size | undefined): string | undefined =>
  items > (size ?? UNDECLARED).items
    ? (size?.message ?? `must have at most ${UNDECLARED.items.toLocaleString("en")} items`)
    : undefined;

const ITEMS_AND_TEXTS: readonly string[] = ["textLength", "setSize", "listSize"];
const isSize = ({ name = "" }: Rule): boolean => [...ITEMS_AND_TEXTS, "jsonSize"].includes(name);

/** The size of a field by its rules: `TextLength`, `ListSize` or `SetSize`. */
function sizeOf(rules: readonly Rule[]): Size {
  const rule = rules.find(({ name }) => ITEMS_AND_TEXTS.includes(name ?? ""));
  const [check] = rule ? checksOf(rule) : [];
  if (!rule || !check) return UNDECLARED;
  const [, max = 0, itemMax = 0] = rule.constraints as readonly number[];
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
