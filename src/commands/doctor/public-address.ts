import type { Config } from "../../config.js";
import { Problem } from "./problem.js";

export async function checkPublicAddress({ publicUrl }: Config): Promise<string | undefined> {
  if (publicUrl === undefined) return undefined;
  const response = await fetch(`${publicUrl}/healthz`, {
    redirect: "manual",
    signal: AbortSignal.timeout(5_000),
  }).catch((error: unknown) => {
    const { message, cause } = error as Error;
    throw new Problem(
      `${publicUrl} cannot be reached from here (${(cause as Error | undefined)?.message ?? message}): check ` +
        "the name, the proxy and the certificate, and that the service runs.",
    );
  });
  if (response.ok && response.headers.get("content-type")?.includes("html")) {
    throw new Problem(
      `${publicUrl}/healthz is a page of another program: check PUBLIC_URL, and that the proxy passes on all paths.`,
    );
  }
  if (response.ok) return `${publicUrl} leads to a running service.`;
  // Without the query, which may be secret.
  const [location = ""] = response.headers.get("location")?.split("?") ?? [];
  if (location !== "") {
    throw new Problem(
      `${publicUrl}/healthz redirects to ${location}. Clients do not follow that with a POST or a key: set PUBLIC_URL ` +
        "to the address that answers itself.",
    );
  }
  // A server answers 200 there, ready or not: such a status is a proxy's, which has none to ask.
  const isOfProxy = [502, 503, 504].includes(response.status);
  const why = isOfProxy ? ", as a proxy does while no server is ready: if no other part is wrong here," : ":";
  throw new Problem(
    `${publicUrl}/healthz answers ${response.status}${why} check PUBLIC_URL, the proxy, and that the service runs.`,
  );
}
