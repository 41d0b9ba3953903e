import { SCOPE_DESCRIPTIONS, type Scope } from "../../operation/permission.js";
import type { Failure } from "../../operation/failure.js";
import { PRODUCT } from "../../operation/product.js";
import { type Html, html, isolate } from "../../platform/html.js";
import { ENTER_CODE, PROBLEM, codeField, describeField, emailField, inMinutes, problemNote } from "./forms.js";
import { page, pageHeaders } from "./layout.js";

/** What the page of a program that wants to connect shows. */
export interface ConnectView {
  /** The path of the page; its forms are below. */
  readonly path: string;
  /** The name that the program gives itself. */
  readonly clientName: string | undefined;
  /** Where the person is sent back to. */
  readonly host: string;
  readonly scopes: readonly Scope[];
  /** The address that a code was sent to, so that the page asks for it. */
  readonly email?: string | undefined;
  /** An address to which no code could be sent. */
  readonly refusedEmail?: string | undefined;
  /** What was wrong with the last attempt. */
  readonly problem?: Failure | undefined;
}

export function connectPage(view: ConnectView): string {
  const { path, clientName, host, scopes, email, problem } = view;
  const name = clientName ?? host;
  const asked = email === undefined ? undefined : ENTER_CODE;
  return page(
    `Connect ${name}`,
    html`<p><strong>${isolate(name)}</strong> wants to use your Memory Graph. If you allow it, it can:</p>
      <ul>
        ${scopes.map((scope) => html`<li>${SCOPE_DESCRIPTIONS[scope]}</li>`)}
      </ul>
      <p>
        You will be sent back to <strong>${host}</strong>. A program can give itself any name: continue only if you came
        from there.
      </p>
      ${email === undefined ? html`<p>${PRODUCT}</p>` : undefined}
      ${problemNote(problem)}${email === undefined ? addressForm(view) : codeForms(path, email, problem)}`,
    { event: problem ? PROBLEM : asked },
  );
}

const addressForm = ({ path, refusedEmail, problem }: ConnectView): Html =>
  html`<form method="post" action="${path}/code">
    ${emailField(refusedEmail, html`autofocus ${describeField("about-email", problem)}`)}
    <p class="aside" id="about-email">A code is sent there, also if you are new.</p>
    <button class="main">Send a code</button>
    <button name="answer" value="refuse" formaction="${path}/answer" formnovalidate>Refuse</button>
  </form>`;

const codeForms = (path: string, email: string, problem: Failure | undefined): Html =>
  html`<form method="post" action="${path}/answer">
      ${codeField(email, problem)}
      <div>
        <button class="main" name="answer" value="allow">Allow</button>
        <button name="answer" value="refuse" formnovalidate>Refuse</button>
      </div>
    </form>
    <form method="post" action="${path}/code">
      <input type="hidden" name="email" value="${email}" />
      <button>Send another code</button>
    </form>
    <p class="aside"><a href="${path}?address">Use another address</a></p>`;

/** For a request that cannot continue. */
export const connectProblemPage = (message: string): string =>
  page("That did not work", html`<p class="problem" role="alert">${inMinutes(message.replaceAll("`", ""))}</p>`);

/** @param redirectUri where the answer leads; browsers apply `form-action` to redirects after a form, too */
export const connectHeaders = (redirectUri?: string) =>
  pageHeaders(redirectUri === undefined ? [] : [formTarget(new URL(redirectUri))]);

/** What forms may lead to, for a policy: an origin; the scheme for apps, and for hosts that could break the policy. */
const formTarget = ({ protocol, origin, host }: URL): string =>
  /^https?:$/.test(protocol) && /^[a-z\d.-]+(?::\d+)?$/.test(host) ? origin : protocol;
