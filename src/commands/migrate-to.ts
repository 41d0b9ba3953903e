import "reflect-metadata";
import { setTimeout as sleep } from "node:timers/promises";
import { Option } from "commander";
import type pg from "pg";
import { addressProblem, namingTlsMode } from "../config.js";
import { COPY_NAME, moveDatabase, refreshSearch } from "../platform/database/copy-database.js";
import { PRESENCE_NAME } from "../platform/embedded/index.js";
import { beginMove } from "../platform/database/migration-lock.js";
import { migrate } from "../platform/database/migrations.js";
import { noteMove, takeBack } from "../platform/database/moved-database.js";
import { type Address, onConnection } from "../platform/database/one-connection.js";
import { StartError, explainDatabase } from "../platform/start-error.js";
import { JSON_OPTION, commandLine, runCommand } from "./command-line.js";
import { WrongUse } from "./for-operator.js";
import { countInWords } from "../wording.js";
import { tellMessage, tellTable, withDatabaseAsIs, withDatabaseUrl } from "./with-database.js";

export const program = commandLine({
  script: "migrate-to",
  description: "Copies the whole database to another PostgreSQL, such as from the embedded one to a server.",
  examples: [
    "npm run migrate-to -- postgres://user:password@db.example.com:5432/memory",
    "TARGET_DATABASE_URL=postgres://… npm run migrate-to",
  ],
  notes:
    "Stop the service first: what it would write after the copy would be missing. Until the end the service does not\n" +
    "start on the old database. The target must be an empty database; it gets all data or nothing. Afterwards start\n" +
    "the service with the target as DATABASE_URL: it does not start on the old one again, until --take-back says so.",
})
  .argument("[url]", "the target")
  .addOption(
    new Option("--to <url>", "the target, too; the variable hides its password from process lists").env(
      "TARGET_DATABASE_URL",
    ),
  )
  .option("--take-back", "copies nothing: lets the service start on the old database again, as it was then")
  .option(...JSON_OPTION)
  .action(migrateTo);

interface Options {
  readonly to?: string;
  readonly takeBack?: true;
  readonly json?: true;
}

async function migrateTo(given: string | undefined, { to, takeBack: isBack, json }: Options): Promise<void> {
  if (isBack && given !== undefined) throw new WrongUse("--take-back copies nothing: leave out the target.");
  if (isBack) return await useAgain(json);
  const target = given ?? to;
  if (!target || !/^postgres(ql)?:\/\//.test(target) || !URL.canParse(target)) {
    throw new WrongUse("Give the target as postgres://user:password@host:5432/database, or set TARGET_DATABASE_URL.");
  }
  const url = namingTlsMode(target);
  const problem = addressProblem(url);
  if (problem !== undefined) throw new WrongUse(`The target ${problem}`);
  const there: Address = { url, variable: given ? "the target" : "TARGET_DATABASE_URL" };
  const tables = await withDatabaseUrl((from) => {
    if (placeOf(from.url) === placeOf(target)) throw new WrongUse("The target is this database: give another one.");
    return onConnection(from, { keepAlive: true, application_name: COPY_NAME }, async (client) => {
      await takeAlone(client, from);
      await migrate(there.url, { variable: there.variable, tell: tellMessage, warn: tellMessage });
      const moved = await moveDatabase({
        from,
        to: there,
        tell: tellTable,
        // While the target is filled, an error would be explained as one of the target.
        beforeCommit: () =>
          takeAlone(client, from).catch((error: unknown) => {
            throw explainDatabase(error, from.url, from.variable);
          }),
      });
      await noteMove(client, there.url).catch((cause: unknown) => {
        throw new StartError(`${UNMARKED}${cause instanceof Error ? cause.message : String(cause)}`, { cause });
      });
      await refreshSearch(there, tellMessage);
      return moved;
    });
  });
  if (json) console.log(JSON.stringify({ tables }));
  else {
    const memories = countInWords(tables["memory"] ?? 0, "memory", "memories");
    console.log(`Copied ${memories} and all else. Start the service with the target as DATABASE_URL now.`);
  }
}

/** The target has everything by then: to repeat the command would not help. */
const UNMARKED =
  "Everything was copied. Start the service with the target as DATABASE_URL now, and never again on the old database, " +
  "which could not be marked as moved: ";

/** Host, port and database: the same for the same database, though a database may have several names. */
function placeOf(url: string): string {
  const { hostname, port, pathname, searchParams } = new URL(url);
  return [hostname || searchParams.get("host"), port || (searchParams.get("port") ?? "5432"), pathname].join(" ");
}

async function useAgain(json: true | undefined): Promise<void> {
  const wasMoved = await withDatabaseAsIs((address) => onConnection(address, {}, takeBack));
  if (json) console.log(JSON.stringify({ was_moved: wasMoved }));
  else
    console.log(wasMoved ? "The service starts on this database again." : "The data of this database were not moved.");
}

/** How long the connections of a program may outlive it. */
const LEAVING_MS = 2_000;

/**
 * Keeps servers and commands from starting on this database while the connection lasts.
 * @throws StartError while a server, or another program, is connected to it.
 */
async function takeAlone(client: pg.Client, { variable }: Address): Promise<void> {
  const end = performance.now() + LEAVING_MS;
  for (;;) {
    const before = await findOtherPrograms(client);
    // Not while the service runs: then no other command would start, and would blame a move that does not happen.
    const isMoving = before.length === 0 && (await beginMove(client));
    // One may have connected before the lock was taken.
    const others = isMoving ? await findOtherPrograms(client) : before;
    if (isMoving && others.length === 0) return;
    if (performance.now() > end) {
      const who = others.length > 0 ? others.join(", ") : "a program that has just started";
      const kept = variable === "DIRECT_DATABASE_URL" ? " Then run RECONNECT on PgBouncer's console." : "";
      throw new StartError(
        `The database is in use by ${who}. Stop the service first, so that nothing is missed.${kept}`,
      );
    }
    await sleep(50);
  }
}

/**
 * The names of other connected programs, except connections that keep the embedded PostgreSQL running or that copy. Of
 * other roles' sessions the type is hidden, also of our own if our role acts as another one. Hidden ones of superusers
 * are no servers, but of extensions or of whoever runs PostgreSQL; nobody could stop them.
 */
async function findOtherPrograms(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT DISTINCT coalesce(nullif(application_name, ''), 'a program without a name')
              || coalesce(' at ' || host(client_addr), '') AS name
     FROM pg_stat_activity JOIN pg_roles r ON r.oid = usesysid
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name <> ALL($1)
       AND (backend_type = 'client backend' OR (backend_type IS NULL AND NOT rolsuper))
     ORDER BY name`,
    [[PRESENCE_NAME, COPY_NAME]],
  );
  return rows.map(({ name }) => name);
}

await runCommand(program, import.meta.url);
