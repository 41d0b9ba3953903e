import { type GraphQLRequestContext, type GraphQLResponse, HeaderMap } from "@apollo/server";
import { InMemoryLRUCache } from "@apollo/utils.keyvaluecache";
import { type FormattedExecutionResult, Kind, type SelectionNode } from "graphql";

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

/** How much memory all cached answers may take; a usual one takes 0.4 MB. */
const MAX_BYTES = 8 * 1_048_576;

/** Caches introspection answers as JSON, by document: the schema never changes while a process runs. */
export class IntrospectionCache {
  readonly #answers = new InMemoryLRUCache<string>({ maxSize: MAX_BYTES, sizeCalculation: ({ length }) => 2 * length });
  /** The cached JSON of answers that came from the cache, by their data object. */
  readonly #texts = new WeakMap<object, string>();

  async read(parts: RequestParts): Promise<GraphQLResponse | null> {
    const text = await this.#answers.get(keyOf(parts));
    if (text === undefined) return null;
    const data = {};
    this.#texts.set(data, text);
    return { http: { headers: new HeaderMap() }, body: { kind: "single", singleResult: { data } } };
  }

  store(parts: RequestParts, { data }: FormattedExecutionResult): void {
    if (data && !this.#texts.has(data)) void this.#answers.set(keyOf(parts), JSON.stringify({ data }));
  }

  /** Returns an answer as JSON; one from the cache is JSON already. */
  stringify(result: FormattedExecutionResult): string {
    return (result.data && this.#texts.get(result.data)) ?? JSON.stringify(result);
  }
}
