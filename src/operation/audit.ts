import type { AuditAction } from "./audit-action.js";
import type { Context } from "./context.js";
import type { AuditNote } from "./operation.js";

/** Who does something: a caller, a person who has just been verified and has no key yet, or nobody. */
export interface Actor {
  readonly userId: string | null;
  readonly keyId: string | null;
}

/** Records what was done, in the transaction of `context`: both are there or neither. */
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

/** Something that an update may have changed: its name, what it was, and what it is. */
export type Change = readonly [name: string, was: string | number | null, is: string | number | null];

/** What an update changed, in words: `role: member → admin`. Undefined where everything is as it was. */
export function tellChanges(changes: readonly Change[]): string | undefined {
  const told = changes.flatMap(([name, was, is]) =>
    was === is ? [] : [`${name}: ${was ?? "none"} → ${is ?? "none"}`],
  );
  return told.length === 0 ? undefined : told.join(", ");
}
