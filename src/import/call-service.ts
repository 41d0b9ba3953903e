import { ImportStopped } from "./import-stopped.js";

/**
 * Sends a request with an API key. Redirects are not followed: `fetch` would repeat a POST as a GET without a body, and
 * at another host without the key, so that a good key would look wrong.
 * @param url the service's address; `path` may have a query
 * @throws ImportStopped naming the address that the server redirects to
 */
export async function callService(url: string, path: string, request: RequestInit): Promise<Response> {
  const response = await fetch(`${url}${path}`, { ...request, redirect: "manual" });
  const location = response.headers.get("location");
  if (response.status < 300 || response.status > 399 || !location || !URL.canParse(location, `${url}${path}`))
    return response;
  await response.body?.cancel();
  // Without the query, which may be secret.
  const { origin, pathname } = new URL(location, `${url}${path}`);
  const [asked = ""] = path.split("?");
  const base = pathname.endsWith(asked) ? pathname.slice(0, -asked.length) : pathname;
  throw new ImportStopped(`${url} redirects to ${origin}${base}. Give the service's own address by --url.`);
}
