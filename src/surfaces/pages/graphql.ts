import type { Router } from "express";
import { Html, html, prose } from "../../platform/html.js";
import { GRAPHQL_RULES } from "../graphql-rules.js";
import { SNIPPETS, SNIPPET_URL, type Snippet } from "./graphql-snippets.js";
import { documentationRoute, showCode } from "./layout.js";

/** A page for developers of frontends. Its code is for the service at `publicUrl`. */
export const graphqlPage = (publicUrl: () => string): Router =>
  documentationRoute("/docs/graphql", "GraphQL from a frontend", () => bodyOf(publicUrl()));

const showSnippet = ({ title, about, install, files }: Snippet, url: string): Html =>
  html`<h2>${title}</h2>
    <p>${prose(about)}</p>
    ${install ? showCode(install) : ""}
    ${Object.entries(files).map(
      ([name, code]) =>
        html`<p><strong>${name}</strong></p>
          ${showCode(code.replaceAll(SNIPPET_URL, `${url}/graphql`))}`,
    )}`;

const bodyOf = (url: string): Html =>
  html`<p>
      Requests go to <code>/graphql</code>, with an API key in <code>Authorization: Bearer</code>. The
      <a href="../graphql">playground</a> shows the schema; REST is described in <a href="../docs">the reference</a>,
      and the limits of a request in <a href="./limits">the limits</a>.
    </p>
    <p>
      Everyone who opens a page can read the key in it: create a key for each user, with only the scopes that the page
      needs, and let it expire.
    </p>
    <h2>Pages of other origins (CORS)</h2>
    <p>
      Browsers let a page call the service if its origin is in the setting <code>ALLOWED_ORIGINS</code>. In development
      pages of <code>http://localhost</code>, <code>http://127.0.0.1</code> and <code>http://[::1]</code>, at any port,
      may call too; a checkout returns to one only if its origin is in <code>ALLOWED_ORIGINS</code>. No cookies are
      used: browsers block requests with <code>credentials: "include"</code>.
    </p>
    <h2>Errors, limits and caches</h2>
    <p>
      A field that is refused is null, and <code>errors</code> has an entry with its path,
      <code>extensions.code</code> and <code>extensions.reason</code>. <a href="./errors">The page of errors</a>
      lists all codes and reasons.
    </p>
    <ul>
      ${GRAPHQL_RULES.map((rule) => html`<li>${prose(rule)}</li>`)}
    </ul>
    <p>
      A search while somebody types costs one request for each query, even if the page aborts it: wait until no key was
      pressed for some 300 ms.
    </p>
    ${SNIPPETS.map((snippet) => showSnippet(snippet, url))}`;
