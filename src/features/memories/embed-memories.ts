import { LIMITS } from "../../limits.js";
import type { Services } from "../../operation/context.js";
import { EmbeddingsFailed, type Vector } from "../../platform/embeddings.js";
import type { Meaning } from "../../platform/meaning.js";
import { warnSeldom } from "../../platform/warn-seldom.js";
import {
  type DueMemory,
  claimDueMemories,
  fillEmbeddings,
  forgetVectors,
  storeVectors,
} from "./embedding-statements.js";

const {
  attempts: ATTEMPTS_MAX,
  batch,
  overlapCharacters,
  pieceCharacters,
  pieces,
  queued,
  requestMs,
  textsAtOnce,
} = LIMITS.embeddings;

export type Embedding = Pick<Services, "database" | "log" | "meter"> & { readonly meaning: Meaning };

/** Queues memories that there were before the model; answers with whether there are more. */
export async function fillModel({ database, meaning: { server } }: Embedding): Promise<boolean> {
  const [row] = await database.run(fillEmbeddings, { model: server.model, most: queued });
  return row?.more ?? false;
}

/** Deletes some vectors of models that are used no more; answers with whether there may be more. */
export async function forgetUnusedVectors({ database, meaning: { server } }: Embedding): Promise<boolean> {
  const [row] = await database.run(forgetVectors, { model: server.model, most: LIMITS.chores.rows });
  return (row?.forgotten ?? null) !== null;
}

/**
 * Embeds a batch of memories that wait for it; answers with whether there may be more. What the server refuses is due
 * again later: at first together with others, then each memory alone, so one bad text does not stop the rest.
 */
export async function embedDueMemories(context: Embedding): Promise<boolean> {
  const claimed = await context.database.run(claimDueMemories, { most: batch });
  const first = claimed.filter(({ attempts }) => attempts === 1);
  const groups = [first, ...claimed.filter(({ attempts }) => attempts > 1).map((due) => [due])];
  let failures = 0;
  for (const group of groups) {
    if (group.length === 0 || (await embedTogether(context, group))) continue;
    if (++failures === FAILURES_MAX) break;
  }
  return failures === 0 && claimed.length === batch;
}

/** After so many failures in one run it is the server, not a text. */
const FAILURES_MAX = 3;

interface Text {
  readonly due: DueMemory;
  readonly version: number;
  readonly pieces: readonly string[];
}

/** Answers with whether the server gave vectors. */
async function embedTogether(context: Embedding, group: readonly DueMemory[]): Promise<boolean> {
  const { log, meter, meaning } = context;
  const texts = await textsOf(context, group);
  if (texts.length === 0) return true;
  let vectors: Vector[];
  try {
    vectors = await embedAll(
      meaning,
      texts.flatMap((text) => text.pieces),
    );
  } catch (error) {
    if (!(error instanceof EmbeddingsFailed)) throw error;
    meter?.embeddingsFailed();
    warnSeldom(log, "embeddings", { reason: error.message }, "memories could not be embedded; it will be tried again");
    for (const due of group) if (due.attempts >= ATTEMPTS_MAX) await settleDue(context, due);
    return false;
  }
  let start = 0;
  for (const {
    due,
    version,
    pieces: { length },
  } of texts) {
    await storeOf(context, due, version, vectors.slice(start, (start += length)));
  }
  return true;
}

async function embedAll({ server }: Meaning, texts: readonly string[]): Promise<Vector[]> {
  const vectors: Vector[] = [];
  while (vectors.length < texts.length) {
    vectors.push(...(await server.embed(texts.slice(vectors.length, vectors.length + textsAtOnce), requestMs)));
  }
  return vectors;
}

/** What to embed of each memory; one that is gone is forgotten. */
async function textsOf(context: Embedding, group: readonly DueMemory[]): Promise<Text[]> {
  const found = [];
  for (const graphId of new Set(group.map((due) => due.graphId))) {
    const ids = group.filter((due) => due.graphId === graphId).map(({ memoryId }) => memoryId);
    const rows = await context.database.models.memory.findMany({
      where: { graphId, id: { in: ids } },
      select: { graphId: true, id: true, title: true, summary: true, content: true, version: true },
    });
    found.push(...rows);
  }
  const texts: Text[] = [];
  for (const due of group) {
    const memory = found.find(({ graphId, id }) => graphId === due.graphId && id === due.memoryId);
    if (memory) texts.push({ due, version: memory.version, pieces: piecesOf(memory) });
    else await settleDue(context, due);
  }
  return texts;
}

async function storeOf(context: Embedding, due: DueMemory, version: number, vectors: readonly Vector[]) {
  const { graphId, memoryId } = due;
  await context.database.run(storeVectors, {
    ...{ graphId, memoryId, version, model: context.meaning.server.model },
    scales: vectors.map(({ scale }) => scale),
    vectors: vectors.map(({ values }) =>
      Buffer.from(values.buffer, values.byteOffset, values.length).toString("base64"),
    ),
  });
  await settleDue(context, due);
}

/** Takes a memory out of the queue, unless it was changed again since it was claimed. */
const settleDue = ({ database: { models } }: Embedding, { graphId, memoryId, dueAt }: DueMemory) =>
  models.embeddingDue.deleteMany({ where: { graphId, memoryId, dueAt } });

/** A memory's text in overlapping pieces, each with the title; of a very long one the beginning. */
export function piecesOf(memory: {
  readonly title: string;
  readonly summary?: string | null;
  readonly content: string;
}) {
  const text = [memory.summary, memory.content].filter(Boolean).join("\n");
  const starts = Array.from({ length: pieces }, (_, piece) => piece * (pieceCharacters - overlapCharacters));
  return starts
    .filter((start) => start === 0 || start + overlapCharacters < text.length)
    .map((start) => `${memory.title}\n${text.slice(start, start + pieceCharacters)}`.toWellFormed());
}
