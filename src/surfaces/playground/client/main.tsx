import "graphiql/setup-workers/vite";
import "graphiql/style.css";
import "./style.css";
import { GraphiQL, HISTORY_PLUGIN } from "graphiql";
import { createRoot } from "react-dom/client";
import { EXAMPLES_PLUGIN } from "./examples-panel.js";
import { askService } from "./fetcher.js";
import { EditorColors } from "./editor-colors.js";
import { EditorKeys } from "./editor-keys.js";
import { HEADERS, HeadersOfNewTabs } from "./headers.js";
import { linkedMemory } from "./linked-memory.js";

const WELCOME = `# Memory Graph Gateway
#
# 1. Put your API key below,
#    in the Headers tab.
#    \`npm start\` prints one
#    for development.
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

const root = document.getElementById("playground");
if (!root) throw new Error("The page has no element with the id `playground`.");

// The editor and its languages are loaded after the page.
addEventListener("vite:preloadError", () => {
  const incomplete = document.getElementById("incomplete");
  if (incomplete) incomplete.hidden = false;
});

const linked = linkedMemory(location.search);

// Session storage is deleted with the tab: it contains the API key, also in GraphiQL's history.
createRoot(root).render(
  <GraphiQL
    fetcher={askService}
    storage={sessionStorage}
    shouldPersistHeaders
    defaultHeaders={HEADERS}
    defaultEditorToolsVisibility="headers"
    defaultQuery={WELCOME}
    {...(linked === undefined ? {} : { initialQuery: linked })}
    plugins={[EXAMPLES_PLUGIN, HISTORY_PLUGIN]}
    visiblePlugin={EXAMPLES_PLUGIN}
  >
    <GraphiQL.Logo>
      <h1 className="playground-title">
        <a href="./">Memory Graph Gateway</a>
      </h1>
    </GraphiQL.Logo>
    <HeadersOfNewTabs />
    <EditorColors />
    <EditorKeys />
  </GraphiQL>,
);
