import type { Database } from "../platform/database/database.js";

/** A mail whose text is known when it is queued. It must contain no secret, since it is stored until it is sent. */
export interface Notice {
  readonly id: string;
  readonly email: string;
  /**
   * Set for a mail to the owner of this team about its payments: it goes to whoever owns the team when it is sent, if
   * there is one.
   */
  readonly teamId?: string;
  readonly subject: string;
  /** Plain text; an empty line separates paragraphs, and a paragraph that is a URL becomes a link. */
  readonly body: string;
}

/** Queues a notice. In a transaction, it is sent if the transaction commits. */
export async function queueNotice({ models }: Pick<Database, "models">, notice: Notice): Promise<void> {
  await models.mail.create({ data: { kind: "notice", ...notice } });
}
