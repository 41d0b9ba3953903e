import { HOUR_MS } from "../../../durations.js";
import { LIMITS } from "../../../limits.js";
import { timeOf } from "../../../operation/clock-statement.js";
import type { Services } from "../../../operation/context.js";
import { lockRow } from "../../../operation/lock-row-statement.js";
import { mailboxOf } from "../../../operation/mailbox.js";
import { sureTimeOf } from "../../../operation/retention.js";
import { sha256 } from "../../../operation/sha256.js";
import { EmbeddingsFailed, NotNow, TextsRefused, type Vector } from "../../../platform/meaning/embeddings.js";
import type { Meaning } from "../../../platform/meaning/meaning.js";
import { withFittingSize } from "../../../platform/meaning/text-size.js";
import { warnSeldom } from "../../../platform/telemetry/warn-seldom.js";
import { idsByGraph } from "../read-memories.js";
import { fillEmbeddings } from "./embedding-statements.js";
import { type MemoryText, piecesOf } from "./memory-pieces.js";

const NOT_EMBEDDED = "memories could not be embedded; it will be tried again. `npm run doctor` says what to do";

const { attempts: ATTEMPTS_MAX, batch, longestWaitMs, pieces, queued, shortestWaitMs, textsAtOnce } = LIMITS.embeddings;
const { attemptsDeferred, charactersPerDay, dayMs, embeddedCharacters, timesHeldPerDay } = LIMITS.embeddings;

/** A model counts as unused after this time. A server that uses a model records that every minute. */
const UNUSED_MS = HOUR_MS;

export type Embedding = Pick<Services, "budgets" | "database" | "log" | "meter"> & { readonly meaning: Meaning };

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

/**
 * Embeds a batch of queued memories. Returns whether there may be more. Memories are sent together on the first
 * attempt. If the server refuses them, and on retries, they are sent one by one, so one bad text does not block the
 * others. If the server is slow or limits requests, the next run goes on where this one stops.
 */
export async function embedDueMemories(context: Embedding): Promise<boolean> {
  const { meaning } = context;
  if (performance.now() < meaning.askableAt) return false;
  const until = performance.now() + meaning.runMs;
  const claimed = await claimDueMemories(context);
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
  return !failed && claimed.length === batch;
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

/** Forgets those of a group that were refused too often; the others are tried again later. */
async function giveUp(context: Embedding, group: readonly DueMemory[]): Promise<void> {
  for (const due of group) {
    await (due.attempts >= ATTEMPTS_MAX ? settleDue(context, due) : release(context, due, { dueAt: due.againAt }));
  }
}

/**
 * An outage uses up no attempts, however long it lasts. What was tried before is still tried alone: one text may be
 * what ends the server.
 */
async function forgive(context: Embedding, claimed: readonly DueMemory[]): Promise<void> {
  for (const due of claimed) await release(context, due, { attempts: FORGIVEN_TO, dueAt: due.againAt });
}

/** Leaves memories in the queue as they were: they come first in the next run. */
async function putBack(context: Embedding, claimed: Iterable<DueMemory>): Promise<void> {
  for (const due of claimed) await release(context, due, due.before);
}

/** Ends a claim, unless the memory was changed since. */
const release = ({ database: { models } }: Embedding, { graphId, memoryId, dueAt }: DueMemory, data: Partial<Due>) =>
  models.embeddingDue.updateMany({ where: { graphId, memoryId, dueAt }, data });

/** A queued memory, as this server claimed it. */
interface DueMemory extends Due {
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
async function claimDueMemories({ database }: Embedding): Promise<DueMemory[]> {
  const { embeddingDue } = database.models;
  const now = await timeOf(database);
  const due = await embeddingDue.findMany({ where: { dueAt: { lte: now } }, orderBy: { dueAt: "asc" }, take: batch });
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

/**
 * Attempts after an outage: fewer than those after which a new model does not wait for a memory (`fill_embeddings`).
 */
const FORGIVEN_TO = 2;

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

interface Text {
  readonly due: DueMemory;
  readonly memory: MemoryText & { readonly version: number };
  /** The user of its graph, or the owner of its team; the graph itself once these are deleted. */
  readonly account: string;
}

/** The texts to embed of each memory. Takes deleted memories out of the queue. */
async function textsOf(context: Embedding, group: readonly DueMemory[]): Promise<Text[]> {
  const found = [];
  const accounts = new Map<string, string>();
  for (const { graphId, ids } of idsByGraph(group.map(({ graphId, memoryId: id }) => ({ graphId, id })))) {
    accounts.set(graphId, await accountOf(context, graphId));
    const rows = await context.database.models.memory.findMany({
      where: { graphId, id: { in: ids } },
      select: { graphId: true, id: true, title: true, summary: true, content: true, version: true },
    });
    found.push(...rows);
  }
  const texts: Text[] = [];
  for (const due of group) {
    const memory = found.find(({ graphId, id }) => graphId === due.graphId && id === due.memoryId);
    if (memory) texts.push({ due, memory, account: accounts.get(due.graphId) ?? due.graphId });
    else await settleDue(context, due);
  }
  return texts;
}

async function accountOf({ database: { models } }: Embedding, graphId: string): Promise<string> {
  const select = { userId: true, team: { select: { ownerId: true } } };
  const graph = await models.graph.findUnique({ where: { id: graphId }, select });
  return graph?.userId ?? graph?.team?.ownerId ?? graphId;
}

/** The bytes of a user's own graph, and of the graph of the team that the user owns. */
async function bytesHeldBy({ database: { models } }: Embedding, userId: string): Promise<number> {
  const owned = await models.teamMember.findUnique({ where: { userId, role: "owner" }, select: { teamId: true } });
  let bytes = 0;
  for (const where of [{ userId }, ...(owned ? [owned] : [])]) {
    const graph = await models.graph.findUnique({ where, select: { id: true } });
    const held = graph && (await models.graphUsage.findUnique({ where: { graphId: graph.id } }));
    bytes += Number(held?.bytes ?? 0);
  }
  return bytes;
}

const byAccount = (texts: readonly Text[]): Array<[account: string, own: Text[]]> =>
  [...new Set(texts.map(({ account }) => account))].map((one) => [one, texts.filter(({ account }) => account === one)]);

/**
 * Not of a graph, nor of a user: whoever makes a team, or signs up, deletes it and does it again gets a new one each
 * time. A hash, since Redis keeps no addresses.
 */
async function dailyCharactersOf({ database: { models } }: Embedding, account: string): Promise<string> {
  const user = await models.user.findUnique({ where: { id: account }, select: { email: true } });
  return `embedded:${user ? sha256(mailboxOf(user.email)).toString("base64url") : account}`;
}

/** Leaves the texts of accounts that had their share of the day embedded for the next one. @returns the others */
async function deferExcess(context: Embedding, texts: readonly Text[]): Promise<Text[]> {
  const { budgets, database, meter } = context;
  const kept: Text[] = [];
  for (const [account, own] of byAccount(texts)) {
    const limit = charactersPerDay + timesHeldPerDay * (await bytesHeldBy(context, account));
    const name = await dailyCharactersOf(context, account);
    const { used, resetMs } = await budgets.take(name, { limit, cost: 0, windowMs: dayMs });
    if (used < limit) {
      kept.push(...own);
      continue;
    }
    meter?.refused("embeddings");
    const data = { attempts: attemptsDeferred, dueAt: new Date((await timeOf(database)).getTime() + resetMs) };
    for (const { due } of own) {
      const { graphId, memoryId, dueAt } = due;
      await database.models.embeddingDue.updateMany({ where: { graphId, memoryId, dueAt }, data });
    }
  }
  return kept;
}

/** Counts what was embedded, even beyond the limit: the server has done the work. What it refused is not counted. */
async function noteEmbedded(context: Embedding, texts: readonly Text[]): Promise<void> {
  for (const [account, own] of byAccount(texts)) {
    const cost = own.reduce((sum, { memory }) => sum + charactersOf(memory), 0);
    const name = await dailyCharactersOf(context, account);
    await context.budgets.take(name, { limit: Number.MAX_SAFE_INTEGER, cost, windowMs: dayMs });
  }
}

const charactersOf = ({ title, summary, content }: MemoryText): number =>
  Math.min(title.length + (summary?.length ?? 0) + content.length, embeddedCharacters);

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

/** Takes a memory out of the queue, unless it was changed again since it was claimed. */
const settleDue = ({ database: { models } }: Embedding, { graphId, memoryId, dueAt }: DueMemory) =>
  models.embeddingDue.deleteMany({ where: { graphId, memoryId, dueAt } });
