import type { FailureKind } from "../operation/failure.js";

/** The HTTP status of each kind of failure, at every door. */
export const HTTP_STATUS: Readonly<Record<FailureKind, number>> = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  internal_error: 500,
  payment_provider_error: 502,
  unavailable: 503,
};
