import { LIMITS } from "../limits.js";
import type { WhyUnavailable } from "../platform/database-errors.js";

/** What went wrong, in words no transport owns; each door translates them once, exhaustively. */
export const FAILURE_KINDS = [
  "bad_request",
  "unauthorized",
  "forbidden",
  "not_found",
  "method_not_allowed",
  "conflict",
  "payload_too_large",
  "unsupported_media_type",
  "rate_limited",
  "internal_error",
  "payment_provider_error",
  "unavailable",
] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];

/** A failure the caller can act on. Anything else that is thrown is a bug. */
export abstract class Failure extends Error {
  abstract readonly kind: FailureKind;
  /** A finer word than the kind, stable across releases, where a client could act on it. */
  readonly reason?: string;
  /** What the client needs to act: for a bad request a list of `{ path, message }`. */
  readonly details?: unknown;
  /** When to try again, where time alone helps. */
  readonly retryAfterSeconds?: number;
}

/** A failure that any operation may raise and none has to declare. */
export abstract class CommonFailure extends Failure {}

/** A class of failures that tells what they look like: one that is made from something gives an example of itself. */
export type FailureClass =
  | { new (): Failure; readonly example?: undefined }
  | { new (...args: never[]): Failure; readonly example: Failure };

/** What a failure of this class looks like. */
export const exampleOf = (declared: FailureClass): Failure =>
  declared.example === undefined ? new declared() : declared.example;

const { issues: MOST, issueLength, pathLength, bytes } = LIMITS.refusal;

/** Something in the input that is wrong: where (field names joined by dots) and how. */
export interface InputIssue {
  readonly path: string;
  readonly message: string;
}

export class InvalidInput extends CommonFailure {
  static readonly example = new InvalidInput([{ path: "title", message: "must have 1 to 500 characters" }]);
  readonly kind = "bad_request";
  override readonly details: readonly InputIssue[];

  /** Of many issues the first are told: whoever sends a thousand mistakes needs no thousand answers. */
  constructor(issues: readonly InputIssue[]) {
    const details = issues.slice(0, MOST).map(({ path, message }) => ({
      path: shorten(path, pathLength),
      message: shorten(message, issueLength),
    }));
    while (details.length > 1 && Buffer.byteLength(JSON.stringify(details)) > bytes / 2) details.pop();
    const text = details.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join("; ");
    // A character becomes at most 6 bytes of JSON.
    super(shorten(text, bytes / 16));
    this.details = details;
  }
}

/** At most `max` characters, without half of a surrogate pair at the end. */
export function shorten(text: string, max: number): string {
  return text.length <= max
    ? text
    : `${text
        .slice(0, max - 1)
        .toWellFormed()
        .replace(/\uFFFD$/, "")}…`;
}

/** No key, or one that is malformed, unknown, expired or revoked: told alike, so nothing can be learnt from it. */
export class Unauthorized extends CommonFailure {
  readonly kind = "unauthorized";

  constructor() {
    super("Send a valid API key in the header `Authorization: Bearer <key>`.");
  }
}

/** Told apart from a key that is wrong, since another key would not help. */
export class AccountSuspended extends CommonFailure {
  readonly kind = "forbidden";
  override readonly reason = "account_suspended";

  constructor() {
    super("This account is suspended: nothing can be done with its keys. Ask the operator of this service.");
  }
}

export class ScopeMissing extends CommonFailure {
  static readonly example = new ScopeMissing("memories:write");
  readonly kind = "forbidden";
  override readonly reason = "scope_missing";

  constructor(scope: string) {
    super(`This API key lacks the scope ${scope}. Use a key that has it.`);
  }
}

/** The service cannot do its work for the moment; nothing was changed that was not acknowledged. */
export class Unavailable extends CommonFailure {
  readonly kind = "unavailable";
  override readonly retryAfterSeconds = 2;

  /** Why is for the log alone; `UNAVAILABLE` says what an operator does about it. */
  constructor(readonly why: WhyUnavailable = "busy") {
    super("The service is busy or its database cannot be reached. Try again in a few seconds.");
  }
}

/** A line in which one caller's requests, or steps of them, wait is full; what has begun goes on. */
export class TooManyAtOnce extends CommonFailure {
  readonly kind = "rate_limited";
  override readonly reason = "too_many_at_once";
  override readonly retryAfterSeconds = 1;
}
