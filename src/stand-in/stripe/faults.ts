import { ApiError, invalidRequest } from "./errors.js";

const KINDS = [
  "hang",
  "slow",
  "cut-before",
  "cut-after",
  "429",
  "429-lock",
  "500",
  "502-html",
  "502-json",
  "json-number",
  "json-null",
  "hollow",
  "400",
] as const;

/** JSON bodies of a proxy in front of the API, which Stripe would not send. */
const ODD_BODIES: Partial<Readonly<Record<Fault["kind"], string>>> = {
  "json-number": "5",
  "json-null": "null",
  hollow: '{"object":"subscription"}',
};

/** How the next matching requests fail. */
export interface Fault {
  readonly kind: (typeof KINDS)[number];
  /** The method; any by default. */
  readonly method?: string;
  /** The path without its query; any by default. */
  readonly path?: RegExp;
  /** How many matching requests succeed before; none by default. */
  readonly after?: number;
  /** How many requests fail; one by default. */
  readonly times?: number;
  /** How many milliseconds a slow answer is delayed; its effect is immediate. */
  readonly delayMs?: number;
}

export const isFaultKind = (kind: unknown): kind is Fault["kind"] => KINDS.some((known) => known === kind);

/** The faults that are not used up yet. */
export class Faults {
  #left: { readonly fault: Fault; times: number; after: number }[] = [];

  add(fault: Fault): void {
    this.#left.push({ fault, times: fault.times ?? 1, after: fault.after ?? 0 });
  }

  clear(): void {
    this.#left = [];
  }

  /** The first fault that matches a request. It stays until `use` has counted it often enough. */
  next(method: string, path: string): Fault | undefined {
    const matching = this.#left.filter(
      ({ fault }) => (fault.method ?? method).toUpperCase() === method && (fault.path?.test(path) ?? true),
    );
    return matching.find((left) => --left.after < 0)?.fault;
  }

  use(fault: Fault): void {
    const entry = this.#left.find((left) => left.fault === fault);
    if (entry && --entry.times <= 0) this.#left = this.#left.filter((left) => left !== entry);
  }
}

/** An answer of a proxy in front of the API: nothing was done, and it is not stored under the idempotency key. */
export interface Interposed {
  readonly status: number;
  readonly type: "application/json" | "text/html";
  readonly body: string;
}

/** The answer for a fault; undefined for faults without an answer. */
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
  if (kind !== "429-lock") return undefined;
  const message = "This object cannot be accessed right now because another request is currently accessing it.";
  return invalidRequest(message, { code: "lock_timeout" }, 429);
}

/** A server error during the request. Unlike the other faults, it is stored under the idempotency key. */
export const serverError = (): ApiError =>
  new ApiError(500, { type: "api_error", message: "An unknown error occurred." });
