import { type GraphQLObjectType, getNamedType, isObjectType } from "graphql";

/** Every field and, for objects, their fields again, down to this many levels. */
export function selectionOf(type: GraphQLObjectType, levels: number): string {
  const fields = Object.values(type.getFields()).flatMap((field) => {
    const inner = getNamedType(field.type);
    if (!isObjectType(inner)) return [field.name];
    return levels > 1 ? [`${field.name} ${selectionOf(inner, levels - 1)}`] : [];
  });
  return `{ __typename ${fields.join(" ")} }`;
}
