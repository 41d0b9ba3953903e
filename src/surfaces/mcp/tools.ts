import type { GraphQLInputObjectType, GraphQLSchema } from "graphql";
import { LIMITS } from "../../limits.js";
import type { Caller, Services } from "../../operation/context.js";
import { type Failure, type InputIssue, InvalidInput } from "../../operation/failure.js";
import { UUID } from "../../operation/id.js";
import { inputTypeOf } from "../../operation/input.js";
import { snakeCase } from "../../operation/names.js";
import type { Operation } from "../../operation/operation.js";
import { outputTypeOf } from "../../operation/output.js";
import { describeUnknown, rangeOf } from "../../operation/read-value.js";
import { scopesOf } from "../../operation/permission.js";
import { type ToolRoute, isLeftOut } from "../../operation/tool.js";
import type { RequestScope } from "../request-scope.js";
import { isObject } from "../json-object.js";
import { type JsonSchema, type PlainField, plainFieldsOf } from "../json-schema.js";
import { runnerOf } from "../run.js";
import { nameArguments, writtenByAgents } from "./argument-names.js";
import { isIdName, readArguments } from "./arguments.js";
import { fitObject, isCut, jsonBytes } from "./fit.js";
import { outputsOf } from "./outputs.js";
import type { Told } from "./told.js";
import {
  hasPath,
  inputSchema,
  leftOutDefaults,
  outputSchema,
  partField,
  partName,
  pathOf,
  pick,
  pickOutputs,
  plainAnswerSchema,
  toolInputType,
} from "./schemas.js";

/** What `tools/list` says of a tool. */
export interface ToolListing {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
  readonly annotations: object;
}

/** An operation as agents call it. */
export interface Tool {
  /** The operation's name. */
  readonly operation: string;
  readonly names: readonly string[];
  readonly listing: ToolListing;
  /** Whether a key with these scopes may call it; to others it does not exist. */
  isFor(caller: Pick<Caller, "scopes">): boolean;
  /** Runs the operation. `told` leaves out of hints what the agent cannot follow. */
  call(services: Services, scope: RequestScope, args: unknown, told: Told): Promise<ToolAnswer>;
  /** What else to say of a failure of such a call; undefined for most. */
  addTo(failure: Failure, scope: RequestScope, args: unknown): string | undefined;
}

/** An output of an operation in both forms of an answer. */
export interface ToolAnswer {
  readonly value: object;
  /** The same as JSON of at most `LIMITS.mcp.answerBytes`. */
  readonly text: string;
}

/** A tool for each operation that declares one. */
export const toolsOf = (operations: readonly Operation[], schema: GraphQLSchema): Tool[] =>
  operations.flatMap((operation) => (operation.mcp ? [toolOf(operation, operation.mcp, schema)] : []));

/**
 * How many tokens all tools take in the context of every agent that is connected, used or not: about four characters
 * make one.
 */
export const tokensOf = (tools: readonly Tool[]): number =>
  Math.ceil(
    tools
      .map(({ listing: { name, description, inputSchema } }) => name + description + JSON.stringify(inputSchema))
      .join("").length / 4,
  );

/** Everything that agents are told before they call anything, as JSON. */
export function toolsJson(tools: readonly Tool[], research: readonly Tool[], instructions: string): string {
  const [listed, onlyNamed] = [tools, research].map((some) => some.map(({ listing }) => listing));
  return `${JSON.stringify({ tokens: tokensOf(tools), instructions, tools: listed, research: onlyNamed }, null, 2)}\n`;
}

/** A form of inputs and answers that programs require, instead of the usual one. */
export interface ToolForm {
  /** The fields of an answer. */
  readonly schema: Readonly<Record<string, JsonSchema>>;
  /** Separates where a long text is to be continued from the operation's inputs; undefined where it begins. */
  takePart?(args: Output): PartTaken | undefined;
  /** Makes the answer, of at most `LIMITS.mcp.answerBytes`, of what the operation has answered, as plain JSON. */
  answerOf(output: Output, parts: { readonly from: number; urlOf(id: unknown): string }): object;
}

export function toolOf(operation: Operation, declared: ToolRoute, schema: GraphQLSchema, form?: ToolForm): Tool {
  const full = inputTypeOf(schema, operation);
  const names = Object.keys(full.getFields());
  const answer = plainAnswerSchema(outputTypeOf(schema, operation));
  assertKnown(declared, names, answer);
  const tool = { ...declared, leftOut: names.filter((name) => isLeftOut(operation, name)) };
  const inputType = toolInputType(full, tool);
  const defaults = leftOutDefaults(full, tool);
  const { inParts, most = {}, ifCut = operation.kind === "mutation" ? IF_CHANGED : undefined } = tool;
  const outputs = outputsOf(tool.outputs);
  const given = pickOutputs(answer, outputs);
  const fields = [...plainFieldsOf(inputType, operation.input), ...(inParts ? [partField(inParts)] : [])];
  const run = runnerOf(operation, schema, {
    door: "mcp",
    inputType,
    complete: (input) => issuesOfLimits(Object.assign(input, defaults), inputType, Object.keys(most)),
    selects: (field, within) =>
      (within === undefined ? outputs : outputs.of(snakeCase(within)))?.of(snakeCase(field)) !== undefined,
  });
  const isChange = operation.kind === "mutation" && names.includes("graph");
  const meantBy = (args: Output) => {
    const { known, unknown } = splitByName(nameArguments(writtenByAgents(args), fields), fields, tool);
    return { meant: readArguments(known, fields, { isReading: operation.kind === "query" }), unknown };
  };
  return {
    operation: operation.name,
    names: [tool.name, ...(tool.alsoNamed ?? [])],
    listing: {
      name: tool.name,
      title: titleOf(tool.name),
      description: tool.description,
      inputSchema: inputSchema(fields, tool),
      outputSchema: form
        ? { type: "object", properties: form.schema }
        : outputSchema(isChange ? { ...given, properties: { ...given.properties, ...GRAPH } } : given),
      annotations: annotationsOf(operation, tool),
    },
    isFor: ({ scopes }) => scopesOf(operation.permission).every((scope) => scopes.has(scope)),
    async call(services, scope, args, told) {
      scope.operations.push(operation.name);
      if (!isObject(args)) throw InvalidInput.at("arguments", "must be an object");
      const { meant, unknown } = meantBy(args);
      const part = form?.takePart?.(meant) ?? takePart(meant, inParts === undefined ? "" : partName(inParts));
      const { from, others } = part;
      const found = [...unknown, ...issuesOfCuts(meant), ...issuesOfWords(meant, fields), ...part.issues];
      const plain = await run(services, scope, { path: {}, query: {}, body: others }, { found });
      const picked = pick(plain, given) as Output;
      if (form) return toAnswer(form.answerOf(toPlainJson(picked), { from, urlOf: addressIn(services) }));
      // Which graph that is by default changes when a user joins or leaves a team.
      const output = isChange ? { ...picked, graph: graphOf(scope, others) } : picked;
      const hints = [...partHints(output, inParts, from), ...hintsOf(output, tool, { scope, args: others })];
      return answerOf(output, { inParts, ifCut, told }, { from, endsEarly: plain["truncated"] === true, hints });
    },
    addTo: (failure, scope, args) =>
      !form && failure.kind === "not_found" && failure.reason === undefined && isObject(args)
        ? adviceIfMissing(failure, scope, meantBy(args).meant)
        : undefined,
  };
}

/** In answers to changes: where it was stored, and so who reads it. */
const GRAPH: Readonly<Record<string, JsonSchema>> = { graph: { type: "string", enum: ["personal", "team"] } };

/** The graph on which a call with these arguments works. */
const graphOf = ({ caller }: RequestScope, { graph }: Output): "personal" | "team" =>
  graph !== "personal" && caller?.team ? "team" : "personal";

/** Where an answer to a change was cut. */
const IF_CHANGED = "Everything was stored; only this answer is cut. get_memory shows more.";

export type Output = Readonly<Record<string, unknown>>;

/** The address at which a person can read a memory: the playground with a query for it. */
const addressIn =
  ({ publicUrl }: Services) =>
  (id: unknown): string =>
    `${publicUrl()}/graphql?memory=${encodeURIComponent(String(id))}`;

interface CutTexts {
  readonly inParts: string | undefined;
  readonly ifCut: ToolRoute["ifCut"];
  readonly told: Told;
}

interface Extent {
  /** Where the part of the long text begins. */
  readonly from: number;
  /** Whether the operation itself says that there is more. */
  readonly endsEarly: boolean;
  /** What to try next where there is nothing, or what else to know of it. */
  readonly hints: readonly string[];
}

/**
 * Makes the answer, with its long text from the requested part on. Cuts it to `LIMITS.mcp.answerBytes`, and says what
 * to do if something is missing.
 */
function answerOf(output: Output, { inParts, ifCut, told }: CutTexts, { from, endsEarly, hints }: Extent): ToolAnswer {
  const path = inParts === undefined ? undefined : pathOf(inParts);
  const asked =
    path && from > 0 ? (mapTexts(output, path, (text) => text.slice(from).toWellFormed()) as Output) : output;
  const rest = typeof ifCut === "function" ? ifCut(output) : ifCut;
  const hintOf = (texts: readonly string[]) => {
    const text = told(texts.join(" "));
    return text !== "" && { hint: text };
  };
  const cut = { truncated: true, ...hintOf([hints, rest ?? []].flat()) };
  const hint = hintOf(hints);
  const whole = toAnswer({ ...asked, ...(endsEarly ? cut : hint) });
  if (Buffer.byteLength(whole.text) <= LIMITS.mcp.answerBytes) return whole;
  const part = path && { path, from };
  return toAnswer({ ...fitObject(toPlainJson(asked), LIMITS.mcp.answerBytes - jsonBytes(cut), part), ...cut });
}

/** The texts at the end of the path, which leads through lists to each of their items. */
function textsAt(value: unknown, path: readonly string[]): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => textsAt(item, path));
  const [name, ...rest] = path;
  if (name === undefined) return typeof value === "string" ? [value] : [];
  return isObject(value) ? textsAt(value[name], rest) : [];
}

/** A copy with other texts at the end of the path. */
function mapTexts(value: unknown, path: readonly string[], change: (text: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, path, change));
  const [name, ...rest] = path;
  if (name === undefined) return typeof value === "string" ? change(value) : value;
  if (!isObject(value) || value[name] === undefined) return value;
  return { ...value, [name]: mapTexts(value[name], rest, change) };
}

/** Whether nothing was found: the first list of an answer is empty; further lists only say more about it. */
const isEmpty = (output: Output): boolean => {
  const found = Object.values(output).find((field) => Array.isArray(field));
  return Array.isArray(found) && found.length === 0;
};

interface Asked {
  readonly scope: RequestScope;
  readonly args: Output;
}

function hintsOf(output: Output, { whenEmpty, narrowing = [], hintOf }: ToolRoute, { scope, args }: Asked): string[] {
  const own = [hintOf?.(output, args) ?? []].flat();
  if (own.length > 0 || !whenEmpty || !isEmpty(output)) return own;
  const given = narrowing.map(snakeCase).filter((name) => args[name] !== undefined);
  const here = graphOf(scope, args);
  return [
    ...(given.length > 0 ? [`Nothing with the given ${given.join(" and ")}: try without.`] : []),
    whenEmpty(args),
    // What is not in one graph may be in the other: an agent that has just joined a team looks in vain. A walk begins
    // at a memory of this graph, and no relationship leads to another.
    ...(scope.caller?.team && narrowing.length > 0 ? [`This looked in the ${here} graph: ${TRY[here]}.`] : []),
  ];
}

const OTHER = { team: "personal", personal: "team" } as const;
const TRY = { team: "try graph personal, too", personal: "try graph team, too" } as const;

/** What to do where no memory has an id. Agents shorten ids in their own notes. */
function adviceIfMissing(failure: Failure, scope: RequestScope, args: Output): string {
  const isWhole = Object.entries(args).every(([name, value]) => !isIdName(name) || UUID.test(String(value)));
  return `${isWhole ? "" : "Give the whole id, as answers have it. "}${whereMissing(failure, scope, args)}`;
}

/**
 * Says where a memory was looked for in vain. Which graph that is by default changes when a user joins or leaves a team.
 */
function whereMissing({ details }: Failure, scope: RequestScope, args: Output): string {
  if (!scope.caller?.team) return "This looked in the personal graph, the only one: you are in no team.";
  const here = graphOf(scope, args);
  // Of two ends, the other may well be in this graph.
  const next = details === undefined ? TRY[here] : `no relationship leads to the ${OTHER[here]} one`;
  return `This looked in the ${here} graph: ${next}.`;
}

/** Says that texts do not begin here, so that no agent takes an end for the whole, or nothing for an empty text. */
function partHints(output: Output, inParts: string | undefined, from: number): string[] {
  if (inParts === undefined || from === 0) return [];
  const path = pathOf(inParts);
  const longest = Math.max(0, ...textsAt(output, path).map(({ length }) => length));
  const name = path.at(-1);
  if (from < longest) return [`This is the ${name} from character ${from} of ${longest} on, not the whole.`];
  return [`The ${name} has only ${longest} characters: leave out ${partName(inParts)} to read it from the beginning.`];
}

/** Converts times to text, since `fitObject` cuts plain JSON. */
const toPlainJson = (value: Output): Output => JSON.parse(JSON.stringify(value)) as Output;

const toAnswer = (value: object): ToolAnswer => ({ value, text: JSON.stringify(value) });

/**
 * Separates the known arguments, and names all unknown ones in one issue. With the known ones after each of them, a
 * refusal would be longer than the description of the tool.
 */
function splitByName(
  args: Output,
  fields: readonly PlainField[],
  { instead = {} }: Pick<ToolRoute, "instead">,
): { known: Output; unknown: readonly InputIssue[] } {
  const names = fields.map(({ name }) => name);
  const unknown = Object.keys(args).filter((name) => !names.includes(name));
  if (unknown.length === 0) return { known: args, unknown: [] };
  // Not by the entries of all arguments, which may be thousands.
  const known = names.filter((name) => Object.hasOwn(args, name)).map((name) => [name, args[name]] as const);
  return {
    known: Object.fromEntries(known),
    unknown: [
      {
        path: unknown.join(", "),
        message: [
          describeUnknown(names, unknown.length),
          ...Object.keys(instead)
            .filter((name) => unknown.includes(name))
            .map((name) => `for ${name} give ${instead[name]}`),
        ].join("; "),
      },
    ],
  };
}

interface PartTaken {
  readonly from: number;
  readonly others: Output;
  readonly issues: readonly InputIssue[];
}

/** Separates the door's own input, where the part begins, from the operation's inputs. */
function takePart(args: Output, name: string): PartTaken {
  const { [name]: from = 0, ...others } = args;
  if (Number.isSafeInteger(from) && Number(from) >= 0) return { from: Number(from), others, issues: [] };
  return { from: 0, others, issues: [{ path: name, message: "must be a whole number, at least 0" }] };
}

/** Finds texts that were cut: an agent that writes back what it has read must not replace the whole by a part. */
const issuesOfCuts = (args: Output): InputIssue[] =>
  Object.entries(args)
    .filter(([, value]) => isCut(value))
    .map(([path]) => ({
      path,
      message:
        "contains the note that an answer was cut there: read the rest first, and send the whole, or leave it out",
    }));

/** Finds words where a number is to be, as `importance: high`, and names its bounds: the next guess may be 9. */
const issuesOfWords = (args: Output, fields: readonly PlainField[]): InputIssue[] =>
  fields.flatMap(({ name, schema: { type, minimum, maximum } }) =>
    type === "number" && maximum !== undefined && typeof args[name] === "string"
      ? [{ path: name, message: `must be a number from ${String(minimum)} to ${String(maximum)}` }]
      : [],
  );

/** Checks numbers whose maximum is smaller here: the operation's own refusal would name the maximum of other doors. */
function issuesOfLimits(input: object, type: GraphQLInputObjectType, names: readonly string[]): InputIssue[] {
  const values = input as Readonly<Record<string, unknown>>;
  return names.flatMap((name) => {
    const field = type.getFields()[name];
    const { min = -Infinity, max = Infinity, message = "" } = (field && rangeOf(field)) ?? {};
    const isBeyond = Number(values[name]) < min || Number(values[name]) > max;
    return isBeyond ? [{ path: snakeCase(name), message }] : [];
  });
}

/** All that clients and directories of connectors ask for, since some take what is missing for the worst. */
function annotationsOf({ kind }: Operation, { name, isDestructive = false, isIdempotent = false }: ToolRoute): object {
  const readOnlyHint = kind === "query";
  return {
    title: titleOf(name),
    readOnlyHint,
    destructiveHint: isDestructive,
    idempotentHint: readOnlyHint || isIdempotent,
    // Memories are all that a tool can reach: no tool leads to the open world.
    openWorldHint: false,
  };
}

/** "Search memories" for `search_memories`, for people who are asked whether to allow it. */
const titleOf = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");

function assertKnown(tool: ToolRoute, known: readonly string[], answer: JsonSchema): void {
  const { name, leftOut = [], most = {}, usual = {}, inputs = {}, narrowing = [], outputs = [], inParts } = tool;
  const unknown = [
    ...[...leftOut, ...narrowing, ...Object.keys({ ...most, ...usual, ...inputs })].filter(
      (input) => !known.includes(input),
    ),
    ...[...outputs, ...(inParts === undefined ? [] : [inParts])].filter((path) => !hasPath(answer, path)),
  ];
  if (unknown.length > 0) throw new Error(`The tool ${name} names fields that do not exist: ${unknown.join(", ")}.`);
}
