import type { Statement } from "../platform/database.js";
import type { AuditAction } from "./audit-action.js";
import type { Context } from "./context.js";
import type { AuditNote } from "./operation.js";

const insertEntry: Statement = {
  name: "insert_audit_entry",
  text: `
    INSERT INTO audit_entry (id, team_id, actor_id, key_id, door, action, subject, detail)
    VALUES ($1::uuid, $2::uuid, $3::uuid, $4::uuid, $5, $6, $7, $8)`,
};

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
  const who = [actor.userId, actor.keyId, context.door];
  await context.database.run(insertEntry, [context.newId(), teamId, ...who, action, subject, detail ?? null]);
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
