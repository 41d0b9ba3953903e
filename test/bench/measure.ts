import type pg from "pg";
import type { Ask, Case } from "./cases.js";
import type { Reply } from "./load.js";
import { backendTimes, usedBetween } from "./postgres-cpu.js";
import type { Server } from "./server.js";

export interface Servers {
  readonly service: Server;
  readonly floor: Server;
}
type Name = keyof Servers;

export interface Plan {
  readonly rounds: number;
  readonly turnMs: number;
  readonly warmUpMs: number;
}

/** What one of the servers took for the requests of one case. */
export interface Figures {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly nodeCpuMicroseconds: number;
  /** Undefined where it cannot be told. */
  readonly postgresCpuMicroseconds: number | undefined;
}

export interface Result {
  readonly name: string;
  readonly target: number | undefined;
  /** The floor's time by the service's, of each round: 1 is as fast as the floor. */
  readonly ratios: readonly number[];
  readonly service: Figures;
  readonly floor: Figures;
}

const COMPARED = 40;

/** @throws Error when the two servers do not answer alike: then their times say nothing. */
export async function compareAnswers(bench: Case, { service, floor }: Servers): Promise<void> {
  for (const ask of bench.requests.slice(0, COMPARED)) {
    const [ours, theirs] = [await service.client.ask(ask), await floor.client.ask(ask)];
    const [one, other] = [ours, theirs].map((reply) => comparable(reply, bench.creates));
    if (ours.status === bench.status && one === other) continue;
    throw new Error(`${bench.name}: the servers answer differently to ${JSON.stringify(ask)}:\n${one}\n${other}`);
  }
}

/** Ids and times of what was just made differ; Apollo ends its answers with a line break. */
function comparable({ status, type, text }: Reply, isNew: boolean): string {
  const own = /"(id|created_?at|updated_?at)":"[^"]+"/gi;
  return `${status} ${type} ${(isNew ? text.replace(own, '"$1":"…"') : text).trimEnd()}`;
}

/** @throws Error when the floor spares itself a check that the service makes. */
export async function compareRefusals({ service, floor }: Servers, asks: readonly Ask[]): Promise<void> {
  for (const ask of asks) {
    const statuses = [(await service.client.ask(ask)).status, (await floor.client.ask(ask)).status];
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

/** Lets the two take turns, so that whatever else the machine does meets both; who begins changes with each round. */
export async function measure(bench: Case, servers: Servers, plan: Plan, monitor: pg.Client): Promise<Result> {
  for (const { client } of [servers.floor, servers.service]) await client.load(bench, plan.warmUpMs);
  const turns: Record<Name, Turn[]> = { floor: [], service: [] };
  for (let round = 0; round < plan.rounds; round++) {
    const order: readonly Name[] = round % 2 === 0 ? ["floor", "service"] : ["service", "floor"];
    for (const name of order) turns[name].push(await turn(bench, servers[name], plan.turnMs, monitor));
  }
  const times = { floor: turns.floor.map(timeOfRequest), service: turns.service.map(timeOfRequest) };
  return {
    name: bench.name,
    target: bench.target,
    ratios: times.floor.map((time, round) => time / (times.service[round] ?? NaN)),
    service: figuresOf(turns.service),
    floor: figuresOf(turns.floor),
  };
}

async function turn(bench: Case, { client, usage }: Server, durationMs: number, monitor: pg.Client): Promise<Turn> {
  const [usedBefore, backendsBefore] = [await usage(), await backendTimes(monitor)];
  const { elapsedMs, latenciesMs } = await client.load(bench, durationMs);
  const [usedAfter, backendsAfter] = [await usage(), await backendTimes(monitor)];
  return {
    elapsedMs,
    latenciesMs,
    nodeCpuMicroseconds: usedAfter.cpuMicroseconds - usedBefore.cpuMicroseconds,
    postgresCpuMicroseconds: usedBetween(backendsBefore, backendsAfter),
  };
}

const timeOfRequest = ({ elapsedMs, latenciesMs }: Turn): number => elapsedMs / latenciesMs.length;

function figuresOf(turns: readonly Turn[]): Figures {
  const latencies = turns.flatMap(({ latenciesMs }) => latenciesMs).sort((one, other) => one - other);
  const requests = latencies.length;
  const postgres = turns.map(({ postgresCpuMicroseconds }) => postgresCpuMicroseconds);
  return {
    requestsPerSecond: requests / (sum(turns.map(({ elapsedMs }) => elapsedMs)) / 1_000),
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    nodeCpuMicroseconds: sum(turns.map(({ nodeCpuMicroseconds }) => nodeCpuMicroseconds)) / requests,
    postgresCpuMicroseconds: postgres.every(isKnown) ? sum(postgres) / requests : undefined,
  };
}

const isKnown = (time: number | undefined): time is number => time !== undefined;

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

export const median = (values: readonly number[]): number =>
  quantile(
    [...values].sort((one, other) => one - other),
    0.5,
  );

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
