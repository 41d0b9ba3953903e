import { mkdtemp } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../src/platform/embedded/index.js";
import { migrate } from "../../src/platform/database/migrations.js";
import { databaseOn, onServer } from "../bench/on-server.js";
import { copyCluster, digestOf, postmasterOf } from "./cluster.js";
import { makeRunFolder, removeRunFolder } from "./run-folder.js";

declare module "vitest" {
  interface ProvidedContext {
    /** Where tests create their databases, the prefix of their names, and how: from the migrated template. */
    databaseServer: { url: string; prefix: string; from: string };
  }
}

/** Faster without durability: test data may be lost, and hundreds of databases are created. */
const IN_HASTE = { fsync: "off", synchronous_commit: "off", full_page_writes: "off" };

/** One PostgreSQL for all tests: that at DATABASE_URL, or an embedded one. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env["DATABASE_URL"] || undefined;
  const removeFolder = await makeRunFolder();
  const embedded = given ? undefined : await startOwn();
  const url = given ?? (await embedded?.administratorUrl()) ?? "";
  const template = await templateDatabase(url);
  const prefix = `mg_test_${process.pid}_`;
  // Without durability, copying files takes a quarter of the CPU of copying their pages through the log.
  const from = `TEMPLATE ${template}${embedded ? " STRATEGY FILE_COPY" : ""}`;
  project.provide("databaseServer", { url, prefix, from });
  stopWhenInterrupted(embedded && postmasterOf(embedded.dataDir));
  console.log(`Tests run on ${given ? "the PostgreSQL of DATABASE_URL" : "the embedded PostgreSQL"}.`);
  return async () => {
    await dropDatabases(url, (name) => name.startsWith(prefix));
    await embedded?.stop();
    await removeFolder();
  };
}

/** A copy of a kept cluster: a run that is interrupted may damage a cluster without durability. */
async function startOwn(): Promise<EmbeddedPostgres & { readonly dataDir: string }> {
  const dataDir = await mkdtemp(join(tmpdir(), "server-"));
  await copyCluster(dataDir);
  return { ...(await startEmbeddedPostgres({ dataDir, settings: IN_HASTE })), dataDir };
}

/** Ctrl-C ends Vitest without the teardown below. PostgreSQL has a session of its own and must not outlive Vitest. */
function stopWhenInterrupted(pid = 0): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => {
      // PostgreSQL takes this signal as an immediate shutdown.
      if (pid > 0) process.kill(pid, "SIGQUIT");
      removeRunFolder();
      process.exit(128 + constants.signals[signal]);
    });
  }
}

/** Drops databases by their names. */
async function dropDatabases(url: string, isLeft: (name: string) => boolean): Promise<void> {
  await onServer(url, async (server) => {
    const { rows } = await server.query<{ datname: string }>("SELECT datname FROM pg_database");
    for (const { datname } of rows.filter((row) => isLeft(row.datname))) {
      await server.query(`DROP DATABASE IF EXISTS "${datname}" WITH (FORCE)`);
    }
  });
}

/** A database with every migration applied, created once for each state of the migrations. */
async function templateDatabase(url: string): Promise<string> {
  const template = `mg_template_${digestOf(["prisma/migrations"])}`;
  await onServer(url, async (server) => {
    // Another run may create it at this moment.
    await server.query("SELECT pg_advisory_lock(hashtext($1))", [template]);
    const { rowCount } = await server.query("SELECT FROM pg_database WHERE datname = $1", [template]);
    if (rowCount) return;
    // Renamed when it is complete, so an interrupted run leaves no incomplete template.
    await server.query(`DROP DATABASE IF EXISTS "${template}_new" WITH (FORCE)`);
    await server.query(`CREATE DATABASE "${template}_new"`);
    await migrate(databaseOn(url, `${template}_new`));
    await server.query(`ALTER DATABASE "${template}_new" RENAME TO "${template}"`);
  });
  return template;
}
