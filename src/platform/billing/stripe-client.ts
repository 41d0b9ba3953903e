import type { IncomingMessage } from "node:http";
import https from "node:https";
import { Stripe } from "stripe";
import { LIMITS } from "../../limits.js";
import { adviceForCertificate } from "../certificate-advice.js";
import { type Meter, measureOutgoing } from "../telemetry/meter.js";
import type { Tracer } from "../telemetry/tracer.js";
import { whenLate } from "../../within-time.js";

const STRIPE = "https://api.stripe.com";

/** Many times the largest answer: a hundred subscriptions with an invoice each. */
const ANSWER_MAX_BYTES = 33_554_432;

/** What operators watch requests by; undefined unless configured. */
export interface Watchers {
  readonly tracer?: Tracer | undefined;
  readonly meter?: Meter | undefined;
}

/** A client of Stripe, or of the stand-in at another address. */
export function stripeClient(
  secretKey: string,
  apiBase: string | undefined,
  { tracer, meter }: Watchers = {},
  longestMs: number = LIMITS.payments.changeMs,
): Stripe {
  const { protocol, hostname, port } = new URL(apiBase ?? STRIPE);
  // Node's own agent goes through a proxy where Node is told to; those of Stripe's package never do.
  const httpClient = Stripe.createNodeHttpClient(apiBase === undefined ? https.globalAgent : undefined);
  return new Stripe(secretKey, {
    protocol: protocol === "http:" ? "http" : "https",
    host: hostname,
    port: port || (protocol === "http:" ? "80" : "443"),
    timeout: LIMITS.payments.requestMs,
    maxNetworkRetries: 1,
    telemetry: false,
    httpClient: watchRequests(boundedObjects(httpClient, longestMs), { tracer, meter }),
    appInfo: { name: "memory-graph-gateway" },
  });
}

/** For an error of a client at `apiBase`: why that cannot be reached, and what to do. Undefined for other errors. */
export function explainUnreachable(error: unknown, apiBase: string | undefined): string | undefined {
  if (!(error instanceof Stripe.errors.StripeConnectionError)) return undefined;
  // After several attempts to connect, the system's error has a code alone.
  const { message, code } = error.detail instanceof Error ? (error.detail as NodeJS.ErrnoException) : error;
  const why = (message.trim() || code || "no answer").replace(/\.$/, "");
  const otherwise = apiBase
    ? "Check STRIPE_API_BASE, and that this machine may reach it."
    : "Check that this machine may reach it, and look at status.stripe.com.";
  const todo = adviceForCertificate(why, apiBase && "STRIPE_API_BASE") ?? otherwise;
  return `Stripe cannot be reached at ${apiBase ?? STRIPE}: ${why}. ${todo}`;
}

type HttpClient = ReturnType<typeof Stripe.createNodeHttpClient>;

/**
 * Stripe's package expects a JSON object; for other JSON (`5`) it throws an error that cannot be caught. It also keeps
 * whatever arrives, so an answer of any size or length would use up the memory, even after nobody waits for it.
 */
function boundedObjects(client: HttpClient, longestMs: number): HttpClient {
  return {
    getClientName: () => client.getClientName(),
    async makeRequest(...request) {
      const response = await client.makeRequest(...request);
      const read = response.toJSON.bind(response);
      response.toJSON = async () => {
        boundAnswer(response.getRawResponse() as IncomingMessage, longestMs);
        const json: unknown = await read();
        if (typeof json !== "object" || json === null) throw new SyntaxError("The answer is not a JSON object.");
        return json;
      };
      return response;
    },
  };
}

/** Cuts an answer that is too large, or still incomplete after `longestMs`, when no operation waits for it any more. */
function boundAnswer(answer: IncomingMessage, longestMs: number): void {
  const cut = () => answer.destroy(new Error("The answer is too large or too slow."));
  answer.once("close", whenLate(longestMs, cut));
  let size = 0;
  answer.on("data", (part: Buffer | string) => {
    size += part.length;
    if (size > ANSWER_MAX_BYTES) cut();
  });
}

/** Measures each request, also each retry, and gives it a span, whose name contains no ids. */
function watchRequests(client: HttpClient, { tracer, meter }: Watchers): HttpClient {
  return {
    getClientName: () => client.getClientName(),
    makeRequest(...request) {
      const send = () => measureOutgoing(meter, "stripe", () => client.makeRequest(...request));
      if (!tracer) return send();
      const [, , path, method] = request;
      const route = path.replace(/\?.*/, "").replaceAll(/\/[a-z]+_\w*[A-Z0-9]\w*/g, "/:id");
      return tracer.during({ name: `Stripe ${method} ${route}`, isElsewhere: true }, async (note) => {
        const response = await send();
        note({ "http.response.status_code": response.getStatusCode() });
        return response;
      });
    },
  };
}
