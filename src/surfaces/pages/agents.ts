import type { Handler, Router } from "express";
import type { Operation } from "../../operation/operation.js";
import { type Html, html, prose } from "../../platform/html.js";
import { linkFrom } from "../navigation.js";
import { AGENTS_URL, AGENT_CLIENTS } from "./agent-clients.js";
import { onlyForBrowsers } from "./home.js";
import { documentationRoute, showCode } from "./layout.js";

const PATH = "/docs/agents";

interface AgentsPageParts {
  readonly publicUrl: () => string;
  /** Whether programs without a key can connect by OAuth. */
  readonly offersOAuth: boolean;
  readonly charge: Handler;
}

/** A page on connecting agents, which also opens for people at the address for agents. */
export function agentsPage(
  operations: readonly Operation[],
  { publicUrl, offersOAuth, charge }: AgentsPageParts,
): Router {
  const router = documentationRoute(PATH, "Agents", () => bodyOf(operations, { url: publicUrl(), offersOAuth }));
  for (const path of offersOAuth ? ["/mcp", "/mcp/oauth"] : ["/mcp"])
    router.get(path, onlyForBrowsers, charge, (_request, response) =>
      response.redirect(303, linkFrom(path, { path: PATH })),
    );
  return router;
}

const bodyOf = (
  operations: readonly Operation[],
  { url, offersOAuth }: { readonly url: string; readonly offersOAuth: boolean },
): Html =>
  html`<p>
      Agents find and store memories by MCP, over Streamable HTTP, at <code>${url}/mcp</code>, with an API key in
      <code>Authorization: Bearer</code>.
    </p>
    ${AGENT_CLIENTS.map(
      ({ name, about, code }) =>
        html`<h2>${name}</h2>
          <p>${prose(about)}</p>
          ${showCode(code.replaceAll(AGENTS_URL, url))}`,
    )}
    ${offersOAuth ? withoutKey(url) : undefined}
    <h2>Tools</h2>
    <p>An agent sees only the tools that the scopes of its key allow.</p>
    <dl>
      ${operations.flatMap(({ mcp }) =>
        mcp
          ? [
              html`<dt><code>${mcp.name}</code></dt>
                <dd>${prose(mcp.description)}</dd>`,
            ]
          : [],
      )}
    </dl>`;

const withoutKey = (url: string): Html =>
  html`<h2>claude.ai, ChatGPT, and others that take no key</h2>
    <p>
      These connect by OAuth, at <code>${url}/mcp/oauth</code>. A page then shows which program asks and what it wants,
      and sends a code to your e-mail address.
    </p>
    <p>ChatGPT's deep research and company knowledge need <code>${url}/mcp/oauth?tools=search,fetch</code>.</p>`;
