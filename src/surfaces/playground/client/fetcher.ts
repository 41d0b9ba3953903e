import { type Ids, collectIds } from "./ids.js";

interface Answer {
  readonly errors?: ReadonlyArray<{ readonly message?: string; readonly extensions?: { readonly code?: string } }>;
}

/** Headers as they are typed: what nothing stands in yet is not sent, since an empty key counts as a wrong one. */
export const withoutEmptyKey = (headers: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]) => [name, String(value ?? "").trim()] as const)
      .filter(([name, value]) => name.toLowerCase() !== "authorization" || !/^(?:Bearer)?$/i.test(value)),
  );

/** Where a key is missing or wrong, the answer says where in this page to write one. */
export function explainKey(answer: Answer, hasKey: boolean): Answer {
  if (!answer.errors?.some(needsKey)) return answer;
  const message = hasKey
    ? "The API key in the Headers tab is wrong, has expired or was revoked. Correct it there."
    : "This needs an API key. Write it into the Headers tab, below the operation, like this:";
  const errors = answer.errors.map((error) =>
    needsKey(error) ? { message, Headers: { Authorization: "Bearer mg_live_…" }, ...withoutMessage(error) } : error,
  );
  return { ...answer, errors };
}

type ToldError = NonNullable<Answer["errors"]>[number];

const needsKey = ({ extensions }: ToldError): boolean => extensions?.code === "UNAUTHORIZED";

const withoutMessage = ({ message: _message, ...rest }: ToldError): object => rest;

/** Of all answers since the page was opened. */
let ids: Ids = {};
export const knownIds = (): Ids => ids;

/** Asks the service that this page comes from. */
export async function askService(
  request: { readonly operationName?: string | null | undefined },
  options: { readonly headers?: Readonly<Record<string, unknown>> | undefined } = {},
): Promise<object> {
  // The schema is open to all; a key that is wrong must not hide the documentation.
  const isSchema = request.operationName === "IntrospectionQuery";
  const headers = isSchema ? {} : withoutEmptyKey(options.headers ?? {});
  const response = await fetch("/graphql", {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(request),
  });
  const answer = (await response.json()) as Answer;
  if (isSchema) return answer;
  ids = collectIds(answer, ids);
  return explainKey(
    answer,
    Object.keys(headers).some((name) => name.toLowerCase() === "authorization"),
  );
}
