import { once } from "node:events";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";

/**
 * What the network does. `forward` works normally; `swallow` loses all bytes both ways and closes nothing, like a black
 * hole; `dribble` forwards one byte every 50 ms; `delay` forwards everything 10 ms later, as between two data centres;
 * `refuse` cuts every connection, also new ones.
 */
export type Weather = "forward" | "swallow" | "dribble" | "delay" | "refuse";

const DELAY_MS = 10;

/** A proxy between the service and one of its servers, which can simulate network faults. */
export interface FaultyProxy extends AsyncDisposable {
  /** The server's address through this proxy. */
  readonly url: string;
  become(weather: Weather): void;
  /** Cuts every open connection. */
  cut(): void;
}

export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  const { hostname, port } = new URL(target);
  let weather: Weather = "forward";
  const sockets = new Set<Socket>();
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    if (weather === "refuse") near.destroy();
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on("error", () => {});
      from.on("close", () => {
        sockets.delete(from);
        // A black hole also loses the message that a connection has ended.
        if (weather !== "swallow") to.destroy();
      });
      from.on("data", (bytes) => {
        if (weather === "forward") to.write(bytes);
        if (weather === "delay") setTimeout(() => to.write(bytes), DELAY_MS);
        if (weather === "dribble") void dribble(bytes, to);
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(target);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    become(next) {
      weather = next;
      if (next === "refuse") cut();
    },
    cut,
    async [Symbol.asyncDispose]() {
      server.close();
      cut();
    },
  };
}

async function dribble(bytes: Buffer, to: Socket): Promise<void> {
  for (const byte of bytes) {
    if (to.destroyed) return;
    to.write(Buffer.of(byte));
    await new Promise((done) => setTimeout(done, 50));
  }
}
