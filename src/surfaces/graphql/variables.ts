import {
  type GraphQLInputType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  coerceInputValue,
  isInputObjectType,
  isNonNullType,
  getNullableType,
  typeFromAST,
} from "graphql";
import { shorten } from "../../operation/failure.js";
import { Issues } from "../../operation/input.js";
import { LIMITS } from "../../limits.js";

/**
 * Reads the values of an operation's variables before anything is estimated or run: graphql-js would collect errors
 * without end, each of which repeats what was sent.
 * @throws InvalidInput naming the first that are wrong.
 */
export function assertVariablesFit(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: Pick<OperationDefinitionNode, "variableDefinitions">,
  given: Readonly<Record<string, unknown>> = {},
): void {
  const issues = new Issues(LIMITS.graphql.coercionErrors);
  for (const { variable, type: typeNode, defaultValue } of variableDefinitions) {
    const name = variable.name.value;
    // The document is valid, so the type exists and can be an input.
    const type = typeFromAST(schema, typeNode) as GraphQLInputType;
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (value === undefined && defaultValue) continue;
    if (value == null && isNonNullType(type)) issues.add(name, `is required, of the type ${String(type)}`);
    else if (value !== undefined) {
      coerceInputValue(value, type, (path, _value, { message }) => {
        issues.add(pathOf(name, type, path), shorten(message, LIMITS.refusal.issueLength));
      });
    }
  }
  issues.assertNone();
}

/** Fields of an input go by their own names, whatever the client calls the variable that holds them. */
const pathOf = (name: string, type: GraphQLInputType, path: ReadonlyArray<string | number>): string =>
  (isInputObjectType(getNullableType(type)) && path.length > 0 ? path : [name, ...path]).join(".");
