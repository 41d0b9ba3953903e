import { LIMITS } from "../../limits.js";
import { Client, close } from "../database/client.js";
import { ADMINISTRATOR, ADMINISTRATOR_PASSWORD, type Home, SERVICE } from "./home.js";
import { readPassword } from "./cluster.js";

const { connectMs, statementMs } = LIMITS.embeddedDatabase;

/** The address for the service. */
export async function serviceAddress({ folder }: Home, port: number): Promise<string> {
  return addressOf(port, SERVICE, (await readPassword(folder)) ?? "", SERVICE);
}

/** The address for the administrator. */
export async function administratorAddress({ folder }: Home, port: number): Promise<string> {
  return addressOf(port, ADMINISTRATOR, (await readPassword(folder, ADMINISTRATOR_PASSWORD)) ?? "", "postgres");
}

/** PostgreSQL listens on loopback only, without TLS. `sslmode` overrides a PGSSLMODE meant for another server. */
const addressOf = (port: number, role: string, password: string, database: string): string =>
  `postgresql://${role}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}?sslmode=disable`;

/** Connects; every wait on this connection has a timeout. */
export async function connect(address: string, name: string): Promise<Client> {
  const client = new Client({
    connectionString: address,
    application_name: name,
    connectionTimeoutMillis: connectMs,
    statement_timeout: statementMs,
    // For a PostgreSQL that hangs and does not even enforce its statement_timeout.
    query_timeout: statementMs + connectMs,
  });
  try {
    return await client.connect();
  } catch (error) {
    await close(client);
    throw error;
  }
}
