import type { Socket } from "node:net";
import { type TcpProxy, startTcpProxy } from "./tcp-proxy.js";

/**
 * What the network does. `forward` works normally; `swallow` loses all bytes both ways and closes nothing, like a
 * black hole; `dribble` forwards one byte every 50 ms; `delay` forwards everything 10 ms later, as between two data
 * centres; `garble` sends the service what is no message of PostgreSQL instead of its answers; `refuse` cuts every
 * connection, also new ones; `deny` cuts open ones, and answers new ones as Pgpool-II does when it has lost
 * PostgreSQL.
 */
export type Weather = "forward" | "swallow" | "dribble" | "delay" | "garble" | "refuse" | "deny";

const DENIAL = errorOfPostgres("SERROR\0VERROR\0CXX000\0Mall backend nodes are down\0\0");

/** A row of two values, the first of which is longer than the message. */
const UNREADABLE = Buffer.from("D\0\0\0\x0a\0\x02\x43\0\0\0", "latin1");

const DELAY_MS = 10;

/** A proxy between the service and one of its servers, which can simulate network faults. */
export interface FaultyProxy extends TcpProxy {
  become(weather: Weather): void;
}

export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  let weather: Weather = "forward";
  const proxy = await startTcpProxy(target, (near, far) => {
    if (weather === "refuse") near.destroy();
    if (weather === "deny") near.once("data", () => near.end(DENIAL));
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      // A black hole also loses the message that a connection has ended.
      from.on("close", () => weather !== "swallow" && to.destroy());
      from.on("data", (bytes) => {
        if (weather === "forward") to.write(bytes);
        if (weather === "delay") setTimeout(() => to.write(bytes), DELAY_MS);
        if (weather === "garble") to.write(from === far ? UNREADABLE : bytes);
        if (weather === "dribble") void dribble(bytes, to);
      });
    }
  });
  return {
    ...proxy,
    become(next) {
      weather = next;
      if (next === "refuse" || next === "deny") proxy.cut();
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

/** A message of PostgreSQL with these fields of an error. */
function errorOfPostgres(fields: string): Buffer {
  const head = Buffer.from("E....");
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, Buffer.from(fields)]);
}
