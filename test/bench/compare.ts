import { rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { built } from "./built.js";
import type { Case } from "./cases.js";
import type { Order } from "./child.js";
import { CORES, pinClient, pinServer, saysShares } from "./cpu-share.js";
import { GRAPHS, MEMORIES, RELATIONSHIPS, openDataset } from "./dataset.js";
import { type Contender, type Plan, type Result, compareAnswers, compareRefusals, measure } from "./measure.js";
import { type Peer, caseFor, installPeers, serverFileOf } from "./peers.js";
import { REFUSED } from "./refused.js";
import { type Report, sayRatio } from "./report.js";
import { type Server, startServer } from "./server.js";
import { statements } from "./statements.js";

const { openDatabase } = await built<typeof import("../../src/platform/database/database.js")>(
  "platform/database/database.js",
);

export interface Wishes {
  readonly cases: readonly Case[];
  readonly plan: Plan;
  /** With how many connections the floor and the service are measured once more, each time. */
  readonly moreConnections: readonly number[];
  readonly peers: readonly Peer[];
  /** Only compares the answers, and measures nothing. */
  readonly onlyAnswers: boolean;
  /** How many memories are stored before the measurement, without vacuuming the database afterwards. */
  readonly inserts: number;
}
type Say = (message: string) => void;

/** Returns undefined if only the answers were to be compared. */
export async function compare(serverUrl: string, wishes: Wishes, say: Say): Promise<Report | undefined> {
  installPeers(wishes.peers, say);
  await using dataset = await openDataset(serverUrl, say);
  const databaseUrl = dataset.url;
  const monitor = new pg.Client({ connectionString: databaseUrl });
  await monitor.connect();
  try {
    const order = { databaseUrl, pool: await poolOptions(databaseUrl), statements: await statements() };
    await using servers = await startServers(order, wishes.peers);
    const { floor, service } = servers;
    await compareRefusals(service, floor, REFUSED);
    for (const each of wishes.cases) {
      const [first, ...others] = contendersOf(each, servers);
      for (const other of others) await compareAnswers(first, other);
    }
    say(wishes.peers.length > 0 ? "All answer alike." : "Both answer alike.");
    if (wishes.onlyAnswers) return undefined;
    if (wishes.inserts > 0) await insertMemories(servers, wishes, monitor);
    pinClient();
    pinServer([floor, service, ...servers.peers.values()].map(({ pid }) => pid));
    const measureAll = async (plan: Plan, among: Servers) => {
      const { rounds, turnMs, connections } = plan;
      say(`${rounds} rounds of ${turnMs / 1_000} s for each case and server, by ${connections} connections …`);
      const results: Result[] = [];
      for (const each of wishes.cases) {
        const result = await measure(each, contendersOf(each, among), plan, monitor);
        say(`  ${each.name} ${sayRatio(result)}`);
        results.push(result);
      }
      return { plan, results };
    };
    const { plan, results } = await measureAll(wishes.plan, servers);
    const memoryMb = await memoryOf(servers);
    const again: Report["again"][number][] = [];
    for (const connections of wishes.moreConnections) {
      again.push(await measureAll({ ...plan, connections, profile: false }, { ...servers, peers: new Map() }));
    }
    return { machine: await machineOf(monitor, wishes), plan, results, memoryMb, again };
  } finally {
    await monitor.end();
  }
}

interface Servers extends AsyncDisposable {
  readonly floor: Server;
  readonly service: Server;
  readonly peers: ReadonlyMap<Peer, Server>;
}

async function startServers(order: Order, wanted: readonly Peer[]): Promise<Servers> {
  const logFile = join(tmpdir(), `memory-graph-bench-${process.pid}.log`);
  const started: Server[] = [];
  const start = async (name: Parameters<typeof startServer>[0], args: readonly string[] = []) => {
    const server = await startServer(name, order, logFile, args);
    started.push(server);
    return server;
  };
  const stop = async () => {
    for (const server of started) await server[Symbol.asyncDispose]();
    rmSync(logFile, { force: true });
  };
  try {
    const [floor, service, peers] = [await start("floor"), await start("service"), new Map<Peer, Server>()];
    for (const peer of wanted) peers.set(peer, await start("peer", [serverFileOf(peer)]));
    return { floor, service, peers, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The floor comes first, because the others are compared with it. */
function contendersOf(bench: Case, { floor, service, peers }: Servers): [Contender, ...Contender[]] {
  const others = Array.from(peers, ([peer, server]): Contender[] => {
    const asked = caseFor(peer, bench);
    return asked ? [{ name: peer.name, server, asked }] : [];
  });
  return [
    { name: "floor", server: floor, asked: bench },
    { name: "service", server: service, asked: bench },
    ...others.flat(),
  ];
}

/** Taken from the service, so that the other servers connect in the same way. */
async function poolOptions(databaseUrl: string): Promise<Order["pool"]> {
  await using database = openDatabase(databaseUrl);
  const { max, options, statement_timeout } = database.pool.options;
  return { max, ...(options === undefined ? {} : { options }), statement_timeout: statement_timeout ?? false };
}

/** Stores memories with autovacuum off, to measure a table that was not vacuumed since it was written. */
async function insertMemories({ floor }: Servers, { inserts, cases, plan }: Wishes, monitor: pg.Client): Promise<void> {
  const creating = cases.find(({ creates }) => creates);
  if (!creating) throw new Error("--inserts needs a case that creates memories: choose one of these, too.");
  await monitor.query("ALTER TABLE memory SET (autovacuum_enabled = off)");
  await floor.client(plan).send(creating, inserts);
}

/** The memory that each server takes, in MiB. */
async function memoryOf({ floor, service, peers }: Servers): Promise<Record<string, number>> {
  const named: Array<[string, Server]> = [
    ["floor", floor],
    ["service", service],
  ];
  named.push(...Array.from(peers, ([{ name }, server]): [string, Server] => [name, server]));
  const used: Record<string, number> = {};
  for (const [name, server] of named) used[name] = Math.round((await server.usage()).memoryBytes / 1_048_576);
  return used;
}

async function machineOf(monitor: pg.Client, { inserts }: Wishes): Promise<Report["machine"]> {
  const { rows } = await monitor.query<{ server_version: string }>("SHOW server_version");
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: CORES,
    node: process.version,
    postgres: rows[0]?.server_version.split(" ")[0] ?? "unknown",
    load: loadavg()[0] ?? NaN,
    shares: saysShares(),
    data: { memories: MEMORIES + inserts, relationships: RELATIONSHIPS, graphs: GRAPHS },
  };
}
