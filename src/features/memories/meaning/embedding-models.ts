import { HOUR_MS, MINUTE_MS } from "../../../durations.js";
import { LIMITS } from "../../../limits.js";
import { timeOf } from "../../../operation/clock-statement.js";
import { sureTimeOf } from "../../../operation/retention.js";
import type { Embedding } from "./embedding-queue.js";
import { fillEmbeddings } from "./embedding-statements.js";

const { queued } = LIMITS.embeddings;

/** How often servers record that they use a model (`fill_embeddings`). */
const NOTED_EVERY_MS = MINUTE_MS;

/** A server that uses a model has recorded that within this time. */
const IN_USE_MS = 2 * NOTED_EVERY_MS;

/** After this time, the vectors of a model are deleted. */
const UNUSED_MS = HOUR_MS;

/** The other models that servers use at present, as during a change of the model. */
export async function otherModelsInUse({ database, meaning: { server } }: Embedding): Promise<string[]> {
  const others = await database.models.embeddingModel.findMany({
    where: { model: { not: server.model } },
    select: { model: true, usedAt: true },
  });
  if (others.length === 0) return [];
  const since = (await timeOf(database)).getTime() - IN_USE_MS;
  return others.filter(({ usedAt }) => usedAt.getTime() > since).map(({ model }) => model);
}

/** Queues memories that were stored before the model was used. Returns whether there are more. */
export async function fillModel(context: Embedding): Promise<boolean> {
  await beginAnewAfterAnother(context);
  const { database, meaning } = context;
  const [row] = await database.run(fillEmbeddings, { model: meaning.server.model, most: queued });
  return row?.more ?? false;
}

/**
 * If servers had another model since this one was used, what was stored meanwhile lacks vectors of this one, and some of
 * its vectors may be deleted. So all memories are queued again; those that have their vectors are not embedded again.
 */
async function beginAnewAfterAnother({ database, meaning: { server } }: Embedding): Promise<void> {
  const { embeddingModel } = database.models;
  const models = await embeddingModel.findMany({ select: { model: true, usedAt: true } });
  const usedAt = models.find(({ model }) => model === server.model)?.usedAt;
  if (!usedAt || !models.some((other) => other.usedAt.getTime() > usedAt.getTime())) return;
  const now = await timeOf(database);
  if (usedAt.getTime() > now.getTime() - IN_USE_MS) return;
  // Of several servers, one does it.
  await embeddingModel.updateMany({
    where: { model: server.model, usedAt },
    data: { usedAt: now, ...AT_THE_BEGINNING },
  });
}

const FIRST_ID = "00000000-0000-0000-0000-000000000000";
const AT_THE_BEGINNING = { filled: false, complete: false, nextGraphId: FIRST_ID, nextId: FIRST_ID };

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
