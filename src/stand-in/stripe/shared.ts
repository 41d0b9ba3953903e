import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { startStandInStripe } from "./index.js";
import type { StandInStripe } from "./stand-in-stripe.js";

/** What one process may do with the stand-in of another. */
export interface SharedStandIn extends Pick<StandInStripe, "url" | "secretKey" | "webhookSecret" | "priceId"> {
  /** Sends events to this address too, until it is disposed of. */
  sendEventsTo(url: string): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Joins the stand-in that stores its state in this file, or starts it: two with one file would overwrite what the other
 * one stored. The file decides the port, and only one process gets a port, so of several that start at once one starts
 * the stand-in and the others join it. Throws if the file exists but cannot be read or is not JSON.
 */
export async function shareStandIn(stateFile: string): Promise<SharedStandIn | StandInStripe> {
  // The same in all processes, whatever their working folder.
  const file = join(realpathSync(dirname(stateFile)), basename(stateFile));
  for (const port of portsOf(file)) {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const own = await startStandInStripe({ stateFile: file, port }).catch(ignoreTaken);
      if (own) return own;
      const said = await askStandIn(port);
      if (said?.stateFile === file) return joinStandIn(said);
      // Another program has the port. Without an answer, a stand-in may have just ended, or be busy.
      if (said) break;
    }
  }
  return startStandInStripe({ stateFile: file });
}

const ATTEMPTS = 5;
const ANSWER_MS = 2_000;
/** Below those that systems give to connections. */
const PORTS = { first: 30_000, count: 2_700, tried: 8 };

function portsOf(file: string): number[] {
  const begin = createHash("sha256").update(file).digest().readUInt32BE();
  return Array.from({ length: PORTS.tried }, (_, step) => PORTS.first + ((begin + step) % PORTS.count));
}

/** On Windows, a port that is reserved for others is forbidden. */
function ignoreTaken(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "EADDRINUSE" && error.code !== "EACCES") throw error;
}

type Said = Partial<StandInStripe>;

/** What the program at this port says of itself: undefined if it does not answer, nothing if it is no stand-in. */
async function askStandIn(port: number): Promise<Said | undefined> {
  const answer = await fetch(`http://127.0.0.1:${port}/_stand-in/`, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(
    () => undefined,
  );
  return answer?.json().catch(() => ({})) as Promise<Said> | undefined;
}

function joinStandIn({ url, secretKey, webhookSecret, priceId }: Said): SharedStandIn {
  let events: string | undefined;
  const tell = async (path: string, address: string) => {
    const body = JSON.stringify({ url: address });
    await fetch(`${url}/_stand-in/${path}`, { method: "POST", headers: { "content-type": "application/json" }, body });
  };
  return {
    url: String(url),
    secretKey: String(secretKey),
    webhookSecret: String(webhookSecret),
    priceId: String(priceId),
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
