import { maxAliasesRule } from "@escape.tech/graphql-armor-max-aliases";
import { maxDepthRule } from "@escape.tech/graphql-armor-max-depth";
import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  type ValidationContext,
  type ValidationRule,
} from "graphql";
import { fieldExtensionsEstimator, getComplexity, simpleEstimator } from "graphql-query-complexity";
import { Failure } from "../../operation/failure.js";

/** What a document may be made of; the introspection query of explorers has about 400 tokens. */
export const TOKENS_MAX = 1_000;
/** How deep fields may be nested: a page of memories and three relationships onwards. Introspection goes deeper. */
const DEPTH_MAX = 10;
/** How many fields of one document may be renamed. */
const ALIASES_MAX = 15;
/** How many values an answer may be expected to have; lists count by their limit. */
const COST_MAX = 20_000;

/** Told as GraphQL's own rules tell, beside whatever else is wrong, instead of thrown out of the validation. */
const REPORTED = {
  propagateOnRejection: false,
  onReject: [
    (context: ValidationContext | null, { message }: GraphQLError) =>
      context?.reportError(new GraphQLError(message.replace("Syntax Error: ", ""))),
  ],
};

/** Rules that a document must keep beside GraphQL's own; a document is checked once and then remembered. */
export const documentRules: ValidationRule[] = [
  maxDepthRule({ n: DEPTH_MAX, flattenFragments: true, ...REPORTED }),
  maxAliasesRule({ n: ALIASES_MAX, ...REPORTED }),
];

class QueryTooCostly extends Failure {
  readonly kind = "bad_request";
  override readonly reason = "query_too_costly";

  constructor(cost: number) {
    super(
      `This request could answer with ${cost.toLocaleString("en")} values; at most ${COST_MAX.toLocaleString("en")} ` +
        "are served. Ask for fewer items (`limit`), fewer fields or fewer levels.",
    );
  }
}

interface Asked {
  readonly document: DocumentNode;
  readonly variables: Record<string, unknown> | undefined;
  readonly operationName: string | undefined;
}

/** @throws QueryTooCostly when the answer could be larger than is served. */
export function assertAffordable(schema: GraphQLSchema, { document, variables, operationName }: Asked): void {
  const cost = knownCostOf(schema, { document, variables, operationName });
  if (cost > COST_MAX) throw new QueryTooCostly(cost);
}

/** Costs of documents that are remembered, by what else they depend on. */
const knownCosts = new WeakMap<DocumentNode, Map<string, number>>();
const KNOWN_COSTS_MAX = 100;

function knownCostOf(schema: GraphQLSchema, asked: Asked): number {
  const known = knownCosts.get(asked.document) ?? new Map<string, number>();
  knownCosts.set(asked.document, known);
  const key = costKeyOf(asked);
  const cost = known.get(key) ?? costOf(schema, asked);
  // 0 says that it could not be found out.
  if (cost > 0 && known.size < KNOWN_COSTS_MAX) known.set(key, cost);
  return cost;
}

/** Beside its document the cost depends on limits, which are numbers, and on conditions: on no text and no list. */
function costKeyOf({ variables = {}, operationName = "" }: Asked): string {
  const values = Object.entries(variables).filter(([, value]) => typeof value !== "string" && !Array.isArray(value));
  return `${operationName} ${values.length === 0 ? "" : JSON.stringify(values.map(shallow))}`;
}

/** The input of a change has fields that cost nothing. */
const shallow = ([name, value]: [string, unknown]): [string, unknown] => [
  name,
  typeof value === "object" && value !== null ? "" : value,
];

function costOf(schema: GraphQLSchema, { document, variables, operationName }: Asked): number {
  try {
    return getComplexity({
      schema,
      query: document,
      ...(variables ? { variables } : {}),
      ...(operationName === undefined ? {} : { operationName }),
      estimators: [fieldExtensionsEstimator(), simpleEstimator({ defaultComplexity: 1 })],
    });
  } catch {
    // Variables that do not fit: the execution, which comes next, refuses them and says how.
    return 0;
  }
}
