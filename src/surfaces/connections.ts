import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { networkOf } from "../operation/network.js";
import { resetConnection } from "./closing.js";
import type { HttpLimits } from "./http-limits.js";

/** A connection that is idle for less may be about to send a request. */
const FRESH_MS = 1_000;
/** A head of usual size, which no other heads keep from being answered: connections bound their number. */
const USUAL_HEAD_BYTES = 2_048;

interface Connection {
  readonly socket: Socket;
  readonly peers: Peers;
  /** The responses of requests that are not yet answered. */
  readonly responses: Set<ServerResponse>;
  /** Bytes of large answers that the client has not taken yet. */
  unsent: number;
  /** How many bytes the operating system had accepted for sending at the last progress, and the time of that. */
  taken: number;
  takenAt: number;
  idleSince: number;
}

/** The connections of one network. The first of `idle` has been idle for longest. */
interface Peers {
  readonly idle: Set<Connection>;
  readonly busy: Set<Connection>;
  unsent: number;
}

/**
 * Limits the connections of each address, and closes those whose client does not read its answers.
 *
 * An address may have `connectionsPerAddress`. Beyond that, connections are closed after their answer, and a new one
 * closes the one that has been idle for longest, if for `spareMs`, or with `waitingPerAddress` more at once. Too many
 * concurrent requests wait or are refused in `admission.ts`. Behind proxies connections belong to the proxies, so they
 * are not counted by address. Of all addresses there may be `connections`; the last one closes the one that has been
 * idle for longest, whoever has it.
 */
export class Connections {
  readonly #limits: HttpLimits;
  readonly #countsAddresses: boolean;
  readonly #peersOf = new Map<string, Peers>();
  readonly #all = new Map<Socket, Connection>();
  /** Those of all networks; the first has been idle for longest. */
  readonly #idle = new Set<Connection>();
  #unsent = 0;
  #headBytes = 0;

  constructor(server: Server, limits: HttpLimits, { behindProxies }: { behindProxies: boolean }) {
    this.#limits = limits;
    this.#countsAddresses = !behindProxies;
    // After a pause of this process, what clients have read meanwhile is counted first.
    const look = () => void setImmediate((now: number) => this.#endStalled(now), performance.now());
    const watch = setInterval(look, Math.max(1, limits.stalledAnswerMs / 10)).unref();
    server.maxConnections = limits.connections;
    server.on("connection", (socket: Socket) => this.#add(socket));
    // Node has closed a new connection, since there are too many: its next try finds room.
    server.on("drop", () => setImmediate(() => this.#closeOldestOf(this.#idle, FRESH_MS)));
    const closeIdle = server.closeIdleConnections.bind(server);
    // Browsers open connections in advance. Before version 26, Node counts an unused one as busy, and its shutdown would
    // wait for it; since then it closes a fresh one, too. So nothing is closed while one is fresh: the shutdown repeats.
    server.closeIdleConnections = () => {
      const unused = [...this.#all.values()].filter(({ socket }) => socket.bytesRead === 0);
      const freshSince = performance.now() - FRESH_MS;
      if (unused.some(({ idleSince }) => idleSince > freshSince)) return;
      closeIdle();
      for (const { socket } of unused) socket.destroy();
    };
    const closeAll = server.closeAllConnections.bind(server);
    // Answers that a stop of the server cuts must not look whole.
    server.closeAllConnections = () => {
      for (const { socket, responses } of this.#all.values()) if (responses.size > 0) resetConnection(socket);
      closeAll();
    };
    server.on("close", () => clearInterval(watch));
  }

  /**
   * Marks the connection as busy until the response is closed. Returns false when too many pipelined requests wait on
   * it, or the heads of all requests take too much memory; pipelined ones all arrive before any could be answered, so the
   * connection is closed.
   */
  beginRequest({ socket, rawHeaders, url = "" }: IncomingMessage, response: ServerResponse): boolean {
    const connection = this.#all.get(socket);
    if (!connection) return false;
    const { peers, responses } = connection;
    let headBytes = url.length;
    for (const part of rawHeaders) headBytes += part.length;
    const isFull = this.#headBytes + headBytes > this.#limits.headsBytes;
    const isUsual = responses.size === 0 && headBytes <= USUAL_HEAD_BYTES;
    if (responses.size >= this.#limits.pipelined || (isFull && !isUsual)) {
      socket.destroy();
      return false;
    }
    responses.add(response);
    this.#headBytes += headBytes;
    this.#noteIdle(connection, false);
    peers.busy.add(connection);
    response.once("close", () => {
      responses.delete(response);
      this.#headBytes -= headBytes;
      if (responses.size > 0 || !this.#all.has(socket)) return;
      peers.busy.delete(connection);
      connection.idleSince = performance.now();
      this.#noteIdle(connection, true);
    });
    return true;
  }

  /** The last answer that a connection owes to a request that has all arrived, or whose answer has begun. */
  lastOwed(socket: Socket): ServerResponse | undefined {
    const responses = [...(this.#all.get(socket)?.responses ?? [])];
    const isOwed = (one: ServerResponse) => !one.writableFinished && (one.req.complete || one.headersSent);
    return responses.findLast(isOwed);
  }

  /** Whether the request that is still arriving has just got its answer. After it, its connection is closed anyway. */
  isAnswered(socket: Socket): boolean {
    const last = [...(this.#all.get(socket)?.responses ?? [])].at(-1);
    return last !== undefined && last.writableFinished && !last.req.complete;
  }

  /** Whether the address has too many connections, so that this one is closed after its answer. */
  isOverLimit(socket: Socket): boolean {
    const peers = this.#all.get(socket)?.peers;
    return this.#countsAddresses && peers !== undefined && sizeOf(peers) > this.#limits.connectionsPerAddress;
  }

  /**
   * Counts a large answer, or a large part of one, as unsent until this event. Too many unsent bytes close the
   * connection that made no progress for longest.
   */
  trackUnsent(socket: Socket, response: ServerResponse, bytes: number, until: "close" | "drain" = "close"): void {
    const connection = this.#all.get(socket);
    if (!connection) return;
    // Before this answer it had nothing to read.
    if (connection.unsent === 0) connection.takenAt = performance.now();
    this.#addUnsent(connection, bytes);
    const events = new Set(["close", until]);
    const release = () => {
      for (const event of events) response.off(event, release);
      if (this.#all.has(socket)) this.#addUnsent(connection, -bytes);
    };
    // Once for each event: a listener that an emitted event has already collected runs even if it was taken off.
    for (const event of events) response.once(event, release);
    const { unsentBytes, unsentBytesPerAddress } = this.#limits;
    if (this.#countsAddresses && connection.peers.unsent > unsentBytesPerAddress)
      endLongestUnread(connection.peers.busy);
    else if (this.#unsent > unsentBytes) endLongestUnread(this.#all.values());
  }

  #add(socket: Socket): void {
    const network = networkOf(socket.remoteAddress ?? "");
    const peers = this.#peersOf.get(network) ?? { idle: new Set(), busy: new Set(), unsent: 0 };
    this.#peersOf.set(network, peers);
    const now = performance.now();
    const responses = new Set<ServerResponse>();
    const connection = { socket, peers, responses, unsent: 0, taken: 0, takenAt: now, idleSince: now };
    this.#noteIdle(connection, true);
    this.#all.set(socket, connection);
    // What has come in is read first: on a connection that seems idle a request may wait for this busy process.
    setImmediate(() => this.#makeRoom(connection));
    socket.once("close", () => {
      this.#all.delete(socket);
      // At once: bytes that nobody will read would close the connection of another client, whose answer is made now.
      this.#addUnsent(connection, -connection.unsent);
      this.#noteIdle(connection, false);
      peers.busy.delete(connection);
      if (sizeOf(peers) === 0) this.#peersOf.delete(network);
      // Node closes only the response that was being sent. The ones behind it would never release what they hold.
      setImmediate(() => {
        for (const response of responses) response.destroy().emit("close");
      });
    });
  }

  #addUnsent(connection: Connection, bytes: number): void {
    connection.unsent += bytes;
    connection.peers.unsent += bytes;
    this.#unsent += bytes;
  }

  #noteIdle(connection: Connection, isIdle: boolean): void {
    for (const idle of [this.#idle, connection.peers.idle]) {
      if (isIdle) idle.add(connection);
      else idle.delete(connection);
    }
  }

  /** Closes one connection for a new one if there are too many, of its network or of all. */
  #makeRoom(newOne: Connection): void {
    const { connections, connectionsPerAddress, waitingPerAddress, spareMs } = this.#limits;
    const { peers } = newOne;
    const beyond = this.#countsAddresses ? sizeOf(peers) - connectionsPerAddress : 0;
    if (beyond > 0) this.#closeOldestOf(peers.idle, beyond > waitingPerAddress ? 0 : spareMs, newOne);
    if (this.#all.size >= connections) this.#closeOldestOf(this.#idle, FRESH_MS, newOne);
  }

  /**
   * Closes the connection that has been idle for longest, and for so long, and is not being closed already. If no other
   * has been idle for longer than the new one, none is closed: its request is still to be read, and answered.
   */
  #closeOldestOf(idle: ReadonlySet<Connection>, leastMs: number, newOne?: Connection): void {
    for (const connection of idle) {
      const { socket, idleSince } = connection;
      if (socket.destroyed) continue;
      if (connection !== newOne && performance.now() - idleSince >= leastMs) socket.destroy();
      return;
    }
  }

  /** Breaks the connections whose clients have not read a byte of a waiting answer for too long. */
  #endStalled(now: number): void {
    for (const connection of this.#all.values()) {
      const { socket } = connection;
      const taken = socket.bytesWritten - socket.writableLength;
      if (socket.writableLength === 0 || taken !== connection.taken) {
        connection.taken = taken;
        connection.takenAt = now;
      } else if (now - connection.takenAt >= this.#limits.stalledAnswerMs) resetConnection(socket);
    }
  }
}

const sizeOf = ({ idle, busy }: Peers): number => idle.size + busy.size;

function endLongestUnread(connections: Iterable<Connection>): void {
  let longest: Connection | undefined;
  for (const connection of connections) {
    if (connection.unsent === 0) continue;
    const isLonger = !longest || connection.takenAt < longest.takenAt;
    if (isLonger || (connection.takenAt === longest?.takenAt && connection.unsent > longest.unsent))
      longest = connection;
  }
  if (longest) resetConnection(longest.socket);
}
