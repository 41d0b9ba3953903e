import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { networkOf } from "../operation/budget.js";
import type { HttpLimits } from "./http-limits.js";

/** A connection that has just been made may be about to send its first request. */
const FRESH_MS = 1_000;

interface Connection {
  readonly socket: Socket;
  readonly peers: Peers;
  /** Of requests that have begun and are not answered. */
  readonly responses: Set<ServerResponse>;
  /** Bytes of large answers that the client has not taken yet. */
  unsent: number;
  /** How much the system had taken of its answers when it last took some, and when that was. */
  taken: number;
  takenAt: number;
  restingSince: number;
}

/** The connections of one network: of those that rest, the one that has rested longest stands first. */
interface Peers {
  readonly resting: Set<Connection>;
  readonly busy: Set<Connection>;
  unsent: number;
}

/**
 * Every connection of a server, so that nobody has too many and none is kept for a client that does not read.
 *
 * An address may have `connectionsPerAddress`. Beyond that the one that has rested longest makes room for a new one, and
 * those that are answered are closed. Requests that are too many at once wait or are refused where they are admitted.
 * Behind proxies connections are the proxies' own, so they are not counted by address.
 */
export class Connections {
  readonly #limits: HttpLimits;
  readonly #countsAddresses: boolean;
  readonly #peersOf = new Map<string, Peers>();
  readonly #all = new Map<Socket, Connection>();
  #unsent = 0;

  constructor(server: Server, limits: HttpLimits, { behindProxies }: { behindProxies: boolean }) {
    this.#limits = limits;
    this.#countsAddresses = !behindProxies;
    const watch = setInterval(() => this.#endStalled(), Math.max(1, limits.stalledAnswerMs / 10)).unref();
    server.maxConnections = limits.connections;
    server.on("connection", (socket: Socket) => this.#opened(socket));
    const closeIdle = server.closeIdleConnections.bind(server);
    // Browsers open connections ahead. Node counts one on which nothing came as busy, and would wait for it to stop.
    server.closeIdleConnections = () => {
      closeIdle();
      this.#closeUnused();
    };
    server.on("close", () => clearInterval(watch));
  }

  /**
   * A request has begun; until its response is closed it keeps its connection busy. False: too many wait behind each
   * other on it. They all come at once, before any could be answered, so the connection is closed.
   */
  begun(socket: Socket, response: ServerResponse): boolean {
    const connection = this.#all.get(socket);
    if (!connection) return false;
    const { peers, responses } = connection;
    if (responses.size >= this.#limits.pipelined) {
      socket.destroy();
      return false;
    }
    responses.add(response);
    peers.resting.delete(connection);
    peers.busy.add(connection);
    response.once("close", () => {
      responses.delete(response);
      if (responses.size > 0 || !this.#all.has(socket)) return;
      peers.busy.delete(connection);
      connection.restingSince = performance.now();
      peers.resting.add(connection);
    });
    return true;
  }

  /** Whether a connection is one too many of its address, to be closed when it is answered. */
  isCrowded(socket: Socket): boolean {
    const peers = this.#all.get(socket)?.peers;
    return this.#countsAddresses && peers !== undefined && sizeOf(peers) > this.#limits.connectionsPerAddress;
  }

  /** A large answer waits to be read. Too much of that ends the connection whose client has not read for longest. */
  answered(socket: Socket, response: ServerResponse, bytes: number): void {
    const connection = this.#all.get(socket);
    if (!connection) return;
    const add = (more: number) => {
      connection.unsent += more;
      connection.peers.unsent += more;
      this.#unsent += more;
    };
    add(bytes);
    response.once("close", () => add(-bytes));
    const { unsentBytes, unsentBytesPerAddress } = this.#limits;
    if (this.#countsAddresses && connection.peers.unsent > unsentBytesPerAddress)
      endLongestUnread(connection.peers.busy);
    else if (this.#unsent > unsentBytes) endLongestUnread(this.#all.values());
  }

  #closeUnused(): void {
    const now = performance.now();
    for (const { socket, restingSince } of this.#all.values()) {
      if (socket.bytesRead === 0 && now - restingSince >= FRESH_MS) socket.destroy();
    }
  }

  #opened(socket: Socket): void {
    const network = networkOf(socket.remoteAddress ?? "");
    const peers = this.#peersOf.get(network) ?? { resting: new Set(), busy: new Set(), unsent: 0 };
    this.#peersOf.set(network, peers);
    const now = performance.now();
    const responses = new Set<ServerResponse>();
    const connection = { socket, peers, responses, unsent: 0, taken: 0, takenAt: now, restingSince: now };
    if (this.#countsAddresses) this.#makeRoom(peers, now);
    peers.resting.add(connection);
    this.#all.set(socket, connection);
    socket.once("close", () => {
      this.#all.delete(socket);
      peers.resting.delete(connection);
      peers.busy.delete(connection);
      if (sizeOf(peers) === 0) this.#peersOf.delete(network);
      // Node closes the response that was being sent. Those behind it would keep for ever what they hold.
      setImmediate(() => {
        for (const response of responses) response.destroy().emit("close");
      });
    });
  }

  #makeRoom(peers: Peers, now: number): void {
    const { connectionsPerAddress, waitingPerAddress } = this.#limits;
    const [longest] = peers.resting;
    if (!longest || sizeOf(peers) < connectionsPerAddress) return;
    const isFull = sizeOf(peers) >= connectionsPerAddress + waitingPerAddress;
    if (isFull || now - longest.restingSince >= FRESH_MS) longest.socket.destroy();
  }

  /** Ends the connections whose clients have not taken a byte of what waits for them for too long. */
  #endStalled(): void {
    const now = performance.now();
    for (const connection of this.#all.values()) {
      const { socket } = connection;
      const taken = socket.bytesWritten - socket.writableLength;
      if (socket.writableLength === 0 || taken !== connection.taken) {
        connection.taken = taken;
        connection.takenAt = now;
      } else if (now - connection.takenAt >= this.#limits.stalledAnswerMs) socket.destroy();
    }
  }
}

const sizeOf = ({ resting, busy }: Peers): number => resting.size + busy.size;

function endLongestUnread(connections: Iterable<Connection>): void {
  let longest: Connection | undefined;
  for (const connection of connections) {
    if (connection.unsent === 0) continue;
    const isLonger = !longest || connection.takenAt < longest.takenAt;
    if (isLonger || (connection.takenAt === longest?.takenAt && connection.unsent > longest.unsent))
      longest = connection;
  }
  longest?.socket.destroy();
}
