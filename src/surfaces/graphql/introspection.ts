import type { GraphQLRequestContext, GraphQLResponse } from "@apollo/server";
import { HeaderMap } from "@apollo/server";
import { InMemoryLRUCache } from "@apollo/utils.keyvaluecache";
import { type FormattedExecutionResult, Kind, type SelectionNode } from "graphql";

type Asked = Pick<GraphQLRequestContext<object>, "operation" | "queryHash"> & {
  readonly request: { readonly variables?: Readonly<Record<string, unknown>> | undefined };
};

/** Whether a request asks for nothing but the schema, and always for the same of it. */
export function isIntrospection({ operation, request }: Asked): boolean {
  if (!operation || operation.variableDefinitions?.length || Object.keys(request.variables ?? {}).length > 0) {
    return false;
  }
  return operation.selectionSet.selections.every(isSchemaField);
}

const isSchemaField = (selection: SelectionNode): boolean =>
  selection.kind === Kind.FIELD && selection.name.value === "__schema";

const keyOf = ({ queryHash, operation }: Asked): string => `${queryHash} ${operation?.name?.value ?? ""}`;

/** How much memory the answers take together; the usual one has 0.4 MB. */
const MAX_BYTES = 8 * 1_048_576;

/** The schema never changes while a process runs, so what describes it is worked out once a document, as JSON. */
export class IntrospectionMemory {
  readonly #answers = new InMemoryLRUCache<string>({ maxSize: MAX_BYTES, sizeCalculation: ({ length }) => 2 * length });
  /** The answers that came from memory, by their data. */
  readonly #texts = new WeakMap<object, string>();

  async recall(asked: Asked): Promise<GraphQLResponse | null> {
    const text = await this.#answers.get(keyOf(asked));
    if (text === undefined) return null;
    const data = {};
    this.#texts.set(data, text);
    return { http: { headers: new HeaderMap() }, body: { kind: "single", singleResult: { data } } };
  }

  keep(asked: Asked, { data }: FormattedExecutionResult): void {
    if (data && !this.#texts.has(data)) void this.#answers.set(keyOf(asked), JSON.stringify({ data }));
  }

  /** Writes an answer as JSON; one from memory is JSON already. */
  stringify(result: FormattedExecutionResult): string {
    return (result.data && this.#texts.get(result.data)) ?? JSON.stringify(result);
  }
}
