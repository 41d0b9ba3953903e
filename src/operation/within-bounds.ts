import { hasTooManyMarks } from "../combining-marks.js";
import { LIMITS } from "../limits.js";
import { type Bounds, type Class, type Size, UNDECLARED, boundsOf } from "./class-bounds.js";
import { type InputIssue, InvalidInput } from "./failure.js";
import { NIL_ID, UUID } from "./id.js";

/** How many UTF-16 units of nested items are checked at once: some milliseconds of work if all are combining marks. */
const PIECE_LENGTH = 100_000;

/**
 * Converts texts to NFC and ids to lower case, and checks the input against the bounds of its class. Cheap checks come
 * first: sizes, then characters, then the bounds.
 * @throws InvalidInput naming every field that is out of bounds.
 */
export function withinBounds<Input extends object>(input: Input): Input {
  const pieces = checkInPieces(input);
  let piece = pieces.next();
  while (!piece.done) piece = pieces.next();
  return piece.value;
}

/** Does the same over several turns of the event loop, for which `pause` waits; at once if the input is small. */
export function withinBoundsInTurns<Input extends object>(
  input: Input,
  pause: () => Promise<void>,
): Input | Promise<Input> {
  const pieces = checkInPieces(input);
  const first = pieces.next();
  return first.done ? first.value : checkTheRest(pieces, pause);
}

/**
 * The problems of the fields that are in an input: it may be incomplete. Items of nested lists are not checked.
 * Converts the texts.
 */
export function issuesOfSome(input: object): InputIssue[] {
  const bounds = boundsOf(input.constructor as Class);
  return withOthers(issuesOfTexts(input, bounds), input, bounds);
}

/** Adds the problems of the fields that have none so far. */
function withOthers(issues: readonly InputIssue[], input: object, bounds: Bounds): InputIssue[] {
  const wrong = new Set(issues.map(({ path }) => path));
  const others = Object.fromEntries(Object.entries(input).filter(([path]) => !wrong.has(path)));
  normalize(others, bounds);
  return [...issues, ...issuesOfFields(others, bounds)];
}

async function checkTheRest<Input>(pieces: Pieces<Input>, pause: () => Promise<void>): Promise<Input> {
  for (;;) {
    await pause();
    const piece = pieces.next();
    if (piece.done) return piece.value;
  }
}

/** Work that may stop after each of its pieces. */
type Pieces<Result> = Generator<void, Result, void>;

function* checkInPieces<Input extends object>(input: Input): Pieces<Input> {
  const issues = yield* issuesOf(input);
  if (issues.length > 0) throw new InvalidInput(issues);
  return input;
}

/** The problems of an input. Items are checked only if the sizes and characters of its own fields are right. */
function* issuesOf(input: object): Pieces<InputIssue[]> {
  const bounds = boundsOf(input.constructor as Class);
  const issues = issuesOfTexts(input, bounds);
  if (issues.length > 0) return withOthers(issues, input, bounds);
  normalize(input, bounds);
  const ofFields = issuesOfFields(input, bounds);
  return bounds.nested.size > 0 ? [...ofFields, ...(yield* issuesOfItems(input, bounds))] : ofFields;
}

/** Problems of sizes and characters. Of ids only the number is checked: a malformed id counts as unknown later. */
function issuesOfTexts(input: object, { marks, sizes }: Bounds): InputIssue[] {
  return Object.entries(input).flatMap(([path, value]) => {
    const size = sizes.get(path);
    const mark = marks.get(path);
    const isId = mark === "id" || mark === "memoryId";
    const problem = isId ? findSizeProblem(value, size, findNoProblem) : findTextProblem(value, size);
    return problem === undefined ? [] : [{ path, message: problem }];
  });
}

function normalize(input: object, { marks }: Bounds): void {
  for (const [path, value] of Object.entries(input)) {
    const normal = NORMALIZERS[marks.get(path) ?? "none"](value);
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
function* issuesOfItems(input: object, { nested }: Bounds): Pieces<InputIssue[]> {
  const issues: InputIssue[] = [];
  let length = 0;
  for (const [path, inputClass] of nested) {
    const given = (input as Readonly<Record<string, readonly object[]>>)[path] ?? [];
    const items = given.map((item) => Object.assign(new inputClass(), item));
    Object.assign(input, { [path]: items });
    for (const [index, item] of items.entries()) {
      if (issues.length >= LIMITS.refusal.issues) return issues;
      length += lengthOf(item);
      if (length > PIECE_LENGTH) {
        length = lengthOf(item);
        yield;
      }
      issues.push(...(yield* issuesOf(item)).map((issue) => ({ ...issue, path: `${path}.${index}.${issue.path}` })));
    }
  }
  return issues;
}

/** The length of all texts of an item, also in lists. */
const lengthOf = (item: object): number =>
  Object.values(item)
    .flat()
    .reduce<number>((sum, value) => sum + (typeof value === "string" ? value.length : 0), 0);

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

/** How texts are converted, by the mark of their field. */
const NORMALIZERS = {
  none: normalizeText,
  id: normalizeId,
  memoryId: normalizeMemoryId,
  asSent: (value: unknown) => value,
};

function normalizeText(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalizeText);
  return typeof value === "string" ? value.normalize("NFC") : value;
}

function normalizeId(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalizeId);
  if (typeof value !== "string") return value;
  return UUID.test(value) ? value.toLowerCase() : NIL_ID;
}

/** An id that no memory has, since a client's own id cannot be blank. */
const NO_NAME = "";

/** Converts a UUID, or a text that may be a client's own id, to NFC; any other text to an id that no memory has. */
function normalizeMemoryId(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalizeMemoryId);
  if (typeof value !== "string") return value;
  return findTextProblem(value, undefined) === undefined ? value.normalize("NFC") : NO_NAME;
}
