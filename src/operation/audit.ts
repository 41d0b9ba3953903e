import type { AuditAction } from "./audit-action.js";
import type { Context } from "./context.js";
import type { AuditNote } from "./operation.js";

/**
 * Who does something: a user with their key, or by a mailed code without one; without both, the service, its operator,
 * or somebody without an account.
 */
export interface Actor {
  readonly userId: string | null;
  readonly keyId: string | null;
}

/** The service itself, or its operator. */
export const NOBODY: Actor = { userId: null, keyId: null };

/** Records a change in the transaction of `context`, so that both are stored together or not at all. */
export async function recordAudit(
  context: Pick<Context, "database" | "newId" | "door">,
  action: AuditAction,
  { teamId, subject, detail }: AuditNote,
  actor: Actor,
): Promise<void> {
  const { userId: actorId, keyId } = actor;
  const data = {
    id: context.newId(),
    teamId,
    actorId,
    keyId,
    door: context.door,
    action,
    subject,
    detail: detail ?? null,
  };
  await context.database.models.auditEntry.create({ data, select: { id: true } });
}

/** A field of an update: its name, and its value before and after. */
export type Change = readonly [name: string, was: string | number | null, is: string | number | null];

/** Describes the changes of an update: `role: member → admin`. Undefined if nothing changed. */
export function tellChanges(changes: readonly Change[]): string | undefined {
  const parts = changes.flatMap(([name, was, is]) =>
    was === is ? [] : [`${name}: ${was ?? "none"} → ${is ?? "none"}`],
  );
  return parts.length === 0 ? undefined : parts.join(", ");
}
