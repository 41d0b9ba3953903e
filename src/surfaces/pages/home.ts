import { type Handler, Router } from "express";
import { PRODUCT } from "../../operation/product.js";
import { html } from "../../platform/html.js";
import { prefersPage } from "../http.js";
import { HOME, PAGE_LINKS, linkFrom } from "../navigation.js";
import { PAGE_HEADERS, documentationPage } from "./layout.js";

/** The home page for browsers, charged by `charge`. Programs get 404 at `/`, as at any unknown path. */
export function homePage(charge: Handler): Router {
  const router = Router({ caseSensitive: true, strict: true });
  return router.get(HOME.path, onlyForBrowsers, charge, showHome);
}

/** Skips the route for programs, such as clients of the same path. */
export const onlyForBrowsers: Handler = (request, response, next) => {
  response.vary("Accept");
  next(prefersPage(request) ? undefined : "route");
};

const HEALTH = [
  { path: "/healthz", about: "whether the process is alive" },
  { path: "/readyz", about: "whether it can serve" },
];

const showHome: Handler = (_request, response) => {
  response.set(PAGE_HEADERS).send(
    documentationPage(
      HOME.path,
      "Memory Graph Gateway",
      html`<p>
          ${PRODUCT} Notes are linked by typed relationships, which tell what solved, caused or replaced what. Agents
          use it by MCP at <code>/mcp</code>, programs by REST and GraphQL.
        </p>
        <dl>
          ${PAGE_LINKS.map(
            (place) =>
              html`<dt><a href="${linkFrom(HOME.path, place)}">${place.name}</a></dt>
                <dd>${place.about}</dd>`,
          )}
        </dl>
        <h2>The first request</h2>
        <p>
          Programs send an API key with each request: <code>Authorization: Bearer mg_live_&hellip;</code>. A development
          server prints a key when it starts; otherwise <code>POST /signup</code> sends a code by e-mail, and
          <code>POST /signup/confirm</code> exchanges it for a key.
        </p>
        <h2>Health</h2>
        <ul>
          ${HEALTH.map(({ path, about }) => html`<li><a href=".${path}">${path}</a>: ${about}</li>`)}
        </ul>`,
    ),
  );
};
