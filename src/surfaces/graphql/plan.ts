import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLLeafType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  TypeNameMetaFieldDef,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from "graphql";

/** How many fields a plan may have, with fragments expanded, and how many bytes of memory that takes at most. */
const FIELDS_MAX = 200;
export const PLAN_MAX_BYTES = FIELDS_MAX * 300;

/** What an operation selects: found out once for a document, not again for each object of each answer. */
export interface Plan {
  readonly schema: GraphQLSchema;
  readonly operation: OperationDefinitionNode;
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  readonly fields: readonly PlannedField[];
}

/** A field of an object, merged from all places of the document that select it. */
export interface PlannedField {
  /** Its name in the answer. */
  readonly key: string;
  readonly parent: GraphQLObjectType;
  readonly definition: GraphQLField<unknown, unknown>;
  readonly nodes: readonly [FieldNode, ...FieldNode[]];
  readonly shape: Shape;
}

/** The form of a value: one of `leaf`, `item` (of a list) and `fields` (of an object). */
export interface Shape {
  readonly isNullable: boolean;
  readonly leaf?: GraphQLLeafType;
  readonly item?: Shape;
  readonly fields?: readonly PlannedField[];
}

/** Thrown for what a plan cannot express. */
class NoPlan extends Error {}

const plans = new WeakMap<DocumentNode, Plan | undefined>();

/**
 * The plan of a valid document. Undefined for what graphql-js must execute: several operations, `@skip` and `@include`,
 * introspection, abstract types, too many fields.
 */
export function planOf(schema: GraphQLSchema, document: DocumentNode): Plan | undefined {
  if (!plans.has(document)) plans.set(document, makePlan(schema, document));
  return plans.get(document);
}

function makePlan(schema: GraphQLSchema, document: DocumentNode): Plan | undefined {
  const operations = document.definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
  const fragments: Record<string, FragmentDefinitionNode> = {};
  for (const definition of document.definitions)
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments[definition.name.value] = definition;
  const [operation] = operations;
  const type = operation && schema.getRootType(operation.operation);
  if (!type || operations.length > 1) return undefined;
  try {
    const fields = new Planning(fragments).fieldsOf(type, [operation.selectionSet]);
    return { schema, operation, fragments, fields };
  } catch (error) {
    if (error instanceof NoPlan) return undefined;
    throw error;
  }
}

class Planning {
  #fields = 0;

  constructor(private readonly fragments: Plan["fragments"]) {}

  /** The fields of an object, in the order of the answer. */
  fieldsOf(parent: GraphQLObjectType, sets: readonly SelectionSetNode[]): PlannedField[] {
    const nodesByKey = new Map<string, [FieldNode, ...FieldNode[]]>();
    const visited = new Set<string>();
    for (const set of sets) this.#collect(parent, set, nodesByKey, visited);
    return Array.from(nodesByKey, ([key, nodes]) => {
      const [{ name }] = nodes;
      const isTypeName = name.value === TypeNameMetaFieldDef.name;
      const definition = isTypeName ? TypeNameMetaFieldDef : parent.getFields()[name.value];
      // In an object literal's place, this name would set the prototype.
      if (!definition || key === "__proto__" || ++this.#fields > FIELDS_MAX) throw new NoPlan();
      return { key, parent, definition, nodes, shape: this.#shapeOf(definition.type, nodes) };
    });
  }

  #collect(
    parent: GraphQLObjectType,
    { selections }: SelectionSetNode,
    nodesByKey: Map<string, [FieldNode, ...FieldNode[]]>,
    visited: Set<string>,
  ): void {
    for (const selection of selections) {
      if (selection.directives?.length) throw new NoPlan();
      if (selection.kind === Kind.FIELD) {
        const key = (selection.alias ?? selection.name).value;
        const nodes = nodesByKey.get(key);
        if (nodes) nodes.push(selection);
        else nodesByKey.set(key, [selection]);
        continue;
      }
      const name = selection.kind === Kind.FRAGMENT_SPREAD ? selection.name.value : undefined;
      if (name !== undefined && visited.has(name)) continue;
      if (name !== undefined) visited.add(name);
      const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? this.fragments[selection.name.value] : selection;
      const condition = fragment?.typeCondition?.name.value ?? parent.name;
      if (!fragment || condition !== parent.name) throw new NoPlan();
      this.#collect(parent, fragment.selectionSet, nodesByKey, visited);
    }
  }

  #shapeOf(type: GraphQLOutputType, nodes: readonly FieldNode[], isNullable = true): Shape {
    if (isNonNullType(type)) return this.#shapeOf(type.ofType, nodes, false);
    if (isLeafType(type)) return { isNullable, leaf: type };
    if (isListType(type)) return { isNullable, item: this.#shapeOf(type.ofType, nodes) };
    if (!isObjectType(type) || type.isTypeOf) throw new NoPlan();
    const sets = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
    return { isNullable, fields: this.fieldsOf(type, sets) };
  }
}
