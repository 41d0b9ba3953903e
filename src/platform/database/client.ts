import pg from "pg";
import { LIMITS } from "../../limits.js";

type Connected = (error: Error) => void;

/**
 * A connection to PostgreSQL. PostgreSQL refuses a connection by an error of the severity FATAL, Pgpool-II by one of
 * the severity ERROR, with the state of an internal error. Before the connection is ready no statement can have caused
 * an error, so each counts as FATAL.
 */
export class Client extends pg.Client {
  /** Lets the process end while the connection is open. Its types lack it. */
  declare readonly unref: () => void;

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
