import type { GraphQLResolveInfo, SelectionSetNode } from "graphql";

/** The names of the fields that are asked of what a field answers with, those inside fragments among them. */
export function selectedFields(info: Pick<GraphQLResolveInfo, "fieldNodes" | "fragments">): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (set: SelectionSetNode | undefined): void => {
    for (const selection of set?.selections ?? []) {
      if (selection.kind === "Field") names.add(selection.name.value);
      else if (selection.kind === "InlineFragment") visit(selection.selectionSet);
      else visit(info.fragments[selection.name.value]?.selectionSet);
    }
  };
  for (const { selectionSet } of info.fieldNodes) visit(selectionSet);
  return names;
}
