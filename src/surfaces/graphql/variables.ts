import {
  type ASTNode,
  type ASTVisitor,
  type DocumentNode,
  type GraphQLInputType,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  TypeInfo,
  type VariableNode,
  getNamedType,
  isInputObjectType,
  isNonNullType,
  separateOperations,
  typeFromAST,
  valueFromASTUntyped,
  visit,
  visitWithTypeInfo,
} from "graphql";
import { InvalidInput } from "../../operation/failure.js";
import { GRAPHQL_WORDS, type InputField, Issues, beyondProblem, readValue } from "../../operation/read-value.js";
import { jsonUnits, unitsOf } from "../../operation/pieces.js";
import { LIMITS } from "../../limits.js";
import type { ParsedRequest } from "./cost.js";

/**
 * Limits how much an operation's input may grow by variables that are used several times, so that it is hardly larger
 * than the body. Of 68 kB, `memories: [$m, $m, …]` made 450 memories of 66 kB: reading them took 2 s before they were
 * charged, up to 0.6 s of it in one turn of the event loop.
 * @throws InvalidInput when the repetitions come to more than the limit.
 */
export function assertFewRepeated({ document, operation, given }: ParsedRequest): void {
  let room: number = LIMITS.graphql.repeatedUnits;
  for (const { variable, defaultValue } of operation.variableDefinitions ?? []) {
    const name = variable.name.value;
    const again = (usesIn(document, operation).get(name) ?? 0) - 1;
    if (again < 1) continue;
    const value = Object.hasOwn(given, name) ? given[name] : defaultValue && valueFromASTUntyped(defaultValue);
    const estimate = again * unitsOf(value, room);
    room -= estimate > room ? again * jsonUnits(value) : estimate;
    if (room >= 0) continue;
    throw InvalidInput.at(
      "",
      `Variables that are used several times may come to ${LIMITS.graphql.repeatedUnits / 1_048_576} MiB more than they ` +
        `are, with ${LIMITS.answer.nestedBytes} bytes more for each object and list. Use each large one once.`,
    );
  }
}

/** How often an operation uses each variable. Counted once for each operation. */
function usesIn(document: DocumentNode, operation: OperationDefinitionNode): ReadonlyMap<string, number> {
  const known = usesByOperation.get(operation);
  if (known) return known;
  const uses = new Map<string, number>();
  visit(partOf(document, operation), {
    VariableDefinition: () => false,
    Variable: ({ name: { value } }) => void uses.set(value, (uses.get(value) ?? 0) + 1),
  });
  usesByOperation.set(operation, uses);
  return uses;
}

const usesByOperation = new WeakMap<OperationDefinitionNode, ReadonlyMap<string, number>>();

/**
 * Checks the values of an operation's variables before anything is estimated or run: graphql-js would collect errors
 * without limit, each of which repeats what was sent.
 * @throws InvalidInput naming the first fields that are wrong, by their names in the schema.
 */
export function assertVariablesFit(schema: GraphQLSchema, { document, operation, given }: ParsedRequest): void {
  const issues = new Issues(LIMITS.graphql.coercionErrors);
  const absent: string[] = [];
  try {
    for (const { variable, type: typeNode, defaultValue } of operation.variableDefinitions ?? []) {
      const name = variable.name.value;
      // The document is valid, so the type exists and can be an input.
      const type = typeFromAST(schema, typeNode) as GraphQLInputType;
      const value = Object.hasOwn(given, name) ? given[name] : undefined;
      if (value === undefined && (defaultValue || !isNonNullType(type))) continue;
      const problem = beyondProblem({ type, extensions: {} }, value);
      if (problem) issues.add([name], problem);
      else readValue(type, value, [name], { words: GRAPHQL_WORDS, issues });
      if (value === null && !isNonNullType(type)) absent.push(name);
    }
    if (absent.length > 0) {
      const names = neededIn(schema, document, operation);
      for (const name of absent) if (names.has(name)) issues.add([name], "must not be null");
    }
    issues.assertNone();
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    throw nameFields(error, schema, { document: partOf(document, operation), given });
  }
}

/**
 * The variables of an operation that certainly stand where null is refused. They may be null elsewhere, or the field has
 * a default: then graphql-js would not say which field must not be null. Computed once for each operation.
 */
function neededIn(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): ReadonlySet<string> {
  const known = neededByOperation.get(operation);
  if (known) return known;
  const names = new Set<string>();
  const types = new TypeInfo(schema);
  const collect = ({ name }: VariableNode): undefined => {
    if (isNonNullType(types.getInputType())) names.add(name.value);
  };
  const certain = visit(document, { Field: dropIfChosen, InlineFragment: dropIfChosen, FragmentSpread: dropIfChosen });
  visit(partOf(certain, operation), visitWithTypeInfo(types, { Variable: collect }));
  neededByOperation.set(operation, names);
  return names;
}

/** An operation with the fragments that it uses. */
const partOf = (document: DocumentNode, { name }: OperationDefinitionNode): DocumentNode =>
  separateOperations(document)[name?.value ?? ""] ?? document;

const neededByOperation = new WeakMap<OperationDefinitionNode, ReadonlySet<string>>();

/** Removes what `@skip` or `@include` may leave out: its variables may never be read. */
const dropIfChosen = ({ directives }: SelectionNode): null | undefined => (directives?.length ? null : undefined);

/**
 * Replaces the variable's name, which only the client knows, by the name of the field that the variable is used for, and
 * the bounds of the variable's type by those of the field.
 */
function nameFields(
  { details }: InvalidInput,
  schema: GraphQLSchema,
  { document, given }: Omit<ParsedRequest, "operation">,
): InvalidInput {
  const uses = new Map<string, Use>();
  const types = new TypeInfo(schema);
  const note: ASTVisitor = {
    Variable({ name }, _key, parent, _path, ancestors) {
      const place = placeOf([...ancestors, parent]);
      if (place.length > 0 && !uses.has(name.value)) uses.set(name.value, { place, field: fieldAt(types, parent) });
    },
  };
  visit(document, visitWithTypeInfo(types, note));
  return new InvalidInput(
    details.map(({ path, message }) => {
      const [variable = "", ...within] = path.split(".");
      const { place = [variable], field } = uses.get(variable) ?? {};
      const problem = field && within.length === 0 ? beyondProblem(field, given[variable]) : undefined;
      return { path: nameField([...place, ...within]), message: problem ?? message };
    }),
  );
}

/** Where a variable is used. */
interface Use {
  readonly place: readonly string[];
  /** The field whose whole value it is. */
  readonly field: InputField | undefined;
}

/** The argument or the field of an object whose value `types` has entered. */
function fieldAt(types: TypeInfo, node: ASTNode | readonly ASTNode[] | undefined): InputField | undefined {
  if (!node || !("kind" in node)) return undefined;
  if (node.kind === Kind.ARGUMENT) return types.getArgument() ?? undefined;
  const parent = getNamedType(types.getParentInputType());
  return node.kind === Kind.OBJECT_FIELD && isInputObjectType(parent) ? parent.getFields()[node.name.value] : undefined;
}

/** The argument and the object fields that contain a value, from the outside in. */
const placeOf = (ancestors: ReadonlyArray<ASTNode | readonly ASTNode[] | undefined>): string[] =>
  ancestors.flatMap((node) =>
    node && "kind" in node && (node.kind === Kind.ARGUMENT || node.kind === Kind.OBJECT_FIELD) ? [node.name.value] : [],
  );

/** Names a field as in REST: without the `input` argument that contains it. */
export const nameField = (path: ReadonlyArray<string | number>): string =>
  (path[0] === "input" && path.length > 1 ? path.slice(1) : path).join(".");
