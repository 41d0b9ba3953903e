import { Agent, request as send } from "node:http";
import type { Ask, Case } from "./cases.js";

export interface Reply {
  readonly status: number;
  readonly type: string | undefined;
  readonly text: string;
}

/** The service limits what one address may do at once, so more connections come from several addresses. */
const CONNECTIONS_OF_ADDRESS = 32;

/** A client with this many open connections. More than 32 need Linux, where 127.0.0.2 is this machine, too. */
export class Client {
  readonly #agent: Agent;
  /** How many of each case's requests were sent; they are repeated in a circle. */
  readonly #sent = new Map<Case, number>();

  constructor(
    private readonly port: number,
    private readonly connections: number,
  ) {
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** Sends a request from one of this machine's addresses: the first is number 0. */
  ask({ method, path, key, body }: Ask, address = 0): Promise<Reply> {
    const headers = {
      authorization: `Bearer ${key}`,
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
    };
    return new Promise((resolve, reject) => {
      const request = send(
        { agent: this.#agent, ...addresses(address), port: this.port, method, path, headers },
        (response) => {
          const parts: Buffer[] = [];
          response.on("data", (part: Buffer) => parts.push(part));
          response.on("error", reject);
          response.on("end", () => {
            const text = Buffer.concat(parts).toString("utf8");
            resolve({ status: response.statusCode ?? 0, type: response.headers["content-type"], text });
          });
        },
      );
      request.on("error", reject);
      request.end(body);
    });
  }

  /** Sends requests without a pause for this long. Returns how long each took, in milliseconds. */
  async load(bench: Case, durationMs: number): Promise<{ readonly elapsedMs: number; readonly latenciesMs: number[] }> {
    const latenciesMs: number[] = [];
    const startedAt = performance.now();
    await this.#work(bench, (begin, end) => {
      latenciesMs.push(end - begin);
      return end - startedAt < durationMs;
    });
    return { elapsedMs: performance.now() - startedAt, latenciesMs };
  }

  /** Sends at least this many requests, or for this long if they take longer. */
  async warmUp(bench: Case, { requests, ms }: { readonly requests: number; readonly ms: number }): Promise<void> {
    const startedAt = performance.now();
    let done = 0;
    await this.#work(bench, (_begin, end) => ++done < requests && end - startedAt < ms);
  }

  /** Sends at least this many requests. */
  async send(bench: Case, times: number): Promise<void> {
    let done = 0;
    await this.#work(bench, () => ++done < times);
  }

  /** Sends requests on all connections until each is told to stop. Throws at the first unexpected answer. */
  async #work(bench: Case, goesOn: (begin: number, end: number) => boolean): Promise<void> {
    const worker = async (_none: unknown, index: number) => {
      const address = Math.floor(index / CONNECTIONS_OF_ADDRESS);
      for (let begin = performance.now(), on = true; on;) {
        const { status, text } = await this.ask(this.#next(bench), address);
        if (status !== bench.status || text.includes('"errors":')) throw new Error(`${bench.name}: ${status} ${text}`);
        const end = performance.now();
        on = goesOn(begin, end);
        begin = end;
      }
    };
    await Promise.all(Array.from({ length: this.connections }).map(worker));
  }

  #next(bench: Case): Ask {
    const sent = this.#sent.get(bench) ?? 0;
    this.#sent.set(bench, sent + 1);
    const ask = bench.requests[sent % bench.requests.length];
    if (!ask) throw new RangeError(`The case ${bench.name} has no requests.`);
    return ask;
  }

  close(): void {
    this.#agent.destroy();
  }
}

const addresses = (number: number) => ({
  host: "127.0.0.1",
  ...(number === 0 ? {} : { localAddress: `127.0.0.${number + 1}` }),
});
