import type { Handler } from "express";
import { InvalidInput } from "../../operation/failure.js";
import { hasBody, readBody } from "../body.js";
import { UnsupportedMediaType, checkIdempotencyKey, claimsJson } from "../http.js";

/** Bytes of a query that are no UTF-8 would be read as replacement characters, and other things found than were meant. */
const refuseBrokenText: Handler = (request, _response, next) => {
  if (!request.url.includes("%")) return next();
  try {
    // A per cent sign that begins no escape stands for itself. The path has been decoded by now.
    decodeURIComponent(request.url.replaceAll(/%(?![0-9a-f]{2})/gi, "%25"));
  } catch {
    throw new InvalidInput([{ path: "", message: "The query must be UTF-8." }]);
  }
  next();
};

const refuseOtherBodies: Handler = (request, _response, next) => {
  if (hasBody(request) && !claimsJson(request)) throw new UnsupportedMediaType();
  next();
};

/** What a request to an operation passes before its input is read. */
export const readRequest: readonly Handler[] = [refuseBrokenText, refuseOtherBodies, readBody, checkIdempotencyKey];
