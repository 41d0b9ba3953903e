import { readPublic } from "./public-web.js";

const ON_THIS_MACHINE = ["http://127.0.0.1/callback", "http://localhost/callback"];

/**
 * Documents of widely used clients: Claude's as they were published in September 2026, the others as public sources had
 * them in November 2026. The sites of some answer servers of hosting providers with a challenge for browsers instead
 * (https://github.com/anthropics/claude-ai-mcp/issues/650, https://github.com/getsentry/sentry-mcp/pull/1312), and some
 * servers may not connect to the web at all. Codex and Claude Code do not register instead: the metadata says that
 * documents are read.
 */
const KNOWN: Readonly<Record<string, object>> = {
  "https://claude.ai/oauth/mcp-oauth-client-metadata": {
    client_name: "Claude",
    // Anthropic recommends to allow both (https://support.claude.com/en/articles/11503834).
    redirect_uris: ["https://claude.ai/api/mcp/auth_callback", "https://claude.com/api/mcp/auth_callback"],
  },
  "https://claude.ai/oauth/claude-code-client-metadata": {
    client_name: "Claude Code",
    redirect_uris: ON_THIS_MACHINE,
  },
  "https://chatgpt.com/oauth/client.json": {
    client_name: "ChatGPT",
    redirect_uris: ["https://chatgpt.com/connector_platform_oauth_redirect"],
  },
  "https://chatgpt.com/oauth/codex/client.json": { client_name: "Codex", redirect_uris: ON_THIS_MACHINE },
  "https://github.com/copilot/cli/client-metadata.json": {
    client_name: "GitHub Copilot CLI",
    redirect_uris: ON_THIS_MACHINE,
  },
  "https://opencode.ai/oauth/opencode/client.json": { client_name: "opencode", redirect_uris: ON_THIS_MACHINE },
  "https://vscode.dev/oauth/client-metadata.json": {
    client_name: "Visual Studio Code",
    redirect_uris: ["http://127.0.0.1:33418/", "https://vscode.dev/redirect"],
  },
  "https://zed.dev/oauth/client-metadata.json": { client_name: "Zed", redirect_uris: ["http://127.0.0.1/callback"] },
};

/** Connectors that were made in ChatGPT before August 2026 have a document each, with a callback of the same name. */
const CONNECTOR = /^https:\/\/chatgpt\.com\/oauth\/([\w-]+)\/client\.json$/;

function knownDocument(id: string): object | undefined {
  if (Object.hasOwn(KNOWN, id)) return KNOWN[id];
  const name = CONNECTOR.exec(id)?.[1];
  if (name === undefined) return undefined;
  return { client_name: "ChatGPT", redirect_uris: [`https://chatgpt.com/connector/oauth/${name}`] };
}

/** Fetches a client's document from the public web; takes the known one where it cannot be read. */
export async function fetchDocument(id: string, options: RequestInit): Promise<Response> {
  const known = knownDocument(id);
  if (!known) return readPublic(id, options);
  const response = await readPublic(id, options).catch(() => undefined);
  if (response?.headers.get("content-type")?.startsWith("application/json")) return response;
  await response?.body?.cancel();
  return Response.json({ client_id: id, ...known });
}
