import {
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLLeafType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
  TypeNameMetaFieldDef,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  visit,
} from "graphql";
import { type Fragments, fragmentsOf, isIncluded } from "../../operation/selection.js";

/** How many plans a document may have. */
const PLANS_MAX = 16;
/** How many fields all plans of a document may have, with fragments expanded; how many bytes that takes at most. */
const FIELDS_MAX = 200;
export const PLANS_MAX_BYTES = FIELDS_MAX * 300 + PLANS_MAX * 200;

type Variables = Readonly<Record<string, unknown>>;

/** What an operation selects: found out once for a document, not again for each object of each answer. */
export interface Plan {
  readonly schema: GraphQLSchema;
  readonly operation: OperationDefinitionNode;
  readonly fragments: Fragments;
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

const plansOf = new WeakMap<DocumentNode, DocumentPlans>();

/**
 * The plan of an operation of a valid document, for variables that were read. Undefined for what graphql-js must
 * execute: introspection, abstract types, a condition without a value, too many fields, too many plans.
 */
export function planOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Variables,
): Plan | undefined {
  const plans = plansOf.get(document) ?? new DocumentPlans(schema, document);
  plansOf.set(document, plans);
  return plans.of(operation, variables);
}

/** One plan for each operation, and for each outcome of the conditions by which `@skip` and `@include` select. */
class DocumentPlans {
  readonly #schema: GraphQLSchema;
  readonly #fragments: Fragments;
  /** The variables of conditions, wherever in the document. */
  readonly #conditions: readonly string[];
  readonly #plans = new Map<string, Plan | undefined>();
  #fieldsLeft = FIELDS_MAX;

  constructor(schema: GraphQLSchema, document: DocumentNode) {
    this.#schema = schema;
    this.#fragments = fragmentsOf(document);
    const conditions = new Set<string>();
    visit(document, {
      Directive: (node) => {
        for (const { value } of node.arguments ?? [])
          if (value.kind === Kind.VARIABLE) conditions.add(value.name.value);
      },
    });
    this.#conditions = [...conditions];
  }

  of(operation: OperationDefinitionNode, variables: Variables): Plan | undefined {
    const outcomes = this.#conditions.map((name) => (typeof variables[name] === "boolean" ? variables[name] : null));
    const id = [operation.name?.value, ...outcomes].join();
    if (!this.#plans.has(id) && this.#plans.size < PLANS_MAX) this.#plans.set(id, this.#make(operation, variables));
    return this.#plans.get(id);
  }

  #make(operation: OperationDefinitionNode, variables: Variables): Plan | undefined {
    const type = this.#schema.getRootType(operation.operation);
    if (!type) return undefined;
    const planning = new Planning(this.#fragments, variables, this.#fieldsLeft);
    try {
      const fields = planning.fieldsOf(type, [operation.selectionSet]);
      this.#fieldsLeft = planning.fieldsLeft;
      return { schema: this.#schema, operation, fragments: this.#fragments, fields };
    } catch (error) {
      if (error instanceof NoPlan) return undefined;
      throw error;
    }
  }
}

class Planning {
  constructor(
    private readonly fragments: Fragments,
    private readonly variables: Variables,
    public fieldsLeft: number,
  ) {}

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
      if (!definition || key === "__proto__" || --this.fieldsLeft < 0) throw new NoPlan();
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
      if (selection.directives?.length && !this.#isIncluded(selection)) continue;
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

  /** Reads the conditions of a selection. @throws NoPlan if one has no value: graphql-js answers with an error. */
  #isIncluded(selection: SelectionNode): boolean {
    try {
      return isIncluded(selection, this.variables);
    } catch {
      throw new NoPlan();
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
