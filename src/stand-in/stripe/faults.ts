import { ApiError, invalidRequest } from "./errors.js";

const KINDS = [
  "hang",
  "slow",
  "cut-before",
  "cut-after",
  "429",
  "409-lock",
  "500",
  "502-html",
  "502-json",
  "json-number",
  "json-null",
  "hollow",
  "400",
] as const;

/** Bodies that come from something in front of the API, and are JSON, but nothing that Stripe would say. */
const ODD_BODIES: Partial<Readonly<Record<Fault["kind"], string>>> = {
  "json-number": "5",
  "json-null": "null",
  hollow: '{"object":"subscription"}',
};

/** How the next requests that match fail. */
export interface Fault {
  readonly kind: (typeof KINDS)[number];
  /** Of which method; any, when there is none. */
  readonly method?: string;
  /** Of which path, without its query; any, when there is none. */
  readonly path?: RegExp;
  /** How often; once, when it is not said. */
  readonly times?: number;
  /** How late a slow answer is, in milliseconds; its effect is not late. */
  readonly delayMs?: number;
}

export const isFaultKind = (kind: unknown): kind is Fault["kind"] => KINDS.some((known) => known === kind);

/** The faults that are still to come. */
export class Faults {
  #left: { readonly fault: Fault; times: number }[] = [];

  add(fault: Fault): void {
    this.#left.push({ fault, times: fault.times ?? 1 });
  }

  clear(): void {
    this.#left = [];
  }

  /** The first one that matches, which stays until it is used. */
  next(method: string, path: string): Fault | undefined {
    return this.#left.find(
      ({ fault }) => (fault.method ?? method).toUpperCase() === method && (fault.path?.test(path) ?? true),
    )?.fault;
  }

  use(fault: Fault): void {
    const entry = this.#left.find((left) => left.fault === fault);
    if (entry && --entry.times <= 0) this.#left = this.#left.filter((left) => left !== entry);
  }
}

/** An answer that comes from something in front of the API: nothing was done, and nothing is kept of it. */
export interface Interposed {
  readonly status: number;
  readonly type: "application/json" | "text/html";
  readonly body: string;
}

/** What is answered for faults that are an answer; undefined for those that are the lack of one. */
export function interposedBy({ kind }: Fault): Interposed | undefined {
  if (kind === "502-html") return { status: 502, type: "text/html", body: "<html><h1>502 Bad Gateway</h1></html>" };
  if (kind === "502-json") return { status: 502, type: "application/json", body: '{"message":"Bad gateway"}' };
  const odd = ODD_BODIES[kind];
  if (odd !== undefined) return { status: 200, type: "application/json", body: odd };
  const error = errorOf(kind);
  return error && { status: error.status, type: "application/json", body: JSON.stringify({ error: error.body }) };
}

function errorOf(kind: Fault["kind"]): ApiError | undefined {
  if (kind === "400") return invalidRequest("The stand-in was told to refuse this request.");
  if (kind === "429") {
    return invalidRequest("Request rate limit exceeded.", { code: "rate_limit" }, 429);
  }
  if (kind !== "409-lock") return undefined;
  const message = "This object cannot be accessed right now because another request is currently accessing it.";
  return invalidRequest(message, { code: "lock_timeout" }, 409);
}

/** A bug of the server's, met while it was at it: unlike the others it is kept under the idempotency key. */
export const serverError = (): ApiError =>
  new ApiError(500, { type: "api_error", message: "An unknown error occurred." });
