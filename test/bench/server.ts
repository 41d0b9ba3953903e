import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Answer, Order, Question, Usage } from "./child.js";
import { Client } from "./load.js";

/** One of the two servers, in a process of its own. */
export interface Server extends AsyncDisposable {
  readonly client: Client;
  usage(): Promise<Usage>;
}

/** Starts `service` or `floor` as in production; what it logs goes to the file. */
export async function startServer(name: "service" | "floor", order: Order, logFile: string): Promise<Server> {
  const log = openSync(logFile, "a");
  const child = fork(fileURLToPath(new URL(`./${name}.js`, import.meta.url)), {
    env: { ...process.env, NODE_ENV: "production" },
    stdio: ["ignore", log, "inherit", "ipc"],
  });
  closeSync(log);
  const { port } = (await told(child, { start: order })) as { port: number };
  const client = new Client(port);
  return {
    client,
    usage: async () => (await told(child, { usage: true })) as Usage,
    async [Symbol.asyncDispose]() {
      client.close();
      child.disconnect();
      await once(child, "exit");
    },
  };
}

function told(child: ChildProcess, question: Question): Promise<Answer> {
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
