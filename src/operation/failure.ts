import { LIMITS } from "../limits.js";
import type { WhyUnavailable } from "../platform/database/database-errors.js";

/** Kinds of failures, independent of the transport; each door maps every kind to its own codes. */
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
  /** More specific than the kind, where a client can act on it; stable across releases. */
  readonly reason?: string;
  /** What the client needs to act: for a bad request a list of `{ path, message }`. */
  readonly details?: unknown;
  /** When to retry, if waiting is enough. */
  readonly retryAfterSeconds?: number;
}

/** A failure that any operation may raise without declaring it. */
export abstract class CommonFailure extends Failure {}

/** A class of failures. A class whose constructor needs arguments has an example, or one for each of its reasons. */
export type FailureClass =
  | { new (): Failure; readonly example?: undefined }
  | { new (...args: never[]): Failure; readonly example: Failure | readonly Failure[] };

/** An example of each reason that a failure of this class can have, for documentation. */
export const examplesOf = (declared: FailureClass): readonly Failure[] =>
  declared.example === undefined ? [new declared()] : [declared.example].flat();

const { issues: issuesMax, issueLength, pathLength, bytes } = LIMITS.refusal;

/** A problem in the input: where (field names joined by dots), and what is wrong. */
export interface InputIssue {
  readonly path: string;
  readonly message: string;
}

export class InvalidInput extends CommonFailure {
  static readonly example = InvalidInput.at("title", "must have 1 to 500 characters");
  readonly kind = "bad_request";
  override readonly details: readonly InputIssue[];

  /** Keeps only the first issues, so that an input with a thousand mistakes does not cause a huge answer. */
  constructor(issues: readonly InputIssue[]) {
    const details = issues.slice(0, issuesMax).map(({ path, message }) => ({
      path: shorten(path, pathLength),
      message: shorten(message, issueLength),
    }));
    while (details.length > 1 && Buffer.byteLength(JSON.stringify(details)) > bytes / 2) details.pop();
    const text = details.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join("; ");
    // A character becomes at most 6 bytes of JSON.
    super(shorten(text, bytes / 16));
    this.details = details;
  }

  /** One problem, at this path; an empty path stands for the input as a whole. */
  static at(path: string, message: string): InvalidInput {
    return new InvalidInput([{ path, message }]);
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

/**
 * No key, or one that is malformed, unknown, expired, revoked or of a deleted account. The message is the same, so it
 * reveals nothing. It names the deletion for the user whose request to delete lost its answer, and is repeated.
 */
export class Unauthorized extends CommonFailure {
  readonly kind = "unauthorized";

  constructor(message = UNAUTHORIZED) {
    super(message);
  }
}

const UNAUTHORIZED =
  "Send a valid API key in the header `Authorization: Bearer <key>`. A key ends when it expires, is revoked, or its " +
  "account is deleted.";

/** Different from the failure for an invalid key, since another key would not help. */
export class AccountSuspended extends CommonFailure {
  readonly kind = "forbidden";
  override readonly reason = "account_suspended";

  constructor() {
    super("This account is suspended, so its keys do not work. Ask the operator of this service.");
  }
}

export class ScopeMissing extends CommonFailure {
  static readonly example = new ScopeMissing(["memories:write"]);
  readonly kind = "forbidden";
  override readonly reason = "scope_missing";

  constructor(scopes: readonly string[]) {
    const [what, them] = scopes.length === 1 ? ["scope", "it"] : ["scopes", "them"];
    super(`This API key lacks the ${what} ${scopes.join(", ")}. Use a key that has ${them}.`);
  }
}

/** The service cannot work at the moment. If a connection to the database broke, a change may have been made. */
export class Unavailable extends CommonFailure {
  readonly kind = "unavailable";
  override readonly retryAfterSeconds = 2;

  /** `why` is only for the log; `UNAVAILABLE` says what an operator can do. */
  constructor(
    readonly why: WhyUnavailable = "busy",
    message = "The service is busy or its database cannot be reached.",
  ) {
    super(`${message} Try again in a few seconds.`);
  }
}

/** The queue of one caller's requests, or of their steps, is full. Requests that have begun continue. */
export class TooManyAtOnce extends CommonFailure {
  readonly kind = "rate_limited";
  override readonly reason = "too_many_at_once";
  override readonly retryAfterSeconds = 1;
}
