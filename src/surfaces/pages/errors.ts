import type { Router } from "express";
import { FAILURE_KINDS, type Failure, type FailureClass, type FailureKind } from "../../operation/failure.js";
import { type Routes, inRestNames } from "../../operation/names.js";
import type { Operation } from "../../operation/operation.js";
import { type Html, html, prose } from "../../platform/html.js";
import { onFirstUse } from "../../platform/on-first-use.js";
import { BUG_MESSAGE, KIND_DESCRIPTIONS } from "../http.js";
import { HTTP_STATUS } from "../http-status.js";
import { documentationRoute, tableOf } from "./layout.js";

/** A failure, and the operations that raise it, or a description of what raises it. */
export interface RaisedFailure {
  readonly failure: Failure;
  readonly by: readonly Pick<Operation, "name">[] | string;
}

interface Source {
  readonly failures: readonly RaisedFailure[];
  /** REST's names for operations. */
  readonly routes: Routes;
  /** Codes that GraphQL alone has, and what they mean. */
  readonly graphqlCodes: Readonly<Record<string, string>>;
}

/** A page of every code and reason. */
export const errorsPage = (source: () => Source): Router =>
  documentationRoute(
    "/docs/errors",
    "Errors",
    onFirstUse(() => bodyOf(source())),
  );

const bodyOf = (source: Source): Html =>
  html`<p>
      By REST the answer to a failed request has its status and
      <code>{"error": {"code", "message", "reason"?, "details"?}}</code>. By GraphQL the status is 200 and the error is
      in <code>errors</code>, with <code>code</code> in upper case, <code>reason</code> and <code>details</code> in its
      <code>extensions</code>; an error that ends the whole request has its own status there too. Where waiting helps,
      the header <code>Retry-After</code> says how many seconds, and by GraphQL also <code>retryAfterSeconds</code> in
      <code>extensions</code>. By MCP a call is answered with <code>isError</code> and REST's error as its text; errors
      of the protocol are errors of JSON-RPC, with REST's error in <code>data</code>. Programs should check
      <code>code</code>, and <code>reason</code> if there is one: both are stable. The message is for people.
    </p>
    ${FAILURE_KINDS.map((kind) => section(kind, source))}
    <h2 id="graphql">Codes of GraphQL alone</h2>
    <dl>
      ${Object.entries(source.graphqlCodes).map(
        ([code, meaning]) =>
          html`<dt><code>${code}</code></dt>
            <dd>${meaning}</dd>`,
      )}
    </dl>`;

function section(kind: FailureKind, { failures, routes }: Source): Html {
  const rows = failures.filter(({ failure }) => failure.kind === kind).map((one) => ({ cells: cellsOf(one, routes) }));
  return html`<h2 id="${kind}"><code>${kind}</code></h2>
    <p>
      ${HTTP_STATUS[kind]} by REST, <code>${kind.toUpperCase()}</code> by GraphQL. ${prose(KIND_DESCRIPTIONS[kind])}
    </p>
    ${rows.length === 0 ? html`<p>The message is: ${BUG_MESSAGE}</p>` : tableOf(["Reason", "Message", "Raised by"], rows)}`;
}

const cellsOf = ({ failure, by }: RaisedFailure, routes: Routes): readonly unknown[] => [
  failure.reason === undefined ? html`<span class="aside">no reason</span>` : html`<code>${failure.reason}</code>`,
  [isExample(failure) ? "For example: " : "", messageOf(failure, routes)],
  typeof by === "string" ? by : linksTo(by),
];

/** Whether the message depends on the request. */
const isExample = ({ constructor }: Failure): boolean => (constructor as FailureClass).example !== undefined;

/** The message by REST, and that by GraphQL if it differs. */
function messageOf({ message }: Failure, routes: Routes): Html {
  const byRest = inRestNames(message, routes);
  if (byRest === message) return prose(message);
  return html`${prose(byRest)}
    <p class="aside">By GraphQL: ${prose(message)}</p>`;
}

const linksTo = (operations: readonly Pick<Operation, "name">[]): Html[] =>
  operations.map(({ name }, index) => html`${index === 0 ? "" : ", "}<a href="./access#${name}">${name}</a>`);
