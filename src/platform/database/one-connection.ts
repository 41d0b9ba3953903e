import type pg from "pg";
import { Client, close } from "./client.js";
import { type AddressVariable, explainDatabase } from "../start-error.js";

/** The address of a database, and the variable that holds it. */
export interface Address {
  readonly url: string;
  readonly variable: AddressVariable;
}

/**
 * Runs `work` on a new connection, and closes it.
 * @throws StartError when the database cannot be used: it names the variable.
 */
export async function onConnection<T>(
  { url, variable }: Address,
  options: Omit<pg.ClientConfig, "connectionString">,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  let client: pg.Client | undefined;
  let isConnected = false;
  try {
    // Reads the files that the address names, and decodes its password.
    client = new Client({ ...options, connectionString: url });
    await client.connect();
    isConnected = true;
    return await work(client);
  } catch (error) {
    throw explainDatabase(error, url, variable, { isConnected });
  } finally {
    if (client) await close(client);
  }
}
