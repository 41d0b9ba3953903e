import { HOUR_MS } from "../../durations.js";
import { recordAudit } from "../../operation/audit.js";
import { type Context, within } from "../../operation/context.js";
import type { Scope } from "../../operation/permission.js";
import { takeUses } from "../../operation/use-limit.js";
import { CODE_GUESSES, createKeyForOwner, useCode } from "./confirm-sign-up.js";
import { emailIn } from "./email.js";

/** How long a person stays signed in on a page. */
export const SIGNED_IN_MS = HOUR_MS;

/** What the page of a team and its billing does. */
const SCOPES: readonly Scope[] = ["teams:read", "teams:write", "billing:read", "billing:write"];

/**
 * Exchanges a code from a mail for the secret of a key with which a page acts for a person. The key is listed, limited,
 * recorded and revoked like every other, and expires soon. Creates a user for a new address.
 * @throws CodeInvalid, TooManyKeysToSignIn, AccountSuspended, and RateLimited by the limits of `confirmSignUp`.
 */
export async function signIn(
  context: Context,
  proof: { readonly email: string; readonly code: string },
): Promise<string> {
  await takeUses(context, [CODE_GUESSES], proof);
  const email = emailIn(proof.email);
  const expiresAt = new Date(context.now().getTime() + SIGNED_IN_MS);
  const { key } = await useCode(context, email, proof.code, (inner) =>
    createKeyForOwner(within(context, inner), email, "confirmSignUp", {
      name: "Account page",
      scopes: SCOPES,
      expiresAt,
    }),
  );
  return key;
}

/** Revokes the caller's key. Does nothing if it is already revoked. */
export async function signOut(context: Context): Promise<void> {
  const { caller, now } = context;
  await context.database.transaction(async (inner) => {
    const { count } = await inner.models.apiKey.updateMany({
      where: { id: caller.keyId, revokedAt: null },
      data: { revokedAt: now() },
    });
    if (count === 0) return;
    await recordAudit(within(context, inner), "revokeApiKey", { teamId: null, subject: caller.keyId }, caller);
  });
}
