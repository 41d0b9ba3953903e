import { type Ids, collectIds } from "./ids.js";

interface Answer {
  readonly errors?: ReadonlyArray<{ readonly message?: string; readonly extensions?: { readonly code?: string } }>;
}

/** Leaves out an `Authorization` header without a key: an empty key counts as a wrong one. */
export const withoutEmptyKey = (headers: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]) => [name, String(value ?? "").trim()] as const)
      .filter(([name, value]) => name.toLowerCase() !== "authorization" || !/^(?:Bearer)?$/i.test(value)),
  );

/** If the key is missing or wrong, says where in this page to write it. */
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

type AnswerError = NonNullable<Answer["errors"]>[number];

const needsKey = ({ extensions }: AnswerError): boolean => extensions?.code === "UNAUTHORIZED";

const withoutMessage = ({ message: _message, ...rest }: AnswerError): object => rest;

/** The ids of all answers since the page was opened. */
let ids: Ids = {};
export const knownIds = (): Ids => ids;

/** Sends a request to the service that serves this page. */
export async function askService(
  request: { readonly operationName?: string | null | undefined },
  options: { readonly headers?: Readonly<Record<string, unknown>> | undefined } = {},
): Promise<object> {
  // The schema needs no key, and a wrong key must not hide the documentation.
  const isSchema = request.operationName === "IntrospectionQuery";
  const headers = isSchema ? {} : withoutEmptyKey(options.headers ?? {});
  const answer = await answerTo(JSON.stringify(request), headers);
  if (isSchema) return answer;
  ids = collectIds(answer, ids);
  return explainKey(
    answer,
    Object.keys(headers).some((name) => name.toLowerCase() === "authorization"),
  );
}

/** Returns the service's answer. Without one, says what to do: the editor would show an error of its own code. */
async function answerTo(body: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
  const all = { "Content-Type": "application/json", ...headers };
  const response = await fetch("./graphql", { method: "POST", headers: all, body }).catch(() => undefined);
  if (!response) return failed("The service cannot be reached. Check the connection and the headers, and try again.");
  return response
    .json()
    .then((answer) => answer as Answer)
    .catch(() => failed(`The answer (HTTP ${response.status}) is not from the service itself. Try again in a moment.`));
}

const failed = (message: string): Answer => ({ errors: [{ message }] });
