import type { Handler } from "express";
import { InvalidInput } from "../../operation/failure.js";
import { assertBodyIsJson, readBody } from "../body.js";
import { checkIdempotencyKey } from "../request-scope.js";

/** Refuses invalid UTF-8 in a query: it would become replacement characters, so a search would be for another text. */
const refuseBrokenText: Handler = (request, _response, next) => {
  if (!request.url.includes("%")) return next();
  try {
    // A percent sign that begins no escape is literal. The path was decoded before.
    decodeURIComponent(request.url.replaceAll(/%(?![0-9a-f]{2})/gi, "%25"));
  } catch {
    throw InvalidInput.at("", "The query string must be UTF-8.");
  }
  next();
};

const refuseOtherBodies: Handler = (request, _response, next) => {
  assertBodyIsJson(request);
  next();
};

/** Handlers of every request to an operation, before its input is read. */
export const readRequest: readonly Handler[] = [refuseBrokenText, refuseOtherBodies, readBody, checkIdempotencyKey];
