import { hasTooManyMarks } from "../combining-marks.js";
import { LIMITS } from "../limits.js";
import { countCodePoints } from "./bounds.js";
import { type Bounds, type Class, type Size, UNDECLARED, boundsOf, itemsProblem } from "./class-bounds.js";
import { type InputIssue, InvalidInput } from "./failure.js";
import { NIL_ID, UUID } from "./id.js";

/** How many UTF-16 units are checked at once: some milliseconds of work if all are combining marks. */
const PIECE_LENGTH = 50_000;

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
  return first.done ? first.value : pause().then(() => completeInTurns(pieces, pause));
}

/**
 * Finds the problems of the fields that are in an input, which may be incomplete, over several turns of the event loop.
 * Items of nested lists are not checked. Converts the texts.
 */
export async function issuesOfSome(input: object, pause: () => Promise<void>): Promise<InputIssue[]> {
  const { ofTexts, ofBounds } = await completeInTurns(issuesOfOwn(input, new Piece()), pause);
  return [...ofTexts, ...ofBounds];
}

async function completeInTurns<Result>(pieces: Pieces<Result>, pause: () => Promise<void>): Promise<Result> {
  for (;;) {
    const piece = pieces.next();
    if (piece.done) return piece.value;
    await pause();
  }
}

/** Work that may stop after each of its pieces. */
type Pieces<Result> = Generator<void, Result, void>;

/** The texts that are checked at once. */
class Piece {
  #length = 0;

  /** Whether this piece has no room for a text, which then begins the next one. */
  isFull(text: string): boolean {
    this.#length += text.length;
    const isFull = this.#length > PIECE_LENGTH;
    if (isFull) this.#length = text.length;
    return isFull;
  }
}

function* checkInPieces<Input extends object>(input: Input): Pieces<Input> {
  const issues = yield* issuesOf(input, new Piece());
  if (issues.length > 0) throw new InvalidInput(issues);
  return input;
}

/** The problems of an input. Items are checked only if the sizes and characters of its own fields are right. */
function* issuesOf(input: object, piece: Piece): Pieces<InputIssue[]> {
  const { nested } = boundsOf(input.constructor as Class);
  const { ofTexts, ofBounds } = yield* issuesOfOwn(input, piece);
  const ofItems = ofTexts.length === 0 && nested.size > 0 ? yield* issuesOfItems(input, nested, piece) : [];
  return [...ofTexts, ...ofBounds, ...ofItems];
}

/** The problems of an input's own fields. */
interface OwnIssues {
  /** Of sizes and characters. Of ids only the number is checked: a malformed id counts as unknown later. */
  readonly ofTexts: readonly InputIssue[];
  /** Of the fields without such a problem. */
  readonly ofBounds: readonly InputIssue[];
}

function* issuesOfOwn(input: object, piece: Piece): Pieces<OwnIssues> {
  const bounds = boundsOf(input.constructor as Class);
  const ofTexts: InputIssue[] = [];
  for (const [path, value] of Object.entries(input) as Array<[string, unknown]>) {
    if (typeof value !== "string" && !Array.isArray(value)) continue;
    const { problem, converted } = yield* convert(value, ruleOf(path, bounds), piece);
    if (problem !== undefined) ofTexts.push({ path, message: problem });
    else if (converted !== value) Object.assign(input, { [path]: converted });
  }
  const wrong = new Set(ofTexts.map(({ path }) => path));
  return { ofTexts, ofBounds: issuesOfBounds(input, bounds, wrong) };
}

/** How the texts of a field are checked and converted. */
interface Rule {
  readonly size: Size | undefined;
  readonly convertText: (text: string) => string;
  readonly isId: boolean;
}

function ruleOf(path: string, { marks, sizes }: Bounds): Rule {
  const mark = marks.get(path) ?? "none";
  return { size: sizes.get(path), convertText: CONVERTERS[mark], isId: mark === "id" || mark === "memoryId" };
}

/** Converts a text, or the texts of a list, unless there is a problem. */
function* convert(
  value: string | readonly unknown[],
  { size, convertText, isId }: Rule,
  piece: Piece,
): Pieces<{ readonly problem?: string; readonly converted?: unknown }> {
  const bound = size ?? UNDECLARED;
  const tooMany = typeof value === "string" ? undefined : itemsProblem(value.length, size);
  if (tooMany !== undefined) return { problem: tooMany };
  const converted: unknown[] = [];
  for (const item of [value].flat()) {
    const isText = typeof item === "string";
    if (isText && piece.isFull(item)) yield;
    const problem = isText && !isId ? findTextProblem(item, bound) : undefined;
    if (problem !== undefined) return { problem: withLength(problem, value, bound) };
    converted.push(isText ? convertText(item) : item);
  }
  return { converted: typeof value === "string" ? converted[0] : converted };
}

function issuesOfBounds(input: object, { fields, sizes }: Bounds, wrong: ReadonlySet<string>): InputIssue[] {
  const given = input as Readonly<Record<string, unknown>>;
  return fields.flatMap(({ path, mayBeNull, checks }) => {
    const value = given[path];
    if (value === undefined || (value === null && mayBeNull) || wrong.has(path)) return [];
    const broken = checks.find(({ holds }) => !holds(value));
    if (!broken) return [];
    const { message } = broken;
    return [{ path, message: value === null ? "must not be null" : withLength(message, value, sizes.get(path)) }];
  });
}

/** Adds how long a text is that is too long: agents cannot count, and would send it once more, hardly shorter. */
function withLength(problem: string, value: unknown, size: Size | undefined): string {
  if (typeof value !== "string" || value === "" || problem !== size?.message) return problem;
  return `${problem}, but has ${countCodePoints(value).toLocaleString("en")}`;
}

/** Replaces each item of the nested lists by an instance of its class, and checks it. */
function* issuesOfItems(input: object, nested: Bounds["nested"], piece: Piece): Pieces<InputIssue[]> {
  const issues: InputIssue[] = [];
  for (const [path, inputClass] of nested) {
    const given = (input as Readonly<Record<string, readonly object[]>>)[path] ?? [];
    const items = given.map((item) => Object.assign(new inputClass(), item));
    Object.assign(input, { [path]: items });
    for (const [index, item] of items.entries()) {
      if (issues.length >= LIMITS.refusal.issues) return issues;
      const ofItem = yield* issuesOf(item, piece);
      issues.push(...ofItem.map((issue) => ({ ...issue, path: `${path}.${index}.${issue.path}` })));
    }
  }
  return issues;
}

/**
 * Says why a text is refused. PostgreSQL cannot store NUL, and a lone surrogate has no UTF-8: both are refused, not
 * replaced.
 */
function findTextProblem(text: string, { units, message }: Size): string | undefined {
  if (text.length > units) return message;
  if (text.includes("\0")) return "must not contain the NUL character";
  if (!text.isWellFormed()) return "must be well-formed Unicode";
  if (hasTooManyMarks(text)) return `must not have more than ${LIMITS.text.combiningMarks} combining marks in a row`;
  return undefined;
}

/** An id that no memory has, since a client's own id cannot be blank. */
const NO_NAME = "";

/** How texts are converted, by the mark of their field. */
const CONVERTERS = {
  none: (text: string) => text.normalize("NFC"),
  asSent: (text: string) => text,
  id: (text: string) => (UUID.test(text) ? text.toLowerCase() : NIL_ID),
  /** A UUID, or a text that may be a client's own id; any other text becomes an id that no memory has. */
  memoryId: (text: string) => (findTextProblem(text, UNDECLARED) === undefined ? text.normalize("NFC") : NO_NAME),
};
