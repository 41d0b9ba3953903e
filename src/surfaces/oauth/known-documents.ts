/**
 * Documents of clients whose site answers servers of some hosting providers with a challenge for browsers instead
 * (https://github.com/anthropics/claude-ai-mcp/issues/650), as they were published in September 2026.
 */
const KNOWN: Readonly<Record<string, object>> = {
  "https://claude.ai/oauth/mcp-oauth-client-metadata": {
    client_name: "Claude",
    redirect_uris: ["https://claude.ai/api/mcp/auth_callback"],
  },
  "https://claude.ai/oauth/claude-code-client-metadata": {
    client_name: "Claude Code",
    redirect_uris: ["http://localhost/callback", "http://127.0.0.1/callback"],
  },
};

/**
 * Fetches a client's document; takes the known one where its site refuses programs.
 * @throws Error unless oidc-provider gives the dispatcher that closes connections to internal addresses. It makes it from
 * parts of Node that are not documented, and without them would fetch from anywhere.
 */
export const fetchDocument: typeof fetch = async (id, options) => {
  if (!(options && "dispatcher" in options)) throw new Error("connections to internal addresses cannot be refused");
  const response = await fetch(id, options);
  if (response.status !== 403 || typeof id !== "string" || !Object.hasOwn(KNOWN, id)) return response;
  await response.body?.cancel();
  return Response.json({ client_id: id, ...KNOWN[id] });
};
