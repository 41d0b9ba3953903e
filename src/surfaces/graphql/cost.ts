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

const { cost: COST_MAX, introspectionCost: INTROSPECTION_MAX, selections } = LIMITS.graphql;

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

/** One operation of a checked document, with the given variables, checked by `assertVariablesFit`. */
export interface Asked {
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  readonly given: Readonly<Record<string, unknown>>;
}

/** How many values an answer is expected to have: those of the graph, and those that describe the schema. */
interface Cost {
  readonly values: number;
  readonly introspection: number;
}

/**
 * @throws QueryTooCostly when the answer could be larger than is served.
 * @throws InvalidInput when that cannot be told.
 */
export function assertAffordable(schema: GraphQLSchema, asked: Asked): void {
  const { values, introspection } = recallCost(schema, asked);
  if (values > COST_MAX) throw new QueryTooCostly(values, COST_MAX);
  if (introspection > INTROSPECTION_MAX) throw new QueryTooCostly(introspection, INTROSPECTION_MAX);
}

/** Costs of documents that are remembered, by what else they depend on. */
const costsOf = new WeakMap<DocumentNode, Map<string, Cost>>();
const COSTS_MAX = 10;
const KEY_MAX_LENGTH = 200;
/** What the costs of one document take at most, with their keys. */
export const COSTS_MAX_BYTES = COSTS_MAX * (KEY_MAX_LENGTH + 200);

function recallCost(schema: GraphQLSchema, asked: Asked): Cost {
  const costs = costsOf.get(asked.document) ?? new Map<string, Cost>();
  costsOf.set(asked.document, costs);
  const key = keyOf(asked);
  const cost = costs.get(key) ?? costOf(schema, asked);
  if (costs.size < COSTS_MAX && key.length <= KEY_MAX_LENGTH) costs.set(key, cost);
  return cost;
}

/** Beside its document the cost depends on limits and on conditions: on no text, list or input. */
function keyOf({ operation, given }: Asked): string {
  const values = (operation.variableDefinitions ?? []).map(({ variable }) => {
    const value = given[variable.name.value];
    // Null is another value than none at all, which leaves the default.
    return ["number", "boolean", "undefined"].includes(typeof value) || value === null ? String(value) : "";
  });
  return `${operation.name?.value ?? ""} ${values.join()}`;
}

function costOf(schema: GraphQLSchema, { document, operation, given }: Asked): Cost {
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
      // Never reached: Apollo has counted the selections by then.
      maxQueryNodes: 2 * selections,
    });
    return { values, introspection: Math.ceil(introspection) };
  } catch (error) {
    // What an argument is given does not fit its type, which only its variables could tell.
    if (error instanceof GraphQLError) throw new InvalidInput([{ path: "", message: error.message }]);
    throw error;
  }
}

/** How many items the lists have in which a schema describes itself: all of its types, and on average per type or field. */
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
