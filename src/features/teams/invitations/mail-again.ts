import type { Context } from "../../../operation/context.js";
import type { Invitation } from "./invitation.js";

/** Queues the mail of an invitation. One that still waits is sent at once, as if new, instead of a second one. */
export async function mailAgain(
  { database: { models }, newId }: Pick<Context, "database" | "newId">,
  { id, email }: Pick<Invitation, "id" | "email">,
  now: Date,
): Promise<void> {
  const mail = { kind: "invitation", email, invitationId: id };
  const { count } = await models.mail.updateMany({ where: mail, data: { dueAt: now, lastError: null, attempts: 0 } });
  if (count === 0) await models.mail.create({ data: { id: newId(), ...mail } });
}
