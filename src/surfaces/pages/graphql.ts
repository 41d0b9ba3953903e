import { type Handler, Router } from "express";
import { Html, html } from "../../platform/html.js";
import { GRAPHQL_RULES } from "../graphql-rules.js";
import { SNIPPETS, type Snippet } from "./graphql-snippets.js";
import { PAGE_HEADERS, documentationPage, prose } from "./layout.js";

/** How frontends speak GraphQL with the service. Needs no key. */
export function graphqlPage(): Router {
  const router = Router({ caseSensitive: true, strict: true });
  return router.get("/docs/graphql", showGraphQL);
}

/** Everything in it is shown as it is, line by line. */
const showCode = (code: string): Html => html`<pre><code>${code}</code></pre>`;

const showSnippet = ({ title, about, install, files }: Snippet): Html =>
  html`<h2>${title}</h2>
    <p>${about}</p>
    ${install ? showCode(install) : ""}
    ${Object.entries(files).map(
      ([name, code]) =>
        html`<p><strong>${name}</strong></p>
          ${showCode(code)}`,
    )}`;

const showGraphQL: Handler = (_request, response) => {
  response.set(PAGE_HEADERS).send(
    documentationPage(
      "/docs/graphql",
      "GraphQL from a frontend",
      html`<p>
          Every request is a POST to <code>/graphql</code> with an API key in <code>Authorization: Bearer</code>. What
          can be asked stands in the <a href="../graphql">playground</a>; REST is described in
          <a href="../docs">the reference</a>, and what bounds a request in <a href="./limits">the limits</a>.
        </p>
        <p>
          A key in a page can be read by whoever opens the page: make one for each user, with the scopes that the page
          needs, and let it expire.
        </p>
        <h2>Pages of other origins (CORS)</h2>
        <p>
          Browsers let a page call the service if its origin is in the setting <code>ALLOWED_ORIGINS</code>. In
          development pages of <code>http://localhost</code>, <code>http://127.0.0.1</code> and
          <code>http://[::1]</code>, at any port, may call too. No cookies are used.
        </p>
        <h2>Errors, limits and caches</h2>
        <p>
          Where a field is refused, it is null and <code>errors</code> says why at its path, with
          <code>extensions.code</code> and <code>extensions.reason</code>, all of them on
          <a href="./errors">the page of errors</a>.
        </p>
        <ul>
          ${GRAPHQL_RULES.map((rule) => html`<li>${prose(rule)}</li>`)}
        </ul>
        ${SNIPPETS.map(showSnippet)}`,
    ),
  );
};
