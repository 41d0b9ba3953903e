import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLResolveInfo,
  Kind,
  type SelectionSetNode,
} from "graphql";

export type Fragments = Readonly<Record<string, FragmentDefinitionNode>>;

/** The fields that are asked for, aliases and those inside fragments among them. */
export const fieldsOf = (set: SelectionSetNode | undefined, fragments: Fragments): FieldNode[] =>
  (set?.selections ?? []).flatMap((selection) => {
    if (selection.kind === Kind.FIELD) return [selection];
    const fragment = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments[selection.name.value];
    return fieldsOf(fragment?.selectionSet, fragments);
  });

/** The names of the fields that are asked of what a field answers with. */
export const selectedFields = ({ fieldNodes, fragments }: Pick<GraphQLResolveInfo, "fieldNodes" | "fragments">) =>
  new Set(fieldNodes.flatMap(({ selectionSet }) => fieldsOf(selectionSet, fragments)).map(({ name }) => name.value));
