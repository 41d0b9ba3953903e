import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { freePort, untilAnswers } from "./server-process.js";

/** A PostgreSQL and its streaming replica. */
export interface Replicated extends AsyncDisposable {
  readonly primaryUrl: string;
  readonly replicaUrl: string;
  /** Makes the replica stop replaying, once it has what the primary has, until it is resumed. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Makes the replica a database of its own, which follows the primary no more. */
  promote(): Promise<void>;
  stopReplica(): Promise<void>;
}

/** The folder of PostgreSQL's programs, if it has all that are needed; the embedded PostgreSQL lacks some. */
export function programsOfPostgres(): string | undefined {
  try {
    const folder = execFileSync("pg_config", ["--bindir"], { encoding: "utf8" }).trim();
    return ["initdb", "postgres", "pg_basebackup"].every((name) => existsSync(join(folder, name))) ? folder : undefined;
  } catch {
    return undefined;
  }
}

const NOBODY = 65_534;
/** PostgreSQL refuses to run as root. */
const as = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
const IN_HASTE = ["-c", "fsync=off", "-c", "unix_socket_directories=", "-c", "listen_addresses=127.0.0.1"];

export async function startReplicated(programs: string): Promise<Replicated> {
  const folder = mkdtempSync(join(tmpdir(), "memory-graph-replicated-"));
  if ("uid" in as) chownSync(folder, NOBODY, NOBODY);
  const run = (name: string, words: readonly string[]) =>
    void execFileSync(join(programs, name), words, { ...as, cwd: folder, stdio: "pipe" });
  const started: ChildProcess[] = [];
  const start = async (data: string, port: number) => {
    const words = ["-D", join(folder, data), "-p", String(port), ...IN_HASTE];
    const child = spawn(join(programs, "postgres"), words, { ...as, cwd: folder, stdio: "ignore" });
    started.push(child);
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    await untilAnswers(url, child);
    return { url, child };
  };
  const stop = async (child: ChildProcess) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    // Stops at once, without waiting for connections.
    child.kill("SIGQUIT");
    await exited;
  };
  const [primaryPort, replicaPort] = [await freePort(), await freePort()];
  run("initdb", ["-D", join(folder, "primary"), "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8"]);
  const primary = await start("primary", primaryPort);
  run("pg_basebackup", [
    "-h",
    "127.0.0.1",
    "-p",
    String(primaryPort),
    "-U",
    "postgres",
    "-D",
    join(folder, "replica"),
    "-R",
    "--no-sync",
    "-c",
    "fast",
  ]);
  const replica = await start("replica", replicaPort);
  const onReplica = async (statement: string) => {
    const client = new pg.Client(replica.url);
    await client.connect();
    await client.query(statement);
    await client.end();
  };
  const pause = async () => {
    const [client, other] = [new pg.Client(replica.url), new pg.Client(primary.url)];
    await Promise.all([client.connect(), other.connect()]);
    const until = async (isTrue: string, values: readonly unknown[] = []) => {
      while (!(await client.query(`SELECT ${isTrue} AS is`, [...values])).rows[0].is) await setTimeout(20);
    };
    const { rows } = await other.query("SELECT pg_current_wal_flush_lsn() AS stored");
    await until("pg_last_wal_replay_lsn() >= $1::pg_lsn", [rows[0].stored]);
    await client.query("SELECT pg_wal_replay_pause()");
    await until("pg_get_wal_replay_pause_state() = 'paused'");
    await Promise.all([client.end(), other.end()]);
  };
  return {
    primaryUrl: primary.url,
    replicaUrl: replica.url,
    pause,
    resume: () => onReplica("SELECT pg_wal_replay_resume()"),
    promote: () => onReplica("SELECT pg_promote()"),
    stopReplica: () => stop(replica.child),
    async [Symbol.asyncDispose]() {
      for (const child of started.reverse()) await stop(child);
      rmSync(folder, { recursive: true });
    },
  };
}
