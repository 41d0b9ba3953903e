import type { Config } from "../../config.js";
import { Problem } from "./problem.js";

export async function checkPublicAddress({ publicUrl }: Config): Promise<string | undefined> {
  if (publicUrl === undefined) return undefined;
  const response = await fetch(`${publicUrl}/healthz`, { signal: AbortSignal.timeout(5_000) }).catch(
    (error: unknown) => {
      const { message, cause } = error as Error;
      throw new Problem(
        `${publicUrl} cannot be reached from here (${(cause as Error | undefined)?.message ?? message}): check ` +
          "the name, the proxy and the certificate, and that the service runs.",
      );
    },
  );
  if (response.ok) return `${publicUrl} leads to a running service.`;
  throw new Problem(`${publicUrl}/healthz answers ${response.status}: check the proxy, and that the service runs.`);
}
