import { LIMITS } from "../../limits.js";
import { type Context, type Services, within } from "../../operation/context.js";
import type { Scope } from "../../operation/permission.js";
import { takeUses } from "../../operation/use-limit.js";
import { CODE_GUESSES, createKeyForOwner, revokeConnection, useCode } from "./confirm-sign-up.js";
import { emailIn } from "./email.js";

/** A program that asks a person for access, as the consent page shows it. */
export interface ClientToConnect {
  readonly name: string;
  /** Where the person is sent back to. */
  readonly host: string;
  readonly scopes: readonly Scope[];
}

/** The key that a program acts as, and the key's user. */
export interface ConnectedClient {
  readonly keyId: string;
  readonly userId: string;
}

/**
 * Exchanges a code from a mail for a key that a program acts as. The key is listed, limited, recorded and revoked like
 * every other, but its secret is thrown away. It expires soon unless tokens prolong it.
 * @throws CodeInvalid, TooManyKeysToSignIn, AccountSuspended, and RateLimited by the limits of `confirmSignUp`.
 */
export async function connectClient(
  context: Context,
  proof: { readonly email: string; readonly code: string },
  { name, host, scopes }: ClientToConnect,
): Promise<ConnectedClient> {
  await takeUses(context, [CODE_GUESSES], proof);
  const email = emailIn(proof.email);
  const expiresAt = new Date(context.now().getTime() + LIMITS.oauth.unusedGrantSeconds * 1_000);
  const options = { name, scopes, expiresAt, client: host };
  const key = await useCode(context, email, proof.code, (inner) =>
    createKeyForOwner(within(context, inner), email, "connectClient", options),
  );
  return { keyId: key.id, userId: key.userId };
}

/** Revokes the key of a program that gave up its tokens, or used one twice. Does nothing if it is already revoked. */
export const endKeyOfClient = ({ database, newId, now }: Services, keyId: string): Promise<void> =>
  database.transaction((inner) => revokeConnection({ database: inner, newId, now, door: "page" }, keyId));
