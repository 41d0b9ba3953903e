import { LIMITS } from "../../../limits.js";
import { timeOf } from "../../../operation/clock-statement.js";
import { mailboxOf } from "../../../operation/mailbox.js";
import { sha256 } from "../../../operation/sha256.js";
import { type DueMemory, type Embedding, release } from "./embedding-queue.js";
import type { MemoryText } from "./memory-pieces.js";

const { attemptsDeferred, charactersPerDay, dayMs, embeddedCharacters, timesHeldPerDay } = LIMITS.embeddings;

/** A memory that is to be embedded, and who pays for it with their share. */
export interface Text {
  readonly due: DueMemory;
  readonly memory: MemoryText & { readonly version: number };
  /** The user of its graph, or the owner of its team. */
  readonly account: string;
}

/** The user of a graph, or the owner of its team; undefined once these are deleted. */
export async function accountOf({ database: { models } }: Embedding, graphId: string): Promise<string | undefined> {
  const select = { userId: true, team: { select: { ownerId: true } } };
  const graph = await models.graph.findUnique({ where: { id: graphId }, select });
  return graph?.userId ?? graph?.team?.ownerId;
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
export async function deferExcess(context: Embedding, texts: readonly Text[]): Promise<Text[]> {
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
    for (const { due } of own) await release(context, due, data);
  }
  return kept;
}

/** Counts what was embedded, even beyond the limit: the server has done the work. What it refused is not counted. */
export async function noteEmbedded(context: Embedding, texts: readonly Text[]): Promise<void> {
  for (const [account, own] of byAccount(texts)) {
    const cost = own.reduce((sum, { memory }) => sum + charactersOf(memory), 0);
    const name = await dailyCharactersOf(context, account);
    await context.budgets.take(name, { limit: Number.MAX_SAFE_INTEGER, cost, windowMs: dayMs });
  }
}

const charactersOf = ({ title, summary, content }: MemoryText): number =>
  Math.min(title.length + (summary?.length ?? 0) + content.length, embeddedCharacters);
