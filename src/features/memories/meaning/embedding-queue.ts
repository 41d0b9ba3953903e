import { LIMITS } from "../../../limits.js";
import { timeOf } from "../../../operation/clock-statement.js";
import type { Services } from "../../../operation/context.js";
import type { Meaning } from "../../../platform/meaning/meaning.js";
import { idsByGraph } from "../read-memories.js";
import { otherModelsInUse } from "./embedding-models.js";

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
export async function claimDueMemories(context: Embedding): Promise<Claim> {
  const { embeddingDue } = context.database.models;
  const now = await timeOf(context.database);
  const claimed: DueMemory[] = [];
  const { due, removed } = await findDue(context, now);
  for (const { graphId, memoryId, ...before } of due) {
    const attempts = before.attempts + 1;
    const waitMs = waitMsAfter(attempts);
    const claim = { attempts, dueAt: new Date(now.getTime() + Math.max(waitMs, LIMITS.chores.runMs)) };
    const where = { graphId, memoryId, dueAt: before.dueAt };
    const { count } = await embeddingDue.updateMany({ where, data: claim });
    const againAt = new Date(now.getTime() + waitMs);
    if (count > 0) claimed.push({ graphId, memoryId, ...claim, before, againAt });
  }
  return { claimed, mayBeMore: claimed.length === batch || removed > 0 };
}

interface Claim {
  readonly claimed: DueMemory[];
  readonly mayBeMore: boolean;
}

/** A memory's row in the queue, as it was read. */
type Row = Due & Pick<DueMemory, "graphId" | "memoryId">;

/** How many batches of memories that only wait for another model are passed over in a run. */
const BATCHES_PASSED = 4;

/**
 * A batch of due memories. Those that have the vectors of this server's model are passed over, and taken out of the
 * queue if no other model lacks them either. If a run comes to none, the next one goes on where it stopped: while the
 * server of another model is down, very many may wait for that.
 */
async function findDue(context: Embedding, now: Date): Promise<{ due: readonly Row[]; removed: number }> {
  const { embeddingDue, embeddingModel } = context.database.models;
  const { meaning } = context;
  const { model } = meaning.server;
  const start = meaning.duePassed;
  meaning.duePassed = 0;
  const where = { dueAt: { lte: now } };
  const read = (skip: number) =>
    embeddingDue.findMany({ where, orderBy: [{ dueAt: "asc" }, { memoryId: "asc" }], skip, take: batch });
  let rows = await read(start);
  // Without another model, whatever is in the queue lacks its vectors.
  if (rows.length === 0 || (await embeddingModel.count({ where: { model: { not: model } } })) === 0) {
    return { due: rows, removed: 0 };
  }
  const [due, embedded]: [Row[], Row[]] = [[], []];
  for (let passed = 0; ; passed++) {
    const done = await embeddedAmong(context, rows, [model]);
    for (const row of rows) (done.has(row) ? embedded : due).push(row);
    if (rows.length < batch || due.length >= batch || passed === BATCHES_PASSED) break;
    rows = await read(start + (passed + 1) * batch);
  }
  const done = await embeddedAmong(context, embedded, await otherModelsInUse(context));
  await removeDue(context, [...done]);
  if (rows.length === batch) meaning.duePassed = start + embedded.length - done.size;
  return { due: due.slice(0, batch), removed: done.size };
}

/** Those that have vectors of their present text by each of the models. */
async function embeddedAmong(
  { database: { models: stored } }: Embedding,
  rows: readonly Row[],
  models: readonly string[],
): Promise<Set<Row>> {
  const embedded = new Set<Row>();
  for (const { graphId, ids } of idsByGraph(rows.map(({ graphId, memoryId: id }) => ({ graphId, id })))) {
    // Each names the graph. As a relation, the vectors would be looked for on every node that has some.
    const memories = await stored.memory.findMany({
      where: { graphId, id: { in: ids } },
      select: { id: true, version: true },
    });
    const vectors = await stored.memoryVector.findMany({
      where: { graphId, memoryId: { in: ids }, model: { in: [...models] }, piece: 0 },
      select: { memoryId: true, version: true },
    });
    for (const { id, version } of memories) {
      const present = vectors.filter((vector) => vector.memoryId === id && vector.version === version);
      const isEmbedded = present.length === models.length;
      const row = rows.find((one) => one.graphId === graphId && one.memoryId === id);
      if (isEmbedded && row) embedded.add(row);
    }
  }
  return embedded;
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

/** Forgets those of a group that were refused too often, unless another model lacks them; the others are tried again. */
export async function giveUp(context: Embedding, group: readonly DueMemory[]): Promise<void> {
  for (const due of group) {
    if (due.attempts >= ATTEMPTS_MAX && !(await isAwaited(context, due))) await removeDue(context, [due]);
    else await release(context, due, { dueAt: due.againAt });
  }
}

/** Ends a claim, unless the memory was changed since. */
export const release = ({ database: { models } }: Embedding, { graphId, memoryId, dueAt }: Row, data: Partial<Due>) =>
  models.embeddingDue.updateMany({ where: { graphId, memoryId, dueAt }, data });

/**
 * Takes a memory that was embedded out of the queue, unless it was changed again since it was claimed. If servers with
 * another model have not embedded it, it stays for them: they may be newer, or the ones to go back to.
 */
export async function settleDue(context: Embedding, due: DueMemory): Promise<void> {
  if (await isAwaited(context, due)) await putBack(context, [due]);
  else await removeDue(context, [due]);
}

/** Whether another model that is in use lacks vectors of a memory. */
async function isAwaited(context: Embedding, due: Row): Promise<boolean> {
  const others = await otherModelsInUse(context);
  return others.length > 0 && !(await embeddedAmong(context, [due], others)).has(due);
}

/** Takes memories out of the queue, but for those that were changed since. */
export async function removeDue({ database: { models } }: Embedding, rows: readonly Row[]): Promise<void> {
  // Those that were queued together have one time.
  for (const time of new Set(rows.map(({ dueAt }) => dueAt.getTime()))) {
    const together = rows.filter(({ dueAt }) => dueAt.getTime() === time);
    for (const { graphId, ids } of idsByGraph(together.map(({ graphId, memoryId: id }) => ({ graphId, id })))) {
      await models.embeddingDue.deleteMany({ where: { graphId, memoryId: { in: ids }, dueAt: new Date(time) } });
    }
  }
}
