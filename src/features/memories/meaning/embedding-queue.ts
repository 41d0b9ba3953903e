import { LIMITS } from "../../../limits.js";
import { timeOf } from "../../../operation/clock-statement.js";
import type { Services } from "../../../operation/context.js";
import type { Meaning } from "../../../platform/meaning/meaning.js";
import { isModelReplaced } from "./embedding-models.js";

/** What embedding in the background needs. */
export type Embedding = Pick<Services, "budgets" | "database" | "log" | "meter"> & { readonly meaning: Meaning };

const { attempts: ATTEMPTS_MAX, batch, longestWaitMs, shortestWaitMs } = LIMITS.embeddings;
/** Attempts after an outage: fewer than those after which a new model does not wait for a memory (`fill_embeddings`). */
const FORGIVEN_TO = 2;

/** A queued memory, as this server claimed it. */
export interface DueMemory extends Due {
  readonly graphId: string;
  readonly memoryId: string;
  readonly before: Due;
  /** When it is due after a failure. */
  readonly againAt: Date;
}

interface Due {
  readonly attempts: number;
  readonly dueAt: Date;
}

/**
 * Claims due memories. Claims are committed before the embeddings server is called, and last longer than any run: no
 * other server sends the same texts meanwhile. After a failure a memory is due again after a minute; the wait grows with
 * each attempt. A claim succeeds only on the row as it was read, so one server gets it.
 */
export async function claimDueMemories(context: Embedding): Promise<DueMemory[]> {
  const { database } = context;
  const { embeddingDue } = database.models;
  const now = await timeOf(database);
  const due = await embeddingDue.findMany({ where: { dueAt: { lte: now } }, orderBy: { dueAt: "asc" }, take: batch });
  if (due.length === 0 || (await isModelReplaced(context))) return [];
  const claimed: DueMemory[] = [];
  for (const { graphId, memoryId, ...before } of due) {
    const attempts = before.attempts + 1;
    const waitMs = waitMsAfter(attempts);
    const claim = { attempts, dueAt: new Date(now.getTime() + Math.max(waitMs, LIMITS.chores.runMs)) };
    const where = { graphId, memoryId, dueAt: before.dueAt };
    const { count } = await embeddingDue.updateMany({ where, data: claim });
    const againAt = new Date(now.getTime() + waitMs);
    if (count > 0) claimed.push({ graphId, memoryId, ...claim, before, againAt });
  }
  return claimed;
}

const waitMsAfter = (attempts: number): number =>
  Math.min(longestWaitMs, Math.max(shortestWaitMs, 5_000 * 2 ** (attempts - 1)));

/** Leaves memories in the queue as they were: they come first in the next run. */
export async function putBack(context: Embedding, claimed: Iterable<DueMemory>): Promise<void> {
  for (const due of claimed) await release(context, due, due.before);
}

/**
 * An outage uses up no attempts, however long it lasts. What was tried before is still tried alone: one text may be
 * what ends the server.
 */
export async function forgive(context: Embedding, claimed: readonly DueMemory[]): Promise<void> {
  for (const due of claimed) await release(context, due, { attempts: FORGIVEN_TO, dueAt: due.againAt });
}

/** Forgets those of a group that were refused too often; the others are tried again later. */
export async function giveUp(context: Embedding, group: readonly DueMemory[]): Promise<void> {
  for (const due of group) {
    await (due.attempts >= ATTEMPTS_MAX ? settleDue(context, due) : release(context, due, { dueAt: due.againAt }));
  }
}

/** Ends a claim, unless the memory was changed since. */
export const release = (
  { database: { models } }: Embedding,
  { graphId, memoryId, dueAt }: DueMemory,
  data: Partial<Due>,
) => models.embeddingDue.updateMany({ where: { graphId, memoryId, dueAt }, data });

/**
 * Takes a memory out of the queue, unless it was changed again since it was claimed. If servers with a newer model have
 * begun meanwhile, it stays for them.
 */
export async function settleDue(context: Embedding, due: DueMemory): Promise<void> {
  const { graphId, memoryId, dueAt } = due;
  if (await isModelReplaced(context)) await putBack(context, [due]);
  else await context.database.models.embeddingDue.deleteMany({ where: { graphId, memoryId, dueAt } });
}
