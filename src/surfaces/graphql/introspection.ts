import { type GraphQLRequestContext, type GraphQLResponse, HeaderMap } from "@apollo/server";
import { InMemoryLRUCache } from "@apollo/utils.keyvaluecache";
import {
  type FormattedExecutionResult,
  type GraphQLField,
  Kind,
  type SelectionNode,
  __Directive,
  __Field,
  __Schema,
  __Type,
} from "graphql";
import type { RequestContext } from "./context.js";

type RequestParts = Pick<GraphQLRequestContext<object>, "operation" | "queryHash"> & {
  readonly request: { readonly variables?: Readonly<Record<string, unknown>> | undefined };
};

/** Whether a request reads only the schema, and has no variables that could change its answer. */
export function isIntrospection({ operation, request }: Omit<RequestParts, "queryHash">): boolean {
  if (!operation || operation.variableDefinitions?.length || Object.keys(request.variables ?? {}).length > 0) {
    return false;
  }
  return operation.selectionSet.selections.every(isSchemaField);
}

const isSchemaField = (selection: SelectionNode): boolean =>
  selection.kind === Kind.FIELD && selection.name.value === "__schema";

const keyOf = ({ queryHash, operation }: RequestParts): string => `${queryHash} ${operation?.name?.value ?? ""}`;

type SchemaField = GraphQLField<unknown, Pick<RequestContext, "pause"> | undefined>;

/** The fields whose lists are read in pieces: all schemas of a process share the types of introspection. */
const readInPieces = new WeakSet<object>();

/**
 * Lets the lists of introspection wait for a turn of the event loop before their items are read: graphql-js would read
 * the whole schema in one turn. What has no request, such as a test that reads the schema, waits for nothing.
 */
export function readSchemaInPieces(): void {
  for (const type of [__Schema, __Type, __Field, __Directive]) {
    for (const field of Object.values<SchemaField>(type.getFields())) {
      const { resolve } = field;
      if (!resolve || readInPieces.has(field)) continue;
      readInPieces.add(field);
      field.resolve = (source, args, context, info) => {
        const value: unknown = resolve(source, args, context, info);
        const hasItems = Array.isArray(value) && value.length > 0;
        return hasItems && context ? context.pause().then(() => value) : value;
      };
    }
  }
}

/** How much memory all cached answers may take; a usual one takes 0.4 MB. */
const MAX_BYTES = 8 * 1_048_576;

/** Caches introspection answers as JSON, by document: the schema never changes while a process runs. */
export class IntrospectionCache {
  readonly #answers = new InMemoryLRUCache<string>({ maxSize: MAX_BYTES, sizeCalculation: ({ length }) => 2 * length });
  /** The JSON of answers that came from the cache or were put into it, by their data object. */
  readonly #texts = new WeakMap<object, string>();

  async has(parts: RequestParts): Promise<boolean> {
    return (await this.#answers.get(keyOf(parts))) !== undefined;
  }

  async read(parts: RequestParts): Promise<GraphQLResponse | null> {
    const text = await this.#answers.get(keyOf(parts));
    if (text === undefined) return null;
    const data = {};
    this.#texts.set(data, text);
    return { http: { headers: new HeaderMap() }, body: { kind: "single", singleResult: { data } } };
  }

  store(parts: RequestParts, { data }: FormattedExecutionResult): void {
    if (!data || this.#texts.has(data)) return;
    const text = JSON.stringify({ data });
    this.#texts.set(data, text);
    void this.#answers.set(keyOf(parts), text);
  }

  /** The JSON of an answer that the cache has. */
  textOf({ data }: FormattedExecutionResult): string | undefined {
    return data ? this.#texts.get(data) : undefined;
  }
}
