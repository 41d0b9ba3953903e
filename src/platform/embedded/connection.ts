import pg from "pg";
import { LIMITS } from "../../limits.js";
import { ADMINISTRATOR, type Home, SERVICE } from "./home.js";
import { administratorPassword, readPassword } from "./cluster.js";

const { connectMs, statementMs } = LIMITS.embeddedDatabase;

/** Where the service connects. */
export async function serviceAddress({ folder }: Home, port: number): Promise<string> {
  return addressOf(port, SERVICE, (await readPassword(folder)) ?? "", SERVICE);
}

/** Where its administrator connects. */
export async function administratorAddress({ folder }: Home, port: number): Promise<string> {
  return addressOf(port, ADMINISTRATOR, await administratorPassword(folder), "postgres");
}

/** PostgreSQL listens on loopback only. A PGSSLMODE in the environment is about another server: this one has no TLS. */
const addressOf = (port: number, role: string, password: string, database: string): string =>
  `postgresql://${role}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}?sslmode=disable`;

/** Connects; every wait on this connection has an end. */
export async function connect(address: string, name: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: address,
    application_name: name,
    connectionTimeoutMillis: connectMs,
    statement_timeout: statementMs,
    // For a PostgreSQL that is so stuck that it does not end a statement either.
    query_timeout: statementMs + connectMs,
  });
  // An idle connection reports its end by this event, and without a listener that would end the process. Whoever
  // needs the connection next gets an error anyway.
  client.on("error", () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    await close(client);
    throw error;
  }
}

/** Ends a connection; one that does not answer any more is cut. */
export async function close(client: pg.Client): Promise<void> {
  const cut = setTimeout(() => client.connection.stream.destroy(), LIMITS.embeddedDatabase.closeMs);
  await client.end().catch(() => {});
  clearTimeout(cut);
}
