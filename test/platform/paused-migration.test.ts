import { spawn } from "node:child_process";
import { once } from "node:events";
import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import pg from "pg";
import { expect, inject, it, onTestFinished } from "vitest";
import { migrate } from "../../src/platform/database/migrations.js";
import { databaseOn, onServer } from "../bench/on-server.js";

const MODULE = JSON.stringify(pathToFileURL(resolve("dist/modules/platform/database/migrations.js")).href);
/**
 * Stops itself while PostgreSQL applies a migration. So it reads at once that this was done, and that the connection was
 * lost.
 */
const SCRIPT = `
  import pg from "pg";
  import { migrate } from ${MODULE};
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (text, values, done) {
    if (!/UPDATE _prisma_migrations SET finished_at/.test(text)) return query.call(this, text, values, done);
    pg.Client.prototype.query = query;
    setImmediate(() => process.kill(process.pid, "SIGSTOP"));
    return query.call(this, text, values, done);
  };
  await migrate(process.argv[1]).catch(({ message }) => {
    console.log(message);
    process.exitCode = 1;
  });`;

// On Windows no process can be paused.
it.skipIf(process.platform === "win32")(
  "applies nothing after a pause in which the connection was lost and another server has migrated",
  async () => {
    const url = await emptyDatabase();
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const child = spawn(process.execPath, ["--input-type=module", "--eval", SCRIPT, url], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    let printed = "";
    child.stdout.on("data", (bytes) => (printed += String(bytes)));
    const applied = "SELECT FROM _prisma_migrations WHERE finished_at IS NOT NULL";
    await expect
      .poll(
        () =>
          client.query(applied).then(
            (found) => found.rowCount,
            () => 0,
          ),
        PATIENCE,
      )
      .toBe(1);
    await client.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    await migrate(url);
    const { rows } = await client.query("SELECT * FROM _prisma_migrations ORDER BY id");

    child.kill("SIGCONT");
    const [code] = await once(child, "exit");

    expect([code, printed]).toEqual([1, expect.stringContaining("terminating connection")]);
    expect((await client.query("SELECT * FROM _prisma_migrations ORDER BY id")).rows).toEqual(rows);
    await client.end();
  },
);

const PATIENCE = { timeout: 60_000, interval: 5 };

async function emptyDatabase(): Promise<string> {
  const { url, prefix } = inject("databaseServer");
  const name = prefix + randomUUID().replaceAll("-", "");
  await onServer(url, async (server) => void (await server.query(`CREATE DATABASE ${name}`)));
  onTestFinished(() =>
    onServer(url, async (server) => void (await server.query(`DROP DATABASE ${name} WITH (FORCE)`))),
  );
  return databaseOn(url, name);
}
