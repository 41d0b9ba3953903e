import type { Context } from "../../operation/context.js";
import { InvalidInput } from "../../operation/failure.js";

/** In characters after escaping, which can turn one into nine. Stripe refuses more than 5,000. */
export const RETURN_URL_MAX = 2_000;

/** Stripe replaces this by the session's id; it must not be escaped. */
const TEMPLATE = "{CHECKOUT_SESSION_ID}";

/**
 * Where the provider sends people afterwards; undefined if the client did not say.
 * @throws InvalidInput for a URL that is too long, or neither on the service's origin nor on one that its operator
 * allows.
 */
export function readReturnUrl(
  { billing, publicUrl }: Pick<Context, "billing" | "publicUrl">,
  path: string,
  text: string | null | undefined,
): string | undefined {
  if (text == null) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const origins = [...billing.returnOrigins, new URL(publicUrl()).origin];
  const isPlain = url && /^https?:$/.test(url.protocol) && !/[\s\\\p{C}]/u.test(text);
  if (!isPlain || !origins.includes(url.origin) || url.username || url.password) {
    throw InvalidInput.at(path, `must be an address on one of these origins: ${origins.join(", ")}`);
  }
  const wanted = url.href.replaceAll(encodeURI(TEMPLATE), TEMPLATE);
  if (wanted.length > RETURN_URL_MAX) {
    throw InvalidInput.at(path, `must have at most ${RETURN_URL_MAX} characters when it is escaped`);
  }
  return wanted;
}
