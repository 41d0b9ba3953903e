/**
 * Creates the roles of the embedded PostgreSQL. The service's role owns its database and nothing else. It is not a
 * superuser, so an SQL injection cannot reach files or programs. The administrator creates it.
 */
import pg from "pg";
import { close } from "../database/client.js";
import { connect } from "./connection.js";
import { ADMINISTRATOR, SERVICE, codeOf, unlessCode } from "./home.js";

const NAME = "memory-graph administration";
/** Any constant works: the service's own locks of one number are in its own database. */
const ORDER_LOCK = 1_835_362_157;

interface Order {
  /** The administrator's address. */
  readonly administrator: string;
  readonly administratorPassword: string;
  readonly servicePassword: string;
}

/**
 * Creates the service's role and database, or converts those of an earlier version, where the service was the
 * superuser. Each step can be repeated. The last one allows the login, so a login means that every step is done.
 */
export async function putRolesInOrder(order: Order): Promise<void> {
  const client = await connectAsSuperuser(order);
  try {
    await client.query("SELECT pg_advisory_lock($1)", [ORDER_LOCK]);
    await renameSuperuser(client, order.administratorPassword);
    await client.query(
      `DO $$ BEGIN
         IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${SERVICE}') THEN CREATE ROLE ${SERVICE}; END IF;
       END $$`,
    );
    // duplicate_database: it exists already.
    await client.query(`CREATE DATABASE ${SERVICE} OWNER ${SERVICE}`).catch(unlessCode("42P04"));
    await client.query(CLOSE_TO_OTHERS);
    await handOver(order);
    await client.query(
      `ALTER ROLE ${SERVICE} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS
       PASSWORD ${pg.escapeLiteral(order.servicePassword)}`,
    );
  } finally {
    await close(client);
  }
}

/** PUBLIC means every role. It needs none of these rights, and the service has them as the owner. */
const CLOSE_TO_OTHERS = `
  REVOKE ALL ON DATABASE ${SERVICE}, postgres, template1 FROM PUBLIC;
  ALTER DATABASE ${SERVICE} OWNER TO ${SERVICE};`;

async function connectAsSuperuser({ administrator, servicePassword }: Order): Promise<pg.Client> {
  try {
    return await connect(administrator, NAME);
  } catch (error) {
    if (codeOf(error) !== "28P01") throw error;
    const address = new URL(administrator);
    address.username = SERVICE;
    address.password = servicePassword;
    return connect(address.href, NAME);
  }
}

/**
 * The first superuser of a cluster must stay one and cannot give away everything that it owns. So it becomes the
 * administrator, and the service gets a new role with the old name. A role cannot rename itself, so a temporary role
 * does it.
 */
async function renameSuperuser(client: pg.Client, password: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>("SELECT current_user AS name");
  if (rows[0]?.name !== SERVICE) return;
  await client.query(
    `BEGIN;
     CREATE ROLE ${SERVICE}_upgrade SUPERUSER;
     SET LOCAL SESSION AUTHORIZATION ${SERVICE}_upgrade;
     ALTER ROLE ${SERVICE} RENAME TO ${ADMINISTRATOR};
     ALTER ROLE ${ADMINISTRATOR} PASSWORD ${pg.escapeLiteral(password)};
     RESET SESSION AUTHORIZATION;
     DROP ROLE ${SERVICE}_upgrade;
     COMMIT`,
  );
}

/** Makes the service the owner of everything that the administrator owns in the service's database. */
async function handOver({ administrator }: Order): Promise<void> {
  const address = new URL(administrator);
  address.pathname = `/${SERVICE}`;
  const client = await connect(address.href, NAME);
  try {
    await client.query(HAND_OVER);
  } finally {
    await close(client);
  }
}

/**
 * Covers objects that were created after the cluster (from oid 16384) and belong to no extension. A part of another
 * object, such as an index, a sequence of a column or the row type of a table, follows that object. PostgreSQL changes
 * the owner of an extension only by REASSIGN OWNED, which it refuses for the first superuser; this does the same.
 */
const HAND_OVER = `
  BEGIN;
  REVOKE ALL ON SCHEMA public FROM PUBLIC;
  DO $$
  DECLARE
    thing record;
  BEGIN
    FOR thing IN
      SELECT identity.type, identity.identity
      FROM (
        SELECT tableoid, oid, relowner AS owner FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
        UNION ALL SELECT tableoid, oid, typowner FROM pg_type
          WHERE typrelid = 0 OR (SELECT relkind FROM pg_class WHERE pg_class.oid = typrelid) = 'c'
        UNION ALL SELECT tableoid, oid, proowner FROM pg_proc
        UNION ALL SELECT tableoid, oid, nspowner FROM pg_namespace
        UNION ALL SELECT tableoid, oid, oprowner FROM pg_operator
        UNION ALL SELECT tableoid, oid, collowner FROM pg_collation
        UNION ALL SELECT tableoid, oid, stxowner FROM pg_statistic_ext
        UNION ALL SELECT tableoid, oid, cfgowner FROM pg_ts_config
        UNION ALL SELECT tableoid, oid, dictowner FROM pg_ts_dict
      ) AS found,
      LATERAL pg_identify_object(found.tableoid, found.oid, 0) AS identity
      WHERE found.oid >= 16384 AND found.owner = '${ADMINISTRATOR}'::regrole
        AND identity.schema IS DISTINCT FROM 'pg_toast' AND identity.identity !~ '^pg_(toast_)?temp'
        AND NOT EXISTS (
          SELECT FROM pg_depend
          WHERE classid = found.tableoid AND objid = found.oid AND objsubid = 0
            AND (deptype = 'e' OR deptype = 'i' OR (deptype = 'a' AND identity.type = 'sequence'))
        )
    LOOP
      EXECUTE format('ALTER %s %s OWNER TO ${SERVICE}', replace(thing.type, ' object', ''), thing.identity);
    END LOOP;
  END $$;
  INSERT INTO pg_shdepend (dbid, classid, objid, objsubid, refclassid, refobjid, deptype)
    SELECT pg_database.oid, 'pg_extension'::regclass, pg_extension.oid, 0, 'pg_authid'::regclass, '${SERVICE}'::regrole, 'o'
    FROM pg_extension, pg_database
    WHERE extowner = '${ADMINISTRATOR}'::regrole AND pg_extension.oid >= 16384 AND datname = current_database();
  UPDATE pg_extension SET extowner = '${SERVICE}'::regrole
    WHERE extowner = '${ADMINISTRATOR}'::regrole AND oid >= 16384;
  COMMIT;`;
