import type { Socket } from "node:net";
import pg from "pg";
import { LIMITS } from "../../limits.js";

type Connected = (error: Error) => void;
type Receive = (bytes: Buffer) => void;

/**
 * A connection to PostgreSQL. PostgreSQL refuses a connection by an error of the severity FATAL, Pgpool-II by one of
 * the severity ERROR, with the state of an internal error. Before the connection is ready no statement can have caused
 * an error, so each counts as FATAL.
 */
export class Client extends pg.Client {
  /** Lets the process end while the connection is open. Its types lack it. */
  declare readonly unref: () => void;
  /** When the last piece of a long answer came. Reading one may take a busy process seconds. */
  longPieceAt = 0;

  constructor(config?: pg.ClientConfig) {
    super(config);
    // PostgreSQL may end a connection between two statements, or in the packet that says it is ready, before a pool or
    // its borrower listens. Without a listener the error would end the process; the next statement fails anyway.
    this.on("error", () => {});
    const wire = this.connection as pg.Connection & { attachListeners(stream: Socket): void };
    const attach = wire.attachListeners.bind(wire);
    wire.attachListeners = (stream) => {
      attach(stream);
      guard(stream, () => (this.longPieceAt = performance.now()));
    };
  }

  override connect(): Promise<this>;
  override connect(connected: Connected): void;
  override connect(connected?: Connected): Promise<this> | void {
    if (connected) return super.connect((error: Error) => connected(asFatal(error)));
    return super.connect().then(
      () => this,
      (error: unknown) => {
        throw asFatal(error);
      },
    );
  }
}

/** How much of an answer is read in one turn of the event loop: a few milliseconds of work. */
const TURN_BYTES = 131_072;
/** Long answers come in pieces of 64 KiB, by TLS of 8 KiB, which is the size of PostgreSQL's buffer. */
const SMALL_BYTES = 8_192;

/**
 * Replaces the one listener for what PostgreSQL sends: pg-copy-streams takes it off, and needs it to be alone.
 *
 * The parser throws at bytes that are no message of PostgreSQL, as from a broken pooler. Nobody could catch that, so it
 * would end the process; this connection alone is lost.
 */
function guard(stream: Socket, noteLong: () => void): void {
  const pauseIfLong = pauser(stream);
  for (const receive of stream.listeners("data") as Receive[]) {
    stream.off("data", receive).on("data", (bytes: Buffer) => {
      try {
        receive.call(stream, bytes);
      } catch (cause) {
        stream.destroy(new Unreadable(cause));
      }
      pauseIfLong(bytes);
      if (bytes.length >= SMALL_BYTES) noteLong();
    });
  }
}

/**
 * Continues a long answer in the next turn of the event loop. Node reads up to 2 MB of a connection in one turn, which
 * take the parser 30 ms.
 */
function pauser(stream: Socket): Receive {
  let read = 0;
  return ({ length }) => {
    if (read === 0 && length < SMALL_BYTES) return;
    if (read === 0) setImmediate(() => (read = 0));
    read += length;
    if (read < TURN_BYTES || stream.isPaused()) return;
    stream.pause();
    setImmediate(() => stream.resume());
  };
}

/** Has the format of a system error, so that Prisma's adapter recognises it. */
class Unreadable extends Error {
  readonly code = "ECONNRESET";
  readonly errno = -104;
  readonly syscall = "read";

  constructor(cause: unknown) {
    super("The database sent what is no message of PostgreSQL; the connection was cut.", { cause });
  }
}

/** Closes a connection; cuts it if it no longer answers. */
export async function close(client: pg.Client): Promise<void> {
  const cut = setTimeout(() => client.connection.stream.destroy(), LIMITS.database.closeMs);
  await client.end().catch(() => {});
  clearTimeout(cut);
}

/** Errors of Node have no severity; without an error there is nothing to change. */
function asFatal<Thrown>(error: Thrown): Thrown {
  if (error instanceof pg.DatabaseError) error.severity = "FATAL";
  return error;
}
