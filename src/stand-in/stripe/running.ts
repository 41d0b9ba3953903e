import { readState } from "./state.js";
import type { StandInStripe } from "./stand-in-stripe.js";

/** What one process may do with the stand-in of another. */
export interface SharedStandIn extends Pick<StandInStripe, "url" | "secretKey" | "webhookSecret" | "priceId"> {
  /** Sends events to this address too, until it is disposed of. */
  sendEventsTo(url: string): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Finds the stand-in of another process that stores its state in this file and still runs. Two with one file would
 * overwrite what the other one stored. Throws if the file exists but cannot be read or is not JSON.
 */
export async function runningStandIn(stateFile: string): Promise<SharedStandIn | undefined> {
  const kept = readState(stateFile);
  if (kept?.url === undefined) return undefined;
  const control = `${kept.url}/_stand-in`;
  const said = await fetch(`${control}/`, { signal: AbortSignal.timeout(ANSWER_MS) })
    .then((answer) => answer.json() as Promise<SharedStandIn | null>)
    .catch(() => undefined);
  // Another program may listen at its port now.
  if (!said || said.secretKey !== kept.secretKey) return undefined;
  const { url, secretKey, webhookSecret, priceId } = said;
  let events: string | undefined;
  const tell = async (path: string, address: string) => {
    const body = JSON.stringify({ url: address });
    await fetch(`${control}/${path}`, { method: "POST", headers: { "content-type": "application/json" }, body });
  };
  return {
    ...{ url, secretKey, webhookSecret, priceId },
    async sendEventsTo(address) {
      events = address;
      await tell("webhook", address);
    },
    async [Symbol.asyncDispose]() {
      // It may have ended before.
      if (events !== undefined) await tell("webhook/end", events).catch(() => {});
    },
  };
}

const ANSWER_MS = 2_000;
