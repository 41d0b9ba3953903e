import { LIMITS } from "../../../limits.js";
import { lockRow } from "../../../operation/lock-row-statement.js";
import { EmbeddingsFailed, NotNow, TextsRefused, type Vector } from "../../../platform/meaning/embeddings.js";
import type { Meaning } from "../../../platform/meaning/meaning.js";
import { withFittingSize } from "../../../platform/meaning/text-size.js";
import { warnSeldom } from "../../../platform/telemetry/warn-seldom.js";
import { idsByGraph } from "../read-memories.js";
import { type Text, accountOf, deferExcess, noteEmbedded } from "./daily-share.js";
import {
  type DueMemory,
  type Embedding,
  claimDueMemories,
  forgive,
  giveUp,
  putBack,
  removeDue,
  settleDue,
} from "./embedding-queue.js";
import { piecesOf } from "./memory-pieces.js";

const NOT_EMBEDDED = "memories could not be embedded; it will be tried again. `npm run doctor` says what to do";

const { batch, pieces, textsAtOnce } = LIMITS.embeddings;

/**
 * Embeds a batch of queued memories. Returns whether there may be more. Memories are sent together on the first
 * attempt. If the server refuses them, and on retries, they are sent one by one, so one bad text does not block the
 * others. If the server is slow or limits requests, the next run goes on where this one stops.
 */
export async function embedDueMemories(context: Embedding): Promise<boolean> {
  const { meaning } = context;
  if (performance.now() < meaning.askableAt) return false;
  const until = performance.now() + meaning.runMs;
  const { claimed, mayBeMore } = await claimDueMemories(context);
  const first = claimed.filter(({ attempts }) => attempts === 1);
  const groups = [first, ...claimed.filter(({ attempts }) => attempts > 1).map((due) => [due])];
  const open = new Set(claimed);
  let failed = false;
  // Also those that are added meanwhile.
  for (const group of groups) {
    const failure = group.length > 0 ? await embedTogether(context, group, until) : null;
    if (!failure) continue;
    if (failure === "unfinished") {
      await putBack(context, open);
      return true;
    }
    if (failure instanceof NotNow) {
      meaning.askableAt = performance.now() + failure.waitMs;
      await putBack(context, open);
      noteFailure(context, failure);
      return false;
    }
    const works = await isWorking(context);
    if (works && group.length > 1 && failure instanceof TextsRefused) {
      groups.push(...group.map((due) => [due]));
      continue;
    }
    failed = true;
    noteFailure(context, failure);
    for (const due of group) open.delete(due);
    if (works) await giveUp(context, group);
    else {
      await forgive(context, claimed);
      break;
    }
  }
  meaning.unstored.clear();
  return !failed && mayBeMore;
}

function noteFailure({ log, meter }: Embedding, { message: reason }: EmbeddingsFailed): void {
  meter?.embeddingsFailed();
  warnSeldom(log, "embeddings", { reason }, NOT_EMBEDDED);
}

/** Whether the server embeds anything at all: else it is at fault, and no text. */
const isWorking = async ({ meaning: { requestMs, server } }: Embedding): Promise<boolean> =>
  server.embed(["A memory."], "document", requestMs).then(
    () => true,
    () => false,
  );

/** Embeds memories and stores their vectors. Returns why the embeddings server failed, or that time is up. */
async function embedTogether(
  context: Embedding,
  group: readonly DueMemory[],
  until: number,
): Promise<EmbeddingsFailed | "unfinished" | null> {
  const { meaning } = context;
  const texts = await deferExcess(context, await textsOf(context, group));
  if (texts.length === 0) return null;
  try {
    const size = await meaning.pieceSizeBy(meaning.server.model);
    const embed = (by: number) =>
      embedAll(
        meaning,
        texts.map(({ memory }) => piecesOf(memory, by)),
        until,
      );
    // Of several, one may be refused, which is no reason to cut the others.
    const vectors = await (texts.length > 1 ? embed(size) : withFittingSize(embed, size));
    if (!vectors) return "unfinished";
    await noteEmbedded(context, texts);
    for (const [place, { due, memory }] of texts.entries()) {
      await storeVectors(context, due, memory.version, vectors[place] ?? []);
    }
    return null;
  } catch (error) {
    if (!(error instanceof EmbeddingsFailed)) throw error;
    return error;
  }
}

/**
 * Embeds the pieces of each text; undefined if time is up before. A server may refuse so many at once: if it takes all
 * in smaller parts, these are used from now on.
 */
async function embedAll(
  meaning: Meaning,
  texts: ReadonlyArray<readonly string[]>,
  until: number,
): Promise<Vector[][] | undefined> {
  const { requestMs, server, unstored } = meaning;
  // More than a run leaves.
  if (unstored.size > batch * pieces) unstored.clear();
  // A copy, since a run that was abandoned may end meanwhile and empty the other.
  const known = new Map(unstored);
  const missing = texts.flat().filter((text) => !known.has(text));
  let most = meaning.textsAtOnce;
  while (missing.length > 0) {
    const asked = performance.now();
    if (asked > until) return undefined;
    const some = missing.slice(0, Math.min(most, meaning.textsNow));
    try {
      const vectors = await server.embed(some, "document", requestMs);
      for (const [place, vector] of vectors.entries()) {
        for (const kept of [known, unstored]) kept.set(some[place] ?? "", vector);
      }
      missing.splice(0, some.length);
      // Twice as many take at most half of the time.
      const isQuick = performance.now() - asked < requestMs / 4;
      if (isQuick) meaning.textsNow = Math.min(textsAtOnce, Math.max(meaning.textsNow, 2 * some.length));
    } catch (error) {
      if (error instanceof NotNow) throw lessOf(meaning, error, some.length);
      if (!(error instanceof TextsRefused) || some.length === 1) throw error;
      most = Math.floor(some.length / 2);
    }
  }
  meaning.textsAtOnce = Math.min(meaning.textsAtOnce, most);
  return texts.map((own) => own.flatMap((text) => known.get(text) ?? []));
}

/** Asks for fewer texts at once from now on. A single text that takes too long is at fault itself. */
function lessOf(meaning: Meaning, failure: NotNow, sent: number): EmbeddingsFailed {
  meaning.textsNow = Math.ceil(sent / 2);
  return sent === 1 && failure.waitMs === 0 ? new EmbeddingsFailed(failure.message) : failure;
}

/**
 * The texts to embed of each memory. Takes deleted memories out of the queue, and those of deleted users and teams, whose
 * graphs may take a while to be emptied: nothing of them may be sent any more.
 */
async function textsOf(context: Embedding, group: readonly DueMemory[]): Promise<Text[]> {
  const found = [];
  for (const { graphId, ids } of idsByGraph(group.map(({ graphId, memoryId: id }) => ({ graphId, id })))) {
    const account = await accountOf(context, graphId);
    if (account === undefined) continue;
    const rows = await context.database.models.memory.findMany({
      where: { graphId, id: { in: ids } },
      select: { graphId: true, id: true, title: true, summary: true, content: true, version: true },
    });
    found.push(...rows.map((memory) => ({ memory, account })));
  }
  const texts: Text[] = [];
  for (const due of group) {
    const own = found.find(({ memory }) => memory.graphId === due.graphId && memory.id === due.memoryId);
    if (own) texts.push({ due, ...own });
    else await removeDue(context, [due]);
  }
  return texts;
}

/**
 * Replaces the vectors of a memory, unless the memory was changed, moved or deleted meanwhile. The graph's counter of
 * changes is locked until the commit: so servers see the counter together with the vectors, and the changes of a graph
 * in order.
 */
async function storeVectors(context: Embedding, due: DueMemory, version: number, vectors: readonly Vector[]) {
  const { graphId, memoryId } = due;
  const { model } = context.meaning.server;
  await context.database.transaction(async (inner) => {
    const { memory, graphVectors, memoryVector } = inner.models;
    await lockRow(inner, "memory", { graph_id: graphId, id: memoryId }, { strength: "KEY SHARE" });
    if ((await memory.count({ where: { graphId, id: memoryId, version } })) === 0) return;
    const { changes: change } = await graphVectors.upsert({
      where: { graphId },
      create: { graphId, changes: 1 },
      update: { changes: { increment: 1 } },
    });
    // Another model's vectors of this version stay: searches may still use them.
    await memoryVector.deleteMany({ where: { graphId, memoryId, OR: [{ model }, { version: { not: version } }] } });
    const pieces = vectors.map(({ scale, values }, piece) => ({ piece, scale, vector: new Uint8Array(values) }));
    await memoryVector.createMany({
      data: pieces.map((piece) => ({ graphId, memoryId, model, version, change, ...piece })),
    });
  });
  await settleDue(context, due);
}
