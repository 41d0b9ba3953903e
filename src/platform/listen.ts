import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { LIMITS } from "../limits.js";
import { StartError } from "./start-error.js";

interface Place {
  readonly host: string;
  readonly port: number;
}

const placeOf = (server: Server) => server.address() as AddressInfo;

/** Whether a server listens on all addresses of this machine: `::` includes those of IPv4. */
export const isOnAll = (server: Server): boolean => ["0.0.0.0", "::"].includes(placeOf(server).address);

/** An address at which a server that listens can be opened. Browsers and Windows open none such as `0.0.0.0`. */
export function addressOf(server: Server, host: string): string {
  const opened = isOnAll(server) ? "127.0.0.1" : host;
  return `http://${opened.includes(":") ? `[${opened}]` : opened}:${placeOf(server).port}`;
}

/** `prefix` begins the names of the variables that say where to listen. */
export function listen(server: Server, where: Place, prefix = ""): Promise<void> {
  const { host, port } = where;
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) => reject(explainListening(error, where, prefix));
    server.once("error", refuse);
    server.listen(port, host, () => {
      server.off("error", refuse);
      resolve();
    });
  });
}

const listeningSentences = (prefix: string): Readonly<Record<string, string>> => ({
  EADDRINUSE: `another program listens there. Stop it, or choose another ${prefix}PORT`,
  EACCES: `this user has no permission. Choose a ${prefix}PORT from 1024 on`,
  EADDRNOTAVAIL: `this machine does not have the address. Correct ${prefix}HOST`,
  EINVAL: `the address cannot be used. Correct ${prefix}HOST`,
  ENOTFOUND: `the host name is unknown. Correct ${prefix}HOST`,
  EAI_AGAIN: `the host name cannot be resolved. Correct ${prefix}HOST, or check DNS`,
});

function explainListening(error: NodeJS.ErrnoException, { host, port }: Place, prefix: string): Error {
  const sentence = listeningSentences(prefix)[error.code ?? ""];
  return sentence
    ? new StartError(`The service cannot listen on ${host}, port ${port}: ${sentence} (${error.code}).`)
    : error;
}

/**
 * Accepts the connections that wait in the system's queue. If the server closed before, they would be reset, though
 * their clients may have sent requests. A turn of the event loop accepts one, so the caller keeps turns short.
 */
export async function acceptWaiting(server: Server): Promise<void> {
  const begun = performance.now();
  let accepted = 0;
  const count = () => void accepted++;
  server.on("connection", count);
  for (let before = -1; accepted > before && performance.now() - begun < LIMITS.stop.acceptMs;) {
    before = accepted;
    // The present turn may be past its look for connections.
    for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate);
  }
  server.off("connection", count);
}

/** Stops accepting connections, and waits until every running request is answered. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), LIMITS.stop.drainMs);
    // A running request is answered normally; its connection stays open after that and must then be closed.
    const sweep = setInterval(() => server.closeIdleConnections(), 100);
    server.close(() => {
      clearTimeout(deadline);
      clearInterval(sweep);
      resolve();
    });
  });
}
