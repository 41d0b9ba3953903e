import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLIncludeDirective,
  type GraphQLResolveInfo,
  GraphQLSkipDirective,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
  getDirectiveValues,
} from "graphql";

export type Fragments = Readonly<Record<string, FragmentDefinitionNode>>;

export const fragmentsOf = ({ definitions }: DocumentNode): Fragments =>
  Object.fromEntries(
    definitions
      .filter((node) => node.kind === Kind.FRAGMENT_DEFINITION)
      .map((fragment) => [fragment.name.value, fragment]),
  );

/**
 * The selected fields, including aliases and fields inside fragments. A fragment is visited once, however often it is
 * spread: GraphQL merges repetitions, and a few fragments that spread each other can expand to billions of fields.
 */
export function fieldsOf(set: SelectionSetNode | undefined, given: Given, visited = new Set<string>()): FieldNode[] {
  const { fragments, variables, conditions } = given;
  return (set?.selections ?? []).flatMap((selection) => {
    if (conditions && selection.directives?.length) conditions.count++;
    if (variables && !isIncluded(selection, variables)) return [];
    if (selection.kind === Kind.FIELD) return [selection];
    if (selection.kind === Kind.INLINE_FRAGMENT) return fieldsOf(selection.selectionSet, given, visited);
    if (visited.has(selection.name.value)) return [];
    visited.add(selection.name.value);
    return fieldsOf(fragments[selection.name.value]?.selectionSet, given, visited);
  });
}

/** What a selection refers to. Without variables, `@skip` and `@include` are ignored. */
interface Given {
  readonly fragments: Fragments;
  readonly variables?: Readonly<Record<string, unknown>> | undefined;
  /** Counts the selections with directives, whose effect may depend on variables. */
  readonly conditions?: { count: number } | undefined;
}

/** Whether `@skip` and `@include` select it. @throws GraphQLError if a condition has no value. */
export const isIncluded = (selection: SelectionNode, variables: Readonly<Record<string, unknown>>): boolean =>
  !selection.directives?.length ||
  (getDirectiveValues(GraphQLSkipDirective, selection, variables)?.["if"] !== true &&
    getDirectiveValues(GraphQLIncludeDirective, selection, variables)?.["if"] !== false);

type Asked = Pick<GraphQLResolveInfo, "fieldNodes" | "fragments" | "variableValues">;

/**
 * The names of the fields that are selected in a field's result, or in the field `within` of that result. Computed once
 * for each field of a document, unless it depends on variables.
 */
export function selectedFields(info: Asked, within = ""): ReadonlySet<string> {
  const { fieldNodes, fragments, variableValues: variables } = info;
  const [node, ...others] = fieldNodes;
  const known = node && others.length === 0 ? namesIn(node) : undefined;
  const remembered = known?.get(within);
  if (remembered) return remembered;
  const given = { fragments, variables, conditions: { count: 0 } };
  const nodes = selectedOf(fieldNodes, given);
  const inner =
    within === ""
      ? nodes
      : selectedOf(
          nodes.filter(({ name }) => name.value === within),
          given,
        );
  const names = new Set(inner.map(({ name }) => name.value));
  if (given.conditions.count === 0) known?.set(within, names);
  return names;
}

type Names = Map<string, ReadonlySet<string>>;

/** Keyed by the field's node, which lives as long as its document is cached. */
const selected = new WeakMap<FieldNode, Names>();

function namesIn(node: FieldNode): Names {
  const known = selected.get(node) ?? new Map<string, ReadonlySet<string>>();
  selected.set(node, known);
  return known;
}

function selectedOf(nodes: readonly FieldNode[], given: Given): FieldNode[] {
  const visited = new Set<string>();
  return nodes.flatMap(({ selectionSet }) => fieldsOf(selectionSet, given, visited));
}
