import type { IncomingHttpHeaders } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { Stripe } from "stripe";
import { passTime } from "./due.js";
import { ApiError, invalidRequest, unknownUrl } from "./errors.js";
import { expand } from "./expand.js";
import { type Fault, type Faults, interposedBy, serverError } from "./faults.js";
import { SavedAnswers, fingerprintOf } from "./idempotency.js";
import { toJson } from "./json.js";
import { type Tree, decode } from "./params.js";
import { catalogueRoutes } from "./routes/catalogue.js";
import { taxRoutes } from "./routes/tax.js";
import { checkoutRoutes } from "./routes/checkout.js";
import { eventRoutes } from "./routes/events.js";
import { invoiceRoutes } from "./routes/invoices.js";
import { portalRoutes } from "./routes/portal.js";
import type { Route } from "./routes/route.js";
import { subscriptionRoutes } from "./routes/subscriptions.js";
import type { Scene } from "./scene.js";
import { newId } from "./state.js";

/** A received API request, with its answer. */
export interface StandInRequest {
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  /** Decoded and nested, from the query or the body; empty when they cannot be decoded. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly idempotencyKey: string | undefined;
  readonly stripeVersion: string | undefined;
  /** Undefined until it is answered; for some faults it never is. */
  readonly status: number | undefined;
  /** Whether the answer was replayed under the same idempotency key. */
  readonly replayed: boolean;
}

/** A request as received by HTTP. */
export interface Incoming {
  readonly method: string;
  readonly path: string;
  /** The encoded parameters: the query's and the body's. */
  readonly encoded: string;
  readonly headers: IncomingHttpHeaders;
}

/** The reaction: an answer, no answer, or a closed connection. */
export type Outgoing =
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly headers: Record<string, string>;
      readonly body: string;
    }
  | { readonly kind: "silence" }
  | { readonly kind: "cut" };

interface Made {
  readonly status: number;
  readonly body: string;
  /** The id of the earlier request that the answer was made for, if it is replayed. */
  readonly original?: string;
}

const ROUTES: readonly Route[] = [
  ...catalogueRoutes,
  ...checkoutRoutes,
  ...subscriptionRoutes,
  ...invoiceRoutes,
  ...portalRoutes,
  ...eventRoutes,
  ...taxRoutes,
];

/** How many requests are stored; the oldest are removed first. */
const REQUESTS_MAX = 10_000;
const SLOW_MS = 1_000;

type Noted = { -readonly [K in keyof StandInRequest]: StandInRequest[K] };

/** The API: authentication, idempotency keys, faults and routes. */
export class Api {
  readonly requests: StandInRequest[] = [];
  readonly #saved: SavedAnswers;

  constructor(
    private readonly scene: Scene,
    private readonly faults: Faults,
  ) {
    this.#saved = new SavedAnswers(scene.store);
  }

  async answer(incoming: Incoming): Promise<Outgoing> {
    const id = newId("req");
    const noted = this.#note(incoming);
    try {
      assertKey(incoming.headers.authorization, this.scene.state.secretKey);
      const outgoing = await this.#answerInTime(id, incoming, noted);
      if (outgoing.kind === "answer") noted.status = outgoing.status;
      return outgoing;
    } catch (error) {
      const { status, body } = madeOf(error);
      noted.status = status;
      return { kind: "answer", status, headers: headersOf(id, noted), body };
    }
  }

  #note({ method, path, encoded, headers }: Incoming): Noted {
    const noted: Noted = {
      method,
      path,
      params: decodable(encoded),
      idempotencyKey: single(headers["idempotency-key"]),
      stripeVersion: single(headers["stripe-version"]),
      status: undefined,
      replayed: false,
    };
    this.requests.push(noted);
    if (this.requests.length > REQUESTS_MAX) this.requests.shift();
    return noted;
  }

  async #answerInTime(id: string, incoming: Incoming, noted: Noted): Promise<Outgoing> {
    const fault = this.faults.next(incoming.method, incoming.path);
    if (fault && fault.kind !== "500") this.faults.use(fault);
    if (fault?.kind === "hang") return { kind: "silence" };
    if (fault?.kind === "cut-before") return { kind: "cut" };
    const interposed = fault && interposedBy(fault);
    if (interposed) {
      const headers = { ...headersOf(id, noted), "Content-Type": interposed.type };
      return { kind: "answer", status: interposed.status, headers, body: interposed.body };
    }
    // Idempotency keys affect only requests that change something.
    const key = incoming.method === "POST" ? noted.idempotencyKey : undefined;
    const made = this.#make(id, incoming, key, fault);
    if (fault?.kind === "slow") await this.#wait(fault, key);
    if (fault?.kind === "cut-after") return { kind: "cut" };
    noted.replayed = made.original !== undefined;
    const headers = headersOf(id, noted);
    if (made.original !== undefined) {
      Object.assign(headers, { "Idempotent-Replayed": "true", "Original-Request": made.original });
    }
    return { kind: "answer", status: made.status, headers, body: made.body };
  }

  /** The key stays in use until its request is answered. */
  async #wait({ delayMs = SLOW_MS }: Fault, key: string | undefined): Promise<void> {
    if (key !== undefined) this.#saved.take(key);
    try {
      await sleep(delayMs);
    } finally {
      if (key !== undefined) this.#saved.release(key);
    }
  }

  #make(id: string, incoming: Incoming, key: string | undefined, fault: Fault | undefined): Made {
    const params = decode(incoming.encoded);
    const fingerprint = fingerprintOf(incoming.method, incoming.path, params);
    const saved = key === undefined ? undefined : this.#saved.find(key, fingerprint);
    if (saved) return { status: saved.status, body: saved.body, original: saved.request };
    const run = this.#prepare(incoming, params);
    // Before the request runs, so that events of the clock do not name it as their cause.
    passTime(this.scene, this.scene.store.nowMs());
    const made = this.#run(id, key, fault, run);
    if (key !== undefined) this.#saved.save(key, { request: id, fingerprint, ...made });
    if (incoming.method !== "GET") this.scene.store.save();
    return made;
  }

  /** Finds the route and checks the parameters. A refusal here is not stored under the idempotency key. */
  #prepare({ method, path }: Incoming, params: { readonly [name: string]: Tree }): () => object {
    for (const route of ROUTES) {
      const match = route.method === method && patternOf(route.path).exec(path);
      if (!match) continue;
      const handle = route.prepare(params);
      const paths = Array.isArray(params["expand"]) ? params["expand"] : [];
      return () => {
        const answer = toJson(handle(this.scene, decodeURIComponent(match[1] ?? "")));
        return paths.reduce((object, wanted) => expand(this.scene, object, String(wanted)), answer);
      };
    }
    throw unknownUrl(method, path);
  }

  #run(id: string, key: string | undefined, fault: Fault | undefined, run: () => object): Made {
    this.scene.cause = { id, idempotencyKey: key ?? null };
    try {
      if (fault?.kind === "500") {
        this.faults.use(fault);
        throw serverError();
      }
      return { status: 200, body: JSON.stringify(run(), undefined, 2) };
    } catch (error) {
      return madeOf(error);
    } finally {
      this.scene.cause = null;
    }
  }
}

/** A bug of the stand-in is shown with its message, since its users are developers. */
function madeOf(error: unknown): Made {
  const known =
    error instanceof ApiError
      ? error
      : new ApiError(500, { type: "api_error", message: `A bug of the stand-in: ${String(error)}` });
  return { status: known.status, body: JSON.stringify({ error: known.body }, undefined, 2) };
}

const headersOf = (id: string, { stripeVersion, idempotencyKey }: StandInRequest): Record<string, string> => ({
  "Content-Type": "application/json",
  "Cache-Control": "no-cache, no-store",
  "Request-Id": id,
  "Stripe-Version": stripeVersion ?? Stripe.API_VERSION,
  ...(idempotencyKey !== undefined && { "Idempotency-Key": idempotencyKey }),
});

/** The key is a bearer token, or the user name of basic authentication without a password. */
function assertKey(authorization: string | undefined, secretKey: string): void {
  const [scheme = "", value = ""] = (authorization ?? "").split(" ");
  const key = /^basic$/i.test(scheme) ? Buffer.from(value, "base64").toString().split(":")[0] : value;
  if (key === secretKey && /^(basic|bearer)$/i.test(scheme)) return;
  const message = key
    ? `Invalid API Key provided: ${key.slice(0, 8)}***`
    : "You did not provide an API key. You need to provide your API key in the Authorization header.";
  throw invalidRequest(message, {}, 401);
}

const patternOf = (path: string): RegExp => new RegExp(`^${path.replace(":id", "([^/]+)")}$`);

const single = (header: string | readonly string[] | undefined): string | undefined =>
  typeof header === "string" ? header : header?.[0];

function decodable(encoded: string): Readonly<Record<string, unknown>> {
  try {
    return decode(encoded);
  } catch {
    return {};
  }
}
