import { HOUR_MS, MINUTE_MS } from "../../../durations.js";
import { LIMITS } from "../../../limits.js";
import { timeOf } from "../../../operation/clock-statement.js";
import { sureTimeOf } from "../../../operation/retention.js";
import type { Embedding } from "./embedding-queue.js";
import { fillEmbeddings } from "./embedding-statements.js";

const { queued } = LIMITS.embeddings;

/** A model counts as unused after this time. A server that uses a model records that every minute. */
const UNUSED_MS = HOUR_MS;

/** A server that uses a model has recorded that within this time. */
const IN_USE_MS = 2 * MINUTE_MS;

/**
 * Whether servers with a newer model embed all memories for it. The queue is theirs until then: what another server
 * embeds would leave it without a vector of that model.
 */
export async function isModelReplaced({ database, meaning: { server } }: Embedding): Promise<boolean> {
  const { embeddingModel } = database.models;
  const models = await embeddingModel.findMany({ select: { model: true, complete: true, usedAt: true } });
  const newer = models.filter(({ complete }) => !complete);
  if (newer.length === 0 || !models.some(({ model, complete }) => model === server.model && complete)) return false;
  const since = (await timeOf(database)).getTime() - IN_USE_MS;
  return newer.some(({ usedAt }) => usedAt.getTime() > since);
}

/** Queues memories that were stored before the model was used. Returns whether there are more. */
export async function fillModel({ database, meaning: { server } }: Embedding): Promise<boolean> {
  const [row] = await database.run(fillEmbeddings, { model: server.model, most: queued });
  return row?.more ?? false;
}

/** Deletes a batch of vectors of a model that is no longer used. Returns whether there may be more. */
export async function forgetUnusedVectors(
  { database, meaning: { server } }: Embedding,
  rows: number = LIMITS.chores.rows,
): Promise<boolean> {
  const { embeddingModel, memoryVector } = database.models;
  if (!(await embeddingModel.findUnique({ where: { model: server.model, complete: true } }))) return false;
  const unused = { lt: new Date((await sureTimeOf(database)).getTime() - UNUSED_MS) };
  const other = await embeddingModel.findFirst({ where: { model: { not: server.model }, usedAt: unused } });
  if (!other) return false;
  const { model } = other;
  // Finds a graph with vectors of this model, then deletes a batch in this graph.
  const one = await database.readPages((models) =>
    models.memoryVector.findFirst({ where: { model }, orderBy: { graphId: "asc" }, select: { graphId: true } }),
  );
  if (!one) {
    await embeddingModel.deleteMany({ where: { model, usedAt: unused } });
    return true;
  }
  const where = { ...one, model };
  const last = await database.readPages((models) =>
    models.memoryVector.findFirst({ where, orderBy: { change: "asc" }, skip: rows - 1 }),
  );
  await memoryVector.deleteMany({ where: { ...where, ...(last && { change: { lte: last.change } }) } });
  return true;
}
