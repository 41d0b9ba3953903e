import { type Socket, connect, createServer } from "node:net";
import { listen } from "./listening.js";

/** A proxy to a server, which can cut its connections. Once disposed, it accepts and keeps none. */
export interface TcpProxy extends AsyncDisposable {
  /** The server's address through this proxy. */
  readonly url: string;
  /** Cuts every open connection. */
  cut(): void;
}

/** Starts a proxy to the server at `target`. `join` decides what passes between the two ends of each connection. */
export async function startTcpProxy(target: string, join: (near: Socket, far: Socket) => void): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.setNoDelay(true).on("error", () => {});
      socket.on("close", () => sockets.delete(socket));
    }
    join(near, far);
  });
  const url = new URL(target);
  url.host = `127.0.0.1:${await listen(server)}`;
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    cut,
    async [Symbol.asyncDispose]() {
      server.close();
      cut();
    },
  };
}

/** Ends both ends of a connection as soon as one of them ends. */
export function endTogether(near: Socket, far: Socket): void {
  near.on("close", () => far.destroy());
  far.on("close", () => near.destroy());
}
