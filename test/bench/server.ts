import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Answer, Order, Question, Usage } from "./child.js";
import type { Ask } from "./cases.js";
import { Client, type Reply } from "./load.js";
import type { Shares } from "./profile.js";

/** One of the compared servers, in a process of its own. */
export interface Server extends AsyncDisposable {
  readonly pid: number;
  ask(ask: Ask): Promise<Reply>;
  /** The client with this many connections to the server; the same one each time. */
  client(plan: { readonly connections: number }): Client;
  usage(): Promise<Usage>;
  /** Where its CPU goes meanwhile. */
  profileDuring(work: () => Promise<unknown>): Promise<Shares>;
}

/** Starts `service`, `floor` or a `peer` with its arguments, as in production; its log goes to the file. */
export async function startServer(
  name: "service" | "floor" | "peer",
  order: Order,
  logFile: string,
  args: readonly string[] = [],
): Promise<Server> {
  const log = openSync(logFile, "a");
  const child = fork(fileURLToPath(new URL(`./${name}.js`, import.meta.url)), args, {
    env: { ...process.env, NODE_ENV: "production" },
    stdio: ["ignore", log, "inherit", "ipc"],
  });
  closeSync(log);
  const { port } = (await askProcess(child, { start: order })) as { port: number };
  const clients = new Map<number, Client>();
  const client: Server["client"] = ({ connections }) => {
    const known = clients.get(connections) ?? new Client(port, connections);
    clients.set(connections, known);
    return known;
  };
  return {
    pid: child.pid ?? 0,
    ask: (ask) => client({ connections: 1 }).ask(ask),
    client,
    usage: async () => (await askProcess(child, { usage: true })) as Usage,
    async profileDuring(work) {
      await askProcess(child, { profile: "begin" });
      await work();
      return (await askProcess(child, { profile: "end" })) as Shares;
    },
    async [Symbol.asyncDispose]() {
      for (const one of clients.values()) one.close();
      child.disconnect();
      await once(child, "exit");
    },
  };
}

function askProcess(child: ChildProcess, question: Question): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error("A server under test has ended; what it said is above."));
    child.once("exit", ended);
    child.once("message", (answer: Answer) => {
      child.off("exit", ended);
      resolve(answer);
    });
    child.send(question);
  });
}
