import { LIMITS } from "../../limits.js";
import type { Context, Services } from "../../operation/context.js";
import type { Scope } from "../../operation/permission.js";
import { type CodeProof, createKeyByCode, revokeOnce } from "./confirm-sign-up.js";

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
 * @throws what `createKeyByCode` throws.
 */
export async function connectClient(
  context: Context,
  proof: CodeProof,
  { name, host, scopes }: ClientToConnect,
): Promise<ConnectedClient> {
  const expiresAt = new Date(context.now().getTime() + LIMITS.oauth.unusedGrantSeconds * 1_000);
  const options = { name, scopes, expiresAt, client: host };
  const { id: keyId, userId } = await createKeyByCode(context, proof, "connectClient", options);
  return { keyId, userId };
}

/** Revokes the key of a program that gave up its tokens, or used one twice. Does nothing if it is already revoked. */
export const endKeyOfClient = ({ database, newId, now }: Services, keyId: string): Promise<void> =>
  database.transaction((inner) => revokeOnce({ database: inner, newId, now, door: "page" }, keyId, "disconnectClient"));
