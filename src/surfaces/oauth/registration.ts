import { LIMITS } from "../../limits.js";
import { InvalidInput } from "../../operation/failure.js";

const { redirectUris: urisMax, redirectUriLength, nameLength } = LIMITS.oauth;

/**
 * Reads the two fields of a client's registration that are kept: its redirect URIs and its name. All others have one
 * value, which the answer contains: a public client that uses codes and refresh tokens.
 * @throws InvalidInput when there is no address, there are too many, or one is too long.
 */
export function registrationIn(body: unknown): object {
  const { redirect_uris: uris, client_name: name } = (typeof body === "object" && body !== null ? body : {}) as {
    readonly [field: string]: unknown;
  };
  const isList = Array.isArray(uris) && uris.length > 0 && uris.length <= urisMax;
  if (!isList || !uris.every((uri) => typeof uri === "string" && uri.length <= redirectUriLength)) {
    const most = redirectUriLength.toLocaleString("en");
    const message = `must be a list of 1 to ${urisMax} addresses, each of at most ${most} characters`;
    throw InvalidInput.at("redirect_uris", message);
  }
  const shown = typeof name === "string" ? plainName(name) : "";
  const named = shown === "" ? {} : { client_name: shown };
  // Without it oidc-provider would make a secret, which a public client cannot keep.
  return { redirect_uris: uris, ...named, token_endpoint_auth_method: "none" };
}

/** A name to show to people: on one line, without characters that are invisible or reverse the text. */
export const plainName = (name: string): string =>
  [
    ...name
      .slice(0, nameLength * 4)
      .normalize("NFC")
      .replaceAll(/[\p{C}\p{Z}\s]+/gu, " ")
      .trim(),
  ]
    .slice(0, nameLength)
    .join("");
