import { callService, stoppedBy } from "../../import/call-service.js";
import { inSnakeCase } from "../in-snake-case.js";
import { quote } from "../quote.js";
import { showJson } from "./show-json.js";

/** A user with a key, and the shell variable that is shown instead of the key. */
export interface Person {
  readonly variable: string;
  readonly key: string;
}

/** A request of a step, for both doors. */
export interface Question {
  readonly as?: Person | undefined;
  readonly rest: {
    readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
    readonly path: string;
    readonly body?: object;
  };
  readonly graphql: { readonly document: string; readonly variables?: object };
}

/** An answer in a format that is the same for both doors. */
export interface Answer {
  /** "201", or "200, with errors". */
  readonly status: string;
  /** The unchanged body. */
  readonly body: unknown;
  /** The result, with names in snake_case as in REST. Empty after a refusal. */
  readonly value: Readonly<Record<string, unknown>>;
  /** Undefined after success. */
  readonly refusal: Refusal | undefined;
}

export interface Refusal {
  /** The stable reason, such as `team_full`. */
  readonly reason: string;
  /** The message for people. */
  readonly message: string;
}

export interface Door {
  /** The request as a user would type it. */
  show(question: Question): string;
  /** @throws ImportStopped when the service does not answer. */
  ask(question: Question): Promise<Answer>;
}

type Json = Readonly<Record<string, unknown>>;

const REQUEST_TIMEOUT_MS = 30_000;

export const restDoor = (url: string): Door => ({
  show: ({ as, rest: { method, path, body } }) => showCurl({ url: url + path, method, as, body }),
  async ask({ as, rest: { method, path, body } }) {
    const answer = await askService(url, path, { method, key: as?.key, body });
    const { reason, code = answer.status, message } = objectIn(answer.body, "error");
    const refusal = answer.ok ? undefined : { reason: String(reason ?? code), message: String(message) };
    return { status: String(answer.status), body: answer.body, value: answer.ok ? objectOf(answer.body) : {}, refusal };
  },
});

export const graphqlDoor = (url: string): Door => ({
  show({ as, graphql: { document, variables } }) {
    const who = as ? `as $${as.variable}` : "without a key";
    return [
      `POST ${url}/graphql, ${who}`,
      `  ${document}`,
      ...(variables ? [`  variables ${showJson(variables, "  ")}`] : []),
    ].join("\n");
  },
  async ask({ as, graphql: { document, variables } }) {
    const body = { query: document, ...(variables && { variables }) };
    const answer = await askService(url, "/graphql", { method: "POST", key: as?.key, body });
    const { errors, data } = objectOf(answer.body);
    const [error] = Array.isArray(errors) ? errors.map(objectOf) : [];
    const { reason, code } = objectIn(error, "extensions");
    const refusal = error && { reason: String(reason ?? code).toLowerCase(), message: String(error["message"]) };
    const [field] = Object.values(objectOf(data));
    const status = `${answer.status}${error ? ", with errors" : ""}`;
    return { status, body: answer.body, value: objectOf(inSnakeCase(field)), refusal };
  },
});

interface Call {
  readonly method: string;
  readonly key?: string | undefined;
  readonly body?: object | undefined;
}

const askService = (url: string, path: string, call: Call) =>
  send(url, path, call).catch((error: unknown) => {
    throw stoppedBy(url, error);
  });

/** Sends one request. The body of an answer that is not JSON is its text. */
export async function send(url: string, path: string, { method, key, body }: Call) {
  const response = await callService(url, path, {
    method,
    headers: {
      ...(key !== undefined && { Authorization: `Bearer ${key}` }),
      ...(body && { "Content-Type": "application/json" }),
    },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  return { ok: response.ok, status: response.status, body: parse(await response.text()) };
}

/** A command for bash or zsh. */
export function showCurl({
  url,
  method,
  as,
  body,
}: Omit<Call, "key"> & { url: string; as?: Person | undefined }): string {
  const isUsual = method === (body ? "POST" : "GET");
  const headers = [
    ...(as ? [`-H "Authorization: Bearer $${as.variable}"`] : []),
    ...(body ? ["-H 'Content-Type: application/json'"] : []),
  ];
  return [
    `curl -s ${isUsual ? "" : `-X ${method} `}${quote(url)}`,
    ...(headers.length > 0 ? [headers.join(" ")] : []),
    ...(body ? [`-d ${quote(showJson(body, "  "))}`] : []),
  ].join(" \\\n  ");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text === "" ? null : text;
  }
}

const objectOf = (value: unknown): Json => (typeof value === "object" && value !== null ? (value as Json) : {});
const objectIn = (value: unknown, name: string): Json => objectOf(objectOf(value)[name]);
