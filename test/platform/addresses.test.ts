import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, inject, it } from "vitest";
import { program as backup } from "../../src/commands/backup.js";
import { program as doctor } from "../../src/commands/doctor.js";
import { program as graph } from "../../src/commands/graph.js";
import { runHere } from "../support/commands.js";
import { databaseOn } from "../bench/on-server.js";
import { startServerProcess } from "../support/server-process.js";
import { createWorld } from "../support/world.js";

const NOWHERE = "postgres://ann:hush@127.0.0.1:1/graph";

/** The variables for addresses that a text names. */
const namedIn = (text: string): string[] => [...new Set(text.match(/\b[A-Z_]*DATABASE_[A-Z_]*URL\b/g))];

/** Addresses that cannot be used, each for a different reason. */
const wrongAddresses = (): string[] => [
  NOWHERE,
  "postgres://ann:hush@no-such-host.invalid/graph",
  "postgres://ann:100%ff@127.0.0.1/graph",
  databaseOn(inject("databaseServer").url, "no_such_database"),
];

it("names DIRECT_DATABASE_URL if that is wrong: at the start, in commands and in the doctor", async () => {
  await using world = await createWorld();

  for (const direct of wrongAddresses()) {
    const environment = { DATABASE_URL: world.databaseUrl, DIRECT_DATABASE_URL: direct };
    const { errors: ofBackup } = await runHere(backup, [join(tmpdir(), "no-backup")], environment);
    const { errors: ofGraph } = await runHere(graph, ["verify"], environment);
    const { output: ofDoctor } = await runHere(doctor, [], environment);
    expect([direct, namedIn(ofBackup), namedIn(ofGraph)]).toEqual([direct, [DIRECT], [DIRECT]]);
    expect(namedIn(lineOf("database", ofDoctor))).toEqual([DIRECT]);
  }
  const environment = { DATABASE_URL: world.databaseUrl, DIRECT_DATABASE_URL: NOWHERE };
  await expect(startServerProcess(environment)).rejects.toThrow(
    /at 127\.0\.0\.1:1 .* or correct DIRECT_DATABASE_URL\./,
  );
});

it("names DATABASE_URL or DATABASE_REPLICA_URL if one of those is wrong", async () => {
  await using world = await createWorld({ fresh: true });

  for (const wrong of wrongAddresses()) {
    const { errors: ofBackup } = await runHere(backup, [join(tmpdir(), "no-backup")], { DATABASE_URL: wrong });
    const environment = { DATABASE_URL: world.databaseUrl, DATABASE_REPLICA_URL: wrong };
    const { output: ofDoctor } = await runHere(doctor, [], environment);
    const inDoctor = namedIn(lineOf("replica", ofDoctor));
    expect([wrong, namedIn(ofBackup), inDoctor]).toEqual([wrong, ["DATABASE_URL"], ["DATABASE_REPLICA_URL"]]);
  }
  const pooled = { DATABASE_URL: NOWHERE, DIRECT_DATABASE_URL: world.databaseUrl };
  const { output } = await runHere(doctor, [], pooled);
  expect(namedIn(lineOf("pooler", output))).toEqual(["DATABASE_URL"]);
});

const DIRECT = "DIRECT_DATABASE_URL";

const lineOf = (part: string, table: string): string =>
  table.split("\n").find((line) => line.startsWith(`${part} `)) ?? "";
