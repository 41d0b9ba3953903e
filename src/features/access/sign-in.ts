import { HOUR_MS } from "../../durations.js";
import { type Context, within } from "../../operation/context.js";
import type { Scope } from "../../operation/permission.js";
import { type CodeProof, createKeyByCode, revokeOnce } from "./confirm-sign-up.js";

/** How long a person stays signed in on a page. */
export const SIGNED_IN_MS = HOUR_MS;

/** What the page of a team and its billing does. */
const SCOPES: readonly Scope[] = ["teams:read", "teams:write", "billing:read", "billing:write"];

/**
 * Exchanges a code from a mail for the secret of a key with which a page acts for a person. The key is listed, limited,
 * recorded and revoked like every other, and expires soon. Creates a user for a new address.
 * @throws what `createKeyByCode` throws.
 */
export async function signIn(context: Context, proof: CodeProof): Promise<string> {
  const expiresAt = new Date(context.now().getTime() + SIGNED_IN_MS);
  const options = { name: "Account page", scopes: SCOPES, expiresAt };
  return (await createKeyByCode(context, proof, "confirmSignUp", options)).key;
}

/** Revokes the caller's key. Does nothing if it is already revoked. */
export const signOut = (context: Context): Promise<void> =>
  context.database.transaction((inner) => revokeOnce(within(context, inner), context.caller.keyId, "revokeApiKey"));
