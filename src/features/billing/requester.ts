import type { Context } from "../../operation/context.js";
import { sha256 } from "../../operation/sha256.js";
import type { BillingRequest } from "../../platform/prisma/client.js";

/**
 * On whose behalf a request is sent, and the hashes of the client's Idempotency-Key and request; both are null without
 * such a key.
 */
export type Requester = Readonly<
  Pick<BillingRequest, "actorId" | "keyId" | "door" | "clientKeyHash" | "clientRequestHash">
>;

/** The caller of an operation. */
export function requesterOf({ caller, door, idempotency }: Context): Requester {
  const { userId, keyId } = caller;
  const requester = { actorId: userId, keyId, door, clientKeyHash: null, clientRequestHash: null };
  if (!idempotency) return requester;
  const { key, part, request } = idempotency;
  return { ...requester, clientKeyHash: sha256(`${userId}\n${part}\n${key}`), clientRequestHash: sha256(request) };
}

/** For what the service does by itself. */
export const BY_ITSELF: Requester = {
  actorId: null,
  keyId: null,
  door: "billing",
  clientKeyHash: null,
  clientRequestHash: null,
};
