import { Provider } from "oidc-provider";

const ON_THIS_MACHINE = ["http://127.0.0.1/callback", "http://localhost/callback"];

/** By these statuses a site says that it has no such document, or has withdrawn it. */
const HAS_NONE: readonly unknown[] = [404, 410];

/**
 * Documents of widely used clients: Claude's as they were published in September 2026, the others as public sources had
 * them in November. The sites of some answer servers of hosting providers with a challenge for browsers instead
 * (https://github.com/anthropics/claude-ai-mcp/issues/650, https://github.com/getsentry/sentry-mcp/pull/1312), and some
 * servers may not connect to the web at all. Codex and Claude Code do not register instead: the metadata says that
 * documents are read.
 */
const KNOWN: Readonly<Record<string, object>> = {
  "https://claude.ai/oauth/mcp-oauth-client-metadata": {
    client_name: "Claude",
    redirect_uris: ["https://claude.ai/api/mcp/auth_callback"],
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

/**
 * Fetches a client's document. Where it cannot be read, takes the known one; without one, a program that sends its user
 * back to their own machine goes by the host of its document, unless its site says that it has none. Registration lets
 * it do that under any name, too.
 * @throws Error unless oidc-provider gives the dispatcher that closes connections to internal addresses. It makes it from
 * parts of Node that are not documented, and without them would fetch from anywhere. Also if there is no document.
 */
export const fetchDocument: typeof fetch = async (id, options) => {
  if (!(options && "dispatcher" in options)) throw new Error("connections to internal addresses cannot be refused");
  const document = typeof id === "string" ? documentWithout(id) : undefined;
  if (!document) return fetch(id, options);
  const response = await fetch(id, options).catch(() => undefined);
  if (response?.status === 200 && response.headers.get("content-type")?.startsWith("application/json")) return response;
  if (HAS_NONE.includes(response?.status) && !Object.hasOwn(KNOWN, String(id))) return response as Response;
  await response?.body?.cancel();
  return Response.json({ client_id: id, ...document });
};

/** Whether browsers are sent to a program on the person's own machine, in the only place where plain HTTP may be used. */
export function isOnThisMachine(uri: string): boolean {
  if (!URL.canParse(uri)) return false;
  const { protocol, hostname } = new URL(uri);
  return protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
}

/** What a client is taken for while its document cannot be read. A refresh names no address, and leads nowhere. */
function documentWithout(id: string): object | undefined {
  if (Object.hasOwn(KNOWN, id)) return KNOWN[id];
  const { redirect_uri: asked } = Provider.ctx?.oidc.params ?? {};
  if (asked === undefined) return { client_name: new URL(id).host, redirect_uris: ON_THIS_MACHINE };
  if (typeof asked !== "string" || !isOnThisMachine(asked)) return undefined;
  return { client_name: new URL(id).host, redirect_uris: [...ON_THIS_MACHINE, asked] };
}
