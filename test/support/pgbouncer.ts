import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import pg from "pg";
import { freePort, untilAnswers } from "./server-process.js";

/** PgBouncer in transaction mode, in front of one PostgreSQL. */
export interface PgBouncer extends AsyncDisposable {
  /** The URL of a database through PgBouncer. */
  urlOf(direct: string): string;
  /** Makes PgBouncer replace each of its connections to PostgreSQL at the next use. */
  reconnect(): Promise<void>;
  /** Sends a command to PgBouncer's console. */
  command(text: string): Promise<void>;
}

/** `PGBOUNCER` names another program than the one on the path. PgBouncer is often where only root's path looks. */
const PROGRAM = process.env["PGBOUNCER"] ?? "pgbouncer";
const PATH = [process.env["PATH"], "/usr/sbin"].join(delimiter);

/** Its version, such as 1.24; undefined if it is not installed. */
export function pgBouncerVersion(): number | undefined {
  const { stdout } = spawnSync(PROGRAM, ["--version"], { encoding: "utf8", env: { PATH } });
  return Number(/PgBouncer (\d+\.\d+)/.exec(stdout ?? "")?.[1]) || undefined;
}

/** So few connections that clients share them all the time. */
const CONNECTIONS = 4;

/** Starts PgBouncer in front of the PostgreSQL at this URL, with further `settings`. */
export async function startPgBouncer(
  target: string,
  settings: Record<string, string | number> = {},
): Promise<PgBouncer> {
  const { hostname, port, username, password } = new URL(target);
  const folder = mkdtempSync(join(tmpdir(), "memory-graph-pgbouncer-"));
  const ownPort = await freePort();
  const all = {
    listen_addr: "127.0.0.1",
    listen_port: ownPort,
    unix_socket_dir: "",
    auth_type: "any",
    admin_users: "console",
    pool_mode: "transaction",
    default_pool_size: CONNECTIONS,
    max_client_conn: 200,
    ...settings,
  };
  const login = [
    `user=${decodeURIComponent(username)}`,
    ...(password ? [`password=${decodeURIComponent(password)}`] : []),
  ];
  writeFileSync(
    join(folder, "pgbouncer.ini"),
    [
      "[databases]",
      `* = host=${hostname} port=${port || 5432} ${login.join(" ")}`,
      "[pgbouncer]",
      ...Object.entries(all).map(([name, value]) => `${name} = ${value}`),
    ].join("\n"),
  );
  chmodSync(folder, 0o755);
  // PgBouncer refuses to run as root.
  const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const child = spawn(PROGRAM, [join(folder, "pgbouncer.ini")], {
    env: { PATH },
    stdio: ["ignore", "pipe", "pipe"] as const,
    ...nobody,
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (bytes) => (printed += String(bytes)));
  const urlOf = (direct: string) => {
    const url = new URL(direct);
    url.host = `127.0.0.1:${ownPort}`;
    return url.href;
  };
  const console = `postgres://console@127.0.0.1:${ownPort}/pgbouncer`;
  const bouncer: PgBouncer = {
    urlOf,
    reconnect: () => bouncer.command("RECONNECT"),
    async command(text) {
      const client = new pg.Client(console);
      await client.connect();
      await client.query(text);
      await client.end();
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) {
        const exited = once(child, "exit");
        child.kill("SIGKILL");
        await exited;
      }
      rmSync(folder, { recursive: true });
    },
  };
  try {
    await untilAnswers(console, child);
    return bouncer;
  } catch (error) {
    await bouncer[Symbol.asyncDispose]();
    throw new Error(`PgBouncer does not answer:\n${printed}`, { cause: error });
  }
}
