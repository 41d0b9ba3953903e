import "graphiql/setup-workers/vite";
import "graphiql/style.css";
import "./style.css";
import { GraphiQL, HISTORY_PLUGIN } from "graphiql";
import type { ComponentProps } from "react";
import { createRoot } from "react-dom/client";
import { EXAMPLES_PLUGIN } from "./examples-panel.js";
import { HEADERS, HeadersOfNewTabs } from "./headers.js";

const WELCOME = `# Memory Graph Gateway
#
# 1. Put your API key below,
#    in the Headers. \`npm
#    start\` prints one for
#    development.
# 2. Press the play button.
#
# Ctrl-Space completes.

query Viewer {
  viewer {
    email
    plan
  }
}
`;

/** Asks the service that this page comes from. */
const fetcher: ComponentProps<typeof GraphiQL>["fetcher"] = async (request, options) => {
  // The schema is open to all; a key that is wrong, or not there yet, must not hide the documentation.
  const headers = request.operationName === "IntrospectionQuery" ? {} : options?.headers;
  const response = await fetch("/graphql", {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(request),
  });
  return response.json();
};

const root = document.getElementById("playground");
if (!root) throw new Error("The page has no place for the playground.");

// With the tab everything is forgotten: what is stored holds the API key, in GraphiQL's history too.
createRoot(root).render(
  <GraphiQL
    fetcher={fetcher}
    storage={sessionStorage}
    shouldPersistHeaders
    defaultHeaders={HEADERS}
    defaultEditorToolsVisibility="headers"
    defaultQuery={WELCOME}
    plugins={[EXAMPLES_PLUGIN, HISTORY_PLUGIN]}
    visiblePlugin={EXAMPLES_PLUGIN}
  >
    <GraphiQL.Logo>
      <span className="playground-title">Memory Graph Gateway</span>
    </GraphiQL.Logo>
    <HeadersOfNewTabs />
  </GraphiQL>,
);
