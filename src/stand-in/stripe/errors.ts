/** The body of Stripe's errors: `{ error: { type, message, code?, param? } }`. */
export interface ErrorBody {
  readonly type: "api_error" | "card_error" | "idempotency_error" | "invalid_request_error";
  readonly message: string;
  readonly code?: string;
  readonly param?: string;
  readonly decline_code?: string;
}

/** An error that is sent as the answer. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly body: ErrorBody,
  ) {
    super(body.message);
  }
}

export function invalidRequest(
  message: string,
  details: { readonly code?: string; readonly param?: string } = {},
  status = 400,
): ApiError {
  return new ApiError(status, { type: "invalid_request_error", message, ...details });
}

/** An unknown object in a parameter is a bad request, one in the URL is not found. */
export function missingResource(kind: string, id: string, param?: string): ApiError {
  const message = `No such ${kind}: '${id}'`;
  return invalidRequest(message, { code: "resource_missing", param: param ?? "id" }, param === undefined ? 404 : 400);
}

export function unknownUrl(method: string, path: string): ApiError {
  return invalidRequest(`Unrecognized request URL (${method}: ${path}).`, {}, 404);
}

export function cardDeclined(): ApiError {
  return new ApiError(402, {
    type: "card_error",
    code: "card_declined",
    decline_code: "generic_decline",
    message: "Your card was declined.",
  });
}
