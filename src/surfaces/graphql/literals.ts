import {
  type ASTVisitor,
  type DocumentNode,
  type GraphQLArgument,
  GraphQLError,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLSchema,
  type ASTNode,
  Kind,
  type ValidationContext,
  type ValueNode,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  validate,
} from "graphql";
import { LIMITS } from "../../limits.js";
import { GRAPHQL_WORDS, type Path, beyondProblem, describeUnknown, mustBe } from "../../operation/read-value.js";
import { nameField } from "./variables.js";

/** The errors in the values of a document, as many as an answer shows. */
class Reports {
  #count = 0;

  constructor(private readonly context: ValidationContext) {}

  /** Then nothing more is checked: each wrong value costs an error with its stack. */
  get isFull(): boolean {
    return this.#count >= LIMITS.refusal.issues;
  }

  add(node: ASTNode, path: Path, message: string): void {
    if (this.isFull) return;
    this.#count++;
    const issue = { path: nameField(path), message };
    this.context.reportError(
      new GraphQLError(`${issue.path}: ${message}`, { nodes: [node], extensions: { details: [issue] } }),
    );
  }
}

/**
 * Checks the literal values in a document, with the same messages and `details` as for variables. Unlike GraphQL, it
 * refuses a single value for a list and a number for an id.
 */
export function literalsRule(context: ValidationContext): ASTVisitor {
  const reports = new Reports(context);
  return {
    Field: (node) => {
      const field = context.getFieldDef();
      if (field) checkFields({ node, known: field.args, given: node.arguments ?? [] }, [], reports);
      return undefined;
    },
  };
}

/** The arguments of a field, or the fields of an object: those that exist, and those that were given. */
interface Given {
  readonly node: ASTNode;
  readonly known: ReadonlyArray<GraphQLArgument | GraphQLInputField>;
  readonly given: ReadonlyArray<ASTNode & { readonly name: { readonly value: string }; readonly value: ValueNode }>;
}

function checkFields({ node, known, given }: Given, path: Path, reports: Reports): void {
  const fields = new Map(known.map((field) => [field.name, field]));
  for (const one of given) {
    if (reports.isFull) return;
    const { name, value } = one;
    const field = fields.get(name.value);
    const place = [...path, name.value];
    const problem = field && beyondProblem(field, numberIn(value));
    if (!field) reports.add(one, place, describeUnknown([...fields.keys()]));
    else if (problem) reports.add(value, place, problem);
    else checkLiteral(field.type, value, place, reports);
  }
  const names = new Set(given.map(({ name }) => name.value));
  for (const { name, type, defaultValue } of known) {
    const isRequired = isNonNullType(type) && defaultValue === undefined;
    if (isRequired && !names.has(name)) reports.add(node, [...path, name], "is required");
  }
}

function checkLiteral(type: GraphQLInputType, node: ValueNode, path: Path, reports: Reports): void {
  if (node.kind === Kind.VARIABLE) return;
  if (isNonNullType(type)) {
    if (node.kind === Kind.NULL) reports.add(node, path, "must not be null");
    else checkLiteral(type.ofType, node, path, reports);
  } else if (node.kind === Kind.NULL) {
    return;
  } else if (isListType(type)) {
    if (node.kind !== Kind.LIST) reports.add(node, path, "must be a list");
    else
      for (const [index, item] of node.values.entries()) {
        if (reports.isFull) return;
        checkLiteral(type.ofType, item, [...path, index], reports);
      }
  } else if (isInputObjectType(type)) {
    if (node.kind !== Kind.OBJECT) reports.add(node, path, "must be an object");
    else checkFields({ node, known: Object.values(type.getFields()), given: node.fields }, path, reports);
  } else if (type.name === "JSONObject" && node.kind === Kind.OBJECT) {
    checkJson(node, path, reports);
  } else if (!isLeafOf(type, node)) {
    reports.add(node, path, mustBe(type, GRAPHQL_WORDS, numberIn(node)));
  }
}

const numberIn = (node: ValueNode): number | undefined =>
  node.kind === Kind.INT || node.kind === Kind.FLOAT ? Number(node.value) : undefined;

/** A name in place of a text, which GraphQL would read as null. */
function checkJson(node: ValueNode, path: Path, reports: Reports): void {
  if (node.kind === Kind.ENUM) reports.add(node, path, "must be JSON: write a text in quotes");
  else if (node.kind === Kind.LIST) node.values.forEach((item, index) => checkJson(item, [...path, index], reports));
  else if (node.kind === Kind.OBJECT)
    for (const { name, value } of node.fields) checkJson(value, [...path, name.value], reports);
}

function isLeafOf(type: Parameters<typeof mustBe>[0], node: ValueNode): boolean {
  if (isEnumType(type)) return node.kind === Kind.ENUM && type.getValue(node.value) !== undefined;
  if (type.name === "ID" && node.kind !== Kind.STRING) return false;
  try {
    const value: unknown = type.parseLiteral(node);
    return value !== undefined && value !== Infinity && value !== -Infinity;
  } catch {
    return false;
  }
}

/**
 * Adds the errors of `literalsRule`, which Apollo does not run after an error of GraphQL's own rules. Where both report
 * the same node, only the more precise error of `literalsRule` is kept.
 */
export function explain(
  schema: GraphQLSchema,
  document: DocumentNode,
  errors: readonly GraphQLError[],
): GraphQLError[] {
  const explained = errors.some(hasDetails) ? [] : validate(schema, document, [literalsRule]);
  const explainedNodes = new Set(explained.flatMap(({ nodes }) => nodes ?? []));
  return [...explained, ...errors.filter((error) => !error.nodes?.some((node) => explainedNodes.has(node)))];
}

const hasDetails = ({ extensions }: GraphQLError): boolean => extensions["details"] !== undefined;
