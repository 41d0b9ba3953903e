import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import pg from "pg";
import { ask } from "./http.js";
import { environmentForProcess } from "./environment.js";
import type { SomeLimits } from "./limits.js";
import { assertTellsOfNobody } from "./told-of-people.js";

/** The built server as a separate process, which tests can kill. */
export interface ServerProcess extends AsyncDisposable {
  readonly url: string;
  readonly child: ChildProcess;
  /** Everything that it has printed so far. */
  printed(): string;
  kill(signal: NodeJS.Signals): Promise<number | null>;
}

interface ProcessOptions {
  readonly folder?: string;
  readonly uid?: number | undefined;
  readonly flags?: readonly string[];
  readonly openFiles?: number;
}

/**
 * Starts dist/main.js, which `npm test` has built, and waits until it is ready. Options give it smaller limits, another
 * folder, another user, flags of Node or a limit of open files.
 */
export async function startServerProcess(
  environment: Record<string, string>,
  limits: SomeLimits = {},
  { folder = ".", uid, flags = [], openFiles }: ProcessOptions = {},
): Promise<ServerProcess> {
  const dataDir = environment["DATA_DIR"] ?? (await mkdtemp(join(tmpdir(), "memory-graph-")));
  const port = await freePort();
  const env = {
    ...environmentForProcess(),
    PORT: String(port),
    NODE_ENV: "production",
    DATA_DIR: dataDir,
    ...environment,
  };
  const words = [process.execPath, ...flags, "--import", changeOf(folder, limits), join(folder, "dist/main.js")];
  const limited = ["sh", "-c", 'ulimit -n "$0" && exec "$@"', String(openFiles)];
  const [program = "", ...args] = openFiles === undefined ? words : [...limited, ...words];
  const child = spawn(program, args, {
    env,
    cwd: folder,
    ...(uid !== undefined && { uid, gid: uid }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => (printed += String(bytes)));
  const kill = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const exited = once(child, "exit");
    child.kill(signal);
    await exited;
    return child.exitCode;
  };
  const server: ServerProcess = {
    url: `http://127.0.0.1:${port}`,
    child,
    printed: () => printed,
    kill,
    async [Symbol.asyncDispose]() {
      await kill("SIGKILL");
      if (environment["DATA_DIR"] === undefined) await rm(dataDir, { recursive: true, force: true });
      // In development it also prints a key, for people.
      assertTellsOfNobody(printed.split("\n").filter((line) => line.startsWith("{")));
    },
  };
  await ready(server);
  return server;
}

/** Writes a module into this folder that sets these limits. It is loaded before the service. */
function changeOf(folder: string, limits: SomeLimits): string {
  // No load balancer is in front of these servers, so nothing needs time to notice the stop.
  const changed = { ...limits, stop: { leaveMs: 0, ...limits.stop } };
  const script = `
    import { LIMITS } from ${JSON.stringify(pathToFileURL(join(folder, "dist/limits.js")).href)};
    for (const [room, bounds] of Object.entries(${JSON.stringify(changed)})) Object.assign(LIMITS[room], bounds);`;
  return `data:text/javascript,${encodeURIComponent(script)}`;
}

async function ready({ url, child, printed }: ServerProcess): Promise<void> {
  for (let attempt = 0; attempt < 3_000 && child.exitCode === null; attempt++) {
    const answer = await ask(`${url}/readyz`).catch(() => undefined);
    if (answer?.status === 200) return;
    await new Promise((done) => setTimeout(done, 20));
  }
  throw new Error(`The server did not become ready:\n${printed()}`);
}

let portsGiven = 0;

/**
 * A port that only this process gives out. The system could choose a port again for another test's server or
 * connection before ours listens; then the requests would reach a server that knows none of our keys.
 */
export async function freePort(): Promise<number> {
  const [first, perProcess, processes] = [10_000, 100, 200];
  for (;;) {
    const port = first + (process.pid % processes) * perProcess + (portsGiven++ % perProcess);
    const server = createServer().listen(port, "127.0.0.1");
    // An error of the server rejects it, too.
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}

/** Waits until the server that a program starts answers at this address. */
export async function untilAnswers(url: string, child: ChildProcess): Promise<void> {
  for (let attempt = 0; child.exitCode === null && attempt < 3_000; attempt++) {
    const client = new pg.Client(url);
    client.on("error", () => {});
    try {
      await client.connect();
      return await client.end();
    } catch {
      await new Promise((done) => setTimeout(done, 20));
    }
  }
  throw new Error("It does not answer.");
}
