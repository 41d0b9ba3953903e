import type pg from "pg";
import type { Ask, Case } from "./cases.js";
import type { Reply } from "./load.js";
import { backendTimes, usedBetween } from "./postgres-cpu.js";
import { pinBesideClient, pinServer } from "./cpu-share.js";
import type { Shares } from "./profile.js";
import type { Server } from "./server.js";

export interface Plan {
  readonly rounds: number;
  readonly turnMs: number;
  /** How many requests of a case each server answers before it is measured, unless they take longer than the time. */
  readonly warmUp: { readonly requests: number; readonly ms: number };
  /** How many requests run at once, each on its own kept-alive connection. */
  readonly connections: number;
  /** Whether each server takes one more turn, in which it is profiled. */
  readonly profile: boolean;
}

/** One of the servers that take turns, and the case in the form that this server accepts. */
export interface Contender {
  readonly name: string;
  readonly server: Server;
  readonly asked: Case;
}

/** What one server needed for the requests of one case. */
export interface Figures {
  /** The speed in each round. */
  readonly requestsPerSecond: readonly number[];
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly nodeCpuMicroseconds: number;
  /** Undefined if it is not known. */
  readonly postgresCpuMicroseconds: number | undefined;
  /** Where Node's CPU went in a further turn, if it was profiled. */
  readonly shares?: Shares;
}

export interface Result {
  readonly name: string;
  readonly target: number;
  /** The figures by server name. */
  readonly servers: Readonly<Record<string, Figures>>;
}

const COMPARED = 40;

/** @throws Error when a server answers differently from the floor: then its times mean nothing. */
export async function compareAnswers(floor: Contender, other: Contender): Promise<void> {
  for (const [index, ask] of floor.asked.requests.slice(0, COMPARED).entries()) {
    const asked = other.asked.requests[index] ?? ask;
    const replies = [await other.server.ask(asked), await floor.server.ask(ask)];
    const [one, two] = replies.map((reply) => comparable(reply, floor.asked.creates));
    if (replies[0]?.status === floor.asked.status && one === two) continue;
    throw new Error(
      `${floor.asked.name}: ${other.name} and ${floor.name} answer differently to ${JSON.stringify(ask)}:\n${one}\n${two}`,
    );
  }
}

const OWN = /"(id|created_?at|updated_?at)":"[^"]+"/gi;
const TIME = /"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))"/g;

/**
 * An answer's text without the parts that may differ: ids and times of new objects, the form of times, the spelling of
 * the media type, and the line break at the end of Apollo's answers.
 */
export function comparable({ status, type = "", text }: Reply, isNew: boolean): string {
  const old = isNew ? text.replace(OWN, '"$1":"…"') : text;
  const sameTimes = old.replace(TIME, (_quoted, time: string) => JSON.stringify(new Date(time)));
  return `${status} ${type.toLowerCase().replace(/;\s*/, "; ")} ${sameTimes.trimEnd()}`;
}

/** @throws Error when the floor omits a check that the service makes. */
export async function compareRefusals(service: Server, floor: Server, asks: readonly Ask[]): Promise<void> {
  for (const ask of asks) {
    const statuses = [(await service.ask(ask)).status, (await floor.ask(ask)).status];
    if (statuses[0] === statuses[1] && statuses[0] !== undefined && statuses[0] >= 400) continue;
    throw new Error(`One server refuses what the other does not: ${JSON.stringify(ask)} is ${statuses.join(" and ")}.`);
  }
}

interface Turn {
  readonly elapsedMs: number;
  readonly latenciesMs: readonly number[];
  readonly nodeCpuMicroseconds: number;
  readonly postgresCpuMicroseconds: number | undefined;
}

/** Lets the servers take turns, so other load on the machine affects all; each round begins with another server. */
export async function measure(
  { name, target }: Case,
  contenders: readonly Contender[],
  plan: Plan,
  monitor: pg.Client,
): Promise<Result> {
  for (const { server, asked } of contenders) await server.client(plan).warmUp(asked, plan.warmUp);
  const turns = new Map<string, Turn[]>(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round < plan.rounds; round++) {
    const first = round % contenders.length;
    for (const contender of [...contenders.slice(first), ...contenders.slice(0, first)]) {
      turns.get(contender.name)?.push(await turn(contender, plan, monitor));
    }
  }
  const servers: Record<string, Figures> = {};
  if (plan.profile) pinBesideClient([...((await backendTimes(monitor))?.keys() ?? [])]);
  for (const { name, server, asked } of contenders) {
    const figures = figuresOf(turns.get(name) ?? []);
    const work = () => server.client(plan).load(asked, plan.turnMs);
    servers[name] = plan.profile ? { ...figures, shares: await server.profileDuring(work) } : figures;
  }
  return { name, target, servers };
}

async function turn({ server, asked }: Contender, plan: Plan, monitor: pg.Client): Promise<Turn> {
  const [usedBefore, backendsBefore] = [await server.usage(), await backendTimes(monitor)];
  pinServer([...(backendsBefore?.keys() ?? [])]);
  const { elapsedMs, latenciesMs } = await server.client(plan).load(asked, plan.turnMs);
  const [usedAfter, backendsAfter] = [await server.usage(), await backendTimes(monitor)];
  return {
    elapsedMs,
    latenciesMs,
    nodeCpuMicroseconds: usedAfter.cpuMicroseconds - usedBefore.cpuMicroseconds,
    postgresCpuMicroseconds: usedBetween(backendsBefore, backendsAfter),
  };
}

function figuresOf(turns: readonly Turn[]): Figures {
  const latencies = turns.flatMap(({ latenciesMs }) => latenciesMs).sort((one, other) => one - other);
  const each = (used: (turn: Turn) => number) => median(turns.map((one) => used(one) / one.latenciesMs.length));
  const isKnown = turns.every(({ postgresCpuMicroseconds }) => postgresCpuMicroseconds !== undefined);
  return {
    requestsPerSecond: turns.map(({ elapsedMs, latenciesMs }) => (latenciesMs.length / elapsedMs) * 1_000),
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    nodeCpuMicroseconds: each(({ nodeCpuMicroseconds }) => nodeCpuMicroseconds),
    postgresCpuMicroseconds: isKnown ? each(({ postgresCpuMicroseconds = NaN }) => postgresCpuMicroseconds) : undefined,
  };
}

/** One server's speed as a share of another's, in each round. */
export const ratios = (one: Figures, other: Figures): number[] =>
  one.requestsPerSecond.map((rate, round) => rate / (other.requestsPerSecond[round] ?? NaN));

export const median = (values: readonly number[]): number =>
  quantile(
    [...values].sort((one, other) => one - other),
    0.5,
  );

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
