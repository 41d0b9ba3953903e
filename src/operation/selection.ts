import {
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

/**
 * The fields that are asked for, aliases and those inside fragments among them. A fragment is visited once, however
 * often it is spread: GraphQL merges what it repeats, and a few that spread each other stand for billions of fields.
 */
export function fieldsOf(
  set: SelectionSetNode | undefined,
  { fragments, variables }: Given,
  visited = new Set<string>(),
): FieldNode[] {
  return (set?.selections ?? []).flatMap((selection) => {
    if (variables && !isIncluded(selection, variables)) return [];
    if (selection.kind === Kind.FIELD) return [selection];
    const given = { fragments, variables };
    if (selection.kind === Kind.INLINE_FRAGMENT) return fieldsOf(selection.selectionSet, given, visited);
    if (visited.has(selection.name.value)) return [];
    visited.add(selection.name.value);
    return fieldsOf(fragments[selection.name.value]?.selectionSet, given, visited);
  });
}

/** What a selection refers to. Without variables, what `@skip` and `@include` say is not looked at. */
interface Given {
  readonly fragments: Fragments;
  readonly variables?: Readonly<Record<string, unknown>> | undefined;
}

const isIncluded = (selection: SelectionNode, variables: Readonly<Record<string, unknown>>): boolean =>
  !selection.directives?.length ||
  (getDirectiveValues(GraphQLSkipDirective, selection, variables)?.["if"] !== true &&
    getDirectiveValues(GraphQLIncludeDirective, selection, variables)?.["if"] !== false);

type Asked = Pick<GraphQLResolveInfo, "fieldNodes" | "fragments" | "variableValues">;

/** The names of the fields that are asked of what a field answers with, or of what a field of that answers with. */
export function selectedFields(info: Asked, within?: string): ReadonlySet<string> {
  const given = { fragments: info.fragments, variables: info.variableValues };
  const nodes = selectedOf(info.fieldNodes, given);
  const inner =
    within === undefined
      ? nodes
      : selectedOf(
          nodes.filter(({ name }) => name.value === within),
          given,
        );
  return new Set(inner.map(({ name }) => name.value));
}

function selectedOf(nodes: readonly FieldNode[], given: Given): FieldNode[] {
  const visited = new Set<string>();
  return nodes.flatMap(({ selectionSet }) => fieldsOf(selectionSet, given, visited));
}
