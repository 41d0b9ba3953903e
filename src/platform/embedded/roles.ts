/**
 * Creates the roles of the embedded PostgreSQL. The service's role owns its database and nothing else. It is not a
 * superuser, so an SQL injection cannot reach files or programs. The administrator creates it.
 */
import pg from "pg";
import { unlessCode } from "../error-code.js";
import { close } from "../database/client.js";
import { connect } from "./connection.js";
import { SERVICE } from "./home.js";

const NAME = "memory-graph administration";
/** Any constant works: the service's own locks of one number are in its own database. */
const ORDER_LOCK = 1_835_362_157;

/**
 * Creates the service's role and database. Each step can be repeated. The last one allows the login, so a login means
 * that every step is done.
 * @param administrator the administrator's address.
 */
export async function putRolesInOrder(administrator: string, servicePassword: string): Promise<void> {
  const client = await connect(administrator, NAME);
  try {
    await client.query("SELECT pg_advisory_lock($1)", [ORDER_LOCK]);
    await client.query(
      `DO $$ BEGIN
         IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${SERVICE}') THEN CREATE ROLE ${SERVICE}; END IF;
       END $$`,
    );
    // duplicate_database: it exists already.
    await client.query(`CREATE DATABASE ${SERVICE} OWNER ${SERVICE}`).catch(unlessCode("42P04"));
    await client.query(`REVOKE ALL ON DATABASE ${SERVICE}, postgres, template1 FROM PUBLIC`);
    await closeSchema(administrator);
    await client.query(`ALTER ROLE ${SERVICE} LOGIN PASSWORD ${pg.escapeLiteral(servicePassword)}`);
  } finally {
    await close(client);
  }
}

/** PUBLIC means every role. It needs none of these rights, and the service has them as the owner. */
async function closeSchema(administrator: string): Promise<void> {
  const address = new URL(administrator);
  address.pathname = `/${SERVICE}`;
  const client = await connect(address.href, NAME);
  try {
    await client.query("REVOKE ALL ON SCHEMA public FROM PUBLIC");
  } finally {
    await close(client);
  }
}
