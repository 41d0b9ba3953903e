import {
  type ExecutionResult,
  GraphQLError,
  type GraphQLResolveInfo,
  OperationTypeNode,
  TypeNameMetaFieldDef,
  getArgumentValues,
  locatedError,
  responsePathAsArray,
} from "graphql";
import { AnswerTooLarge } from "../../operation/answer-budget.js";
import type { RequestContext } from "./context.js";
import type { Plan, PlannedField, Shape } from "./plan.js";
import { countPlain } from "./schema.js";

type Path = GraphQLResolveInfo["path"];
type Source = Readonly<Record<string, unknown>> | undefined;
type Values = Record<string, unknown>;

/** One execution of a plan. */
interface Run {
  readonly plan: Plan;
  readonly context: RequestContext;
  readonly variables: Values;
  readonly errors: GraphQLError[];
  /** The places that are null because of an error: further errors below them do not count. */
  readonly nulled: Set<Path>;
}

/**
 * Executes a plan, with the same result as graphql-js's `execute`: function by function its algorithm, without what the
 * plan knows already. A field without a resolver gets no arguments and no `info`; a leaf without one gets a path only
 * for an error.
 */
export function executePlan(
  plan: Plan,
  context: RequestContext,
  variables: Values = {},
): ExecutionResult | Promise<ExecutionResult> {
  const { operation, fields } = plan;
  const errors: GraphQLError[] = [];
  const run = { plan, context, variables, errors, nulled: new Set<Path>() };
  const answer = (data: Values | null) => (errors.length === 0 ? { data } : { errors, data });
  const answerError = (error: unknown) => {
    errors.push(error as GraphQLError);
    return answer(null);
  };
  try {
    const isChange = operation.operation === OperationTypeNode.MUTATION;
    const data = isChange ? executeInOrder(run, fields) : executeFields(run, fields, undefined, undefined);
    return data instanceof Promise ? data.then(answer, answerError) : answer(data);
  } catch (error) {
    return answerError(error);
  }
}

/** Each field begins when the one before it has ended. */
function executeInOrder(run: Run, fields: readonly PlannedField[]): Values | Promise<Values> {
  const begin = (values: Values, field: PlannedField): Values | Promise<Values> => {
    const put = (value: unknown) => Object.assign(values, { [field.key]: value });
    const value = executeField(run, field, undefined, undefined);
    return value instanceof Promise ? value.then(put) : put(value);
  };
  return fields.reduce<Values | Promise<Values>>(
    (before, field) =>
      before instanceof Promise ? before.then((values) => begin(values, field)) : begin(before, field),
    {},
  );
}

function executeFields(
  run: Run,
  fields: readonly PlannedField[],
  source: Source,
  path: Path | undefined,
): Values | Promise<Values> {
  const values: Values = {};
  let waiting: string[] | undefined;
  try {
    for (const field of fields) {
      const value = executeField(run, field, source, path);
      values[field.key] = value;
      if (value instanceof Promise) (waiting ??= []).push(field.key);
    }
  } catch (error) {
    if (!waiting) throw error;
    // The other fields may fail, too, while nobody waits for them.
    return settle(values, waiting).finally(() => {
      throw error;
    });
  }
  return waiting ? settle(values, waiting) : values;
}

const settle = (values: Values, waiting: readonly string[]): Promise<Values> =>
  Promise.all(waiting.map((key) => values[key])).then((settled) => {
    for (const [index, key] of waiting.entries()) values[key] = settled[index];
    return values;
  });

function executeField(run: Run, field: PlannedField, source: Source, above: Path | undefined): unknown {
  const { definition, shape } = field;
  if (definition === TypeNameMetaFieldDef) return field.parent.name;
  const path = definition.resolve || !shape.leaf ? pathOf(field, above) : undefined;
  try {
    const value =
      definition.resolve && path
        ? resolve(run, field, source, path)
        : countPlain(source?.[definition.name], shape.leaf ?? shape.item?.leaf, run.context);
    const completed =
      value instanceof Promise
        ? value.then((settled: unknown) => complete(run, field, shape, path, settled))
        : complete(run, field, shape, path, value);
    if (!(completed instanceof Promise)) return completed;
    return completed.catch((error: unknown) => fail(run, field, shape, path ?? pathOf(field, above), error));
  } catch (error) {
    return fail(run, field, shape, path ?? pathOf(field, above), error);
  }
}

const pathOf = ({ key, parent }: PlannedField, prev: Path | undefined): Path => ({ prev, key, typename: parent.name });

const NO_ARGUMENTS = Object.freeze({});

function resolve({ plan, context, variables }: Run, field: PlannedField, source: Source, path: Path): unknown {
  const { definition, nodes, parent } = field;
  const given = definition.args.length === 0 ? NO_ARGUMENTS : getArgumentValues(definition, nodes[0], variables);
  const info: GraphQLResolveInfo = {
    fieldName: definition.name,
    fieldNodes: nodes,
    returnType: definition.type,
    parentType: parent,
    path,
    schema: plan.schema,
    fragments: plan.fragments,
    rootValue: undefined,
    operation: plan.operation,
    variableValues: variables,
  };
  return definition.resolve?.(source, given, context, info);
}

/** Completes a value by its shape. */
function complete(run: Run, field: PlannedField, shape: Shape, path: Path | undefined, value: unknown): unknown {
  if (value instanceof Error) throw value;
  if (value === null || value === undefined) {
    if (shape.isNullable) return null;
    throw new Error(`Cannot return null for non-nullable field ${field.parent.name}.${field.definition.name}.`);
  }
  if (shape.fields) return executeFields(run, shape.fields, value as Source, path);
  if (shape.item) return completeList(run, field, shape.item, path, value);
  const written: unknown = shape.leaf?.serialize(value);
  if (written === null || written === undefined)
    throw new Error(`No ${String(shape.leaf)} can be written for a value.`);
  return written;
}

function completeList(run: Run, field: PlannedField, item: Shape, list: Path | undefined, values: unknown): unknown {
  if (typeof values !== "object" || values === null || !(Symbol.iterator in values)) {
    const name = `${field.parent.name}.${field.definition.name}`;
    throw new GraphQLError(`Expected Iterable, but did not find one for field "${name}".`);
  }
  let waits = false;
  const items = Array.from(values as Iterable<unknown>, (value, key) => {
    const path = { prev: list, key, typename: undefined };
    try {
      const completed =
        value instanceof Promise
          ? value.then((settled: unknown) => complete(run, field, item, path, settled))
          : complete(run, field, item, path, value);
      if (!(completed instanceof Promise)) return completed;
      waits = true;
      return completed.catch((error: unknown) => fail(run, field, item, path, error));
    } catch (error) {
      return fail(run, field, item, path, error);
    }
  });
  return waits ? Promise.all(items) : items;
}

/** Notes the error of a place that may be null, and returns null. @throws the error, with its location, elsewhere. */
function fail(run: Run, { nodes }: PlannedField, { isNullable }: Shape, path: Path, error: unknown): null {
  const { errors } = run.context;
  const isFull = error instanceof AnswerTooLarge || (error !== undefined && error === errors.noRoom);
  const cause = isFull ? errors.locate(error, { fieldNodes: nodes, path }) : error;
  const located = locatedError(cause, nodes, responsePathAsArray(path));
  if (!isNullable) throw located;
  for (let at: Path | undefined = path; at; at = at.prev) if (run.nulled.has(at)) return null;
  run.nulled.add(path);
  run.errors.push(located);
  return null;
}
