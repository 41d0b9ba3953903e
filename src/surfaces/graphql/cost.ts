import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  type OperationDefinitionNode,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isIntrospectionType,
  isObjectType,
} from "graphql";
import {
  type ComplexityEstimator,
  fieldExtensionsEstimator,
  getComplexity,
  simpleEstimator,
} from "graphql-query-complexity";
import { Failure, InvalidInput } from "../../operation/failure.js";
import { LIMITS } from "../../limits.js";

const { cost: COST_MAX, smallCost: SMALL, introspectionCost: INTROSPECTION_MAX, selections } = LIMITS.graphql;

export class QueryTooCostly extends Failure {
  readonly kind = "bad_request";
  override readonly reason = "query_too_costly";

  constructor(cost: number, max: number) {
    super(
      `This request could answer with ${cost.toLocaleString("en")} values; at most ${max.toLocaleString("en")} ` +
        "are served. Ask for fewer items (`limit`), fewer fields or fewer levels.",
    );
  }
}

/** One operation of a valid document, and the values given for its variables. */
export interface ParsedRequest {
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  readonly given: Readonly<Record<string, unknown>>;
}

/** How many values an answer may have: those of the graph, and those of introspection. */
interface Cost {
  readonly values: number;
  readonly introspection: number;
}

/**
 * @throws QueryTooCostly when the answer could exceed the limit.
 * @throws InvalidInput when the cost cannot be computed because an argument does not fit its type.
 */
export function assertAffordable(schema: GraphQLSchema, parsed: ParsedRequest): void {
  const { values, introspection } = readCost(schema, parsed);
  if (values > COST_MAX) throw new QueryTooCostly(values, COST_MAX);
  if (introspection > INTROSPECTION_MAX) throw new QueryTooCostly(introspection, INTROSPECTION_MAX);
}

/** How many values of an answer are introspection. */
export const introspectionIn = (schema: GraphQLSchema, parsed: ParsedRequest): number =>
  readCost(schema, parsed).introspection;

type Known = Pick<ParsedRequest, "document" | "operation"> & { readonly variables: ParsedRequest["given"] | undefined };

/** Whether an earlier request has shown that the answer has few values. */
export function isKnownSmall({ document, operation, variables: given = {} }: Known): boolean {
  const cost = costsOf.get(document)?.get(keyOf({ document, operation, given }));
  return cost !== undefined && cost.values + cost.introspection <= SMALL;
}

/** Cached costs of each document, by the variables that they depend on. */
const costsOf = new WeakMap<DocumentNode, Map<string, Cost>>();
const COSTS_MAX = 10;
const KEY_MAX_LENGTH = 200;
/** How much memory the cached costs of one document take at most, with their keys. */
export const COSTS_MAX_BYTES = COSTS_MAX * (KEY_MAX_LENGTH + 200);

function readCost(schema: GraphQLSchema, parsed: ParsedRequest): Cost {
  const costs = costsOf.get(parsed.document) ?? new Map<string, Cost>();
  costsOf.set(parsed.document, costs);
  const key = keyOf(parsed);
  const cost = costs.get(key) ?? costOf(schema, parsed);
  if (costs.size < COSTS_MAX && key.length <= KEY_MAX_LENGTH) costs.set(key, cost);
  return cost;
}

/**
 * Apart from the document, the cost depends only on numbers, booleans, and whether a value is missing, so that the default
 * applies: not on strings, lists or inputs.
 */
function keyOf({ operation, given }: ParsedRequest): string {
  const values = (operation.variableDefinitions ?? []).map(({ variable }) => {
    const value = given[variable.name.value];
    return ["number", "boolean", "undefined"].includes(typeof value) ? String(value) : "";
  });
  return `${operation.name?.value ?? ""} ${values.join()}`;
}

function costOf(schema: GraphQLSchema, { document, operation, given }: ParsedRequest): Cost {
  let introspection = 0;
  const introspectionEstimator: ComplexityEstimator = ({ type, field, childComplexity }) => {
    const items = listLengthsOf(schema).get(field.name) ?? 1;
    if (isIntrospectionType(type)) return 1 + items * childComplexity;
    if (!isIntrospectionType(getNamedType(field.type))) return undefined;
    introspection += childComplexity;
    return 1;
  };
  try {
    const values = getComplexity({
      schema,
      query: document,
      variables: { ...given },
      ...(operation.name ? { operationName: operation.name.value } : {}),
      estimators: [fieldExtensionsEstimator(), introspectionEstimator, simpleEstimator({ defaultComplexity: 1 })],
      // Never reached: Apollo has limited the selections before.
      maxQueryNodes: 2 * selections,
    });
    return { values, introspection: Math.ceil(introspection) };
  } catch (error) {
    // An argument does not fit its type, which can be known only with the values of variables.
    if (error instanceof GraphQLError) throw InvalidInput.at("", error.message);
    throw error;
  }
}

/** How many items the lists of introspection have: all types, and the average of fields per type and so on. */
function listLengthsOf(schema: GraphQLSchema): ReadonlyMap<string, number> {
  const known = listLengths.get(schema);
  if (known) return known;
  const types = Object.values(schema.getTypeMap());
  const fields = types.flatMap((type) => (isObjectType(type) ? Object.values(type.getFields()) : []));
  const inputFields = types.flatMap((type) => (isInputObjectType(type) ? Object.values(type.getFields()) : []));
  const enumValues = types.flatMap((type) => (isEnumType(type) ? type.getValues() : []));
  const lengths = new Map([
    ["types", types.length],
    ["fields", fields.length / types.length],
    ["inputFields", inputFields.length / types.length],
    ["enumValues", enumValues.length / types.length],
    ["args", fields.flatMap(({ args }) => args).length / fields.length],
    ["directives", schema.getDirectives().length],
  ]);
  listLengths.set(schema, lengths);
  return lengths;
}

const listLengths = new WeakMap<GraphQLSchema, ReadonlyMap<string, number>>();
