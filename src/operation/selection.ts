import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLResolveInfo,
  Kind,
  type SelectionSetNode,
} from "graphql";

export type Fragments = Readonly<Record<string, FragmentDefinitionNode>>;

/**
 * The fields that are asked for, aliases and those inside fragments among them. A fragment is visited once, however
 * often it is spread: GraphQL merges what it repeats, and a few that spread each other stand for billions of fields.
 */
export function fieldsOf(
  set: SelectionSetNode | undefined,
  fragments: Fragments,
  visited = new Set<string>(),
): FieldNode[] {
  return (set?.selections ?? []).flatMap((selection) => {
    if (selection.kind === Kind.FIELD) return [selection];
    if (selection.kind === Kind.INLINE_FRAGMENT) return fieldsOf(selection.selectionSet, fragments, visited);
    if (visited.has(selection.name.value)) return [];
    visited.add(selection.name.value);
    return fieldsOf(fragments[selection.name.value]?.selectionSet, fragments, visited);
  });
}

/** The names of the fields that are asked of what a field answers with. */
export function selectedFields({ fieldNodes, fragments }: Pick<GraphQLResolveInfo, "fieldNodes" | "fragments">) {
  const visited = new Set<string>();
  return new Set(
    fieldNodes.flatMap(({ selectionSet }) => fieldsOf(selectionSet, fragments, visited)).map(({ name }) => name.value),
  );
}
