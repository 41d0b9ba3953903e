import "reflect-metadata";
import { once } from "node:events";
import { open } from "node:fs/promises";
import { Readable, pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { assertBackupOf, readDatabase, refreshSearch } from "../platform/database/copy-database.js";
import { newestMigration } from "../platform/database/migrations.js";
import { StartError } from "../platform/start-error.js";
import { JSON_OPTION, commandLine, runCommand } from "./command-line.js";
import { countInWords } from "../wording.js";
import { tellMessage, tellTable, withDatabaseUrl } from "./with-database.js";

export const program = commandLine({
  script: "restore",
  description: "Fills an empty database with a file of `npm run backup`, wholly or not at all.",
  examples: ["npm run restore -- backup.sql.gz", "DATABASE_URL=… npm run restore -- backup.sql.gz"],
  notes:
    "It writes to the configured database: DATABASE_URL, or the embedded one in DATA_DIR, which is created if it is not\n" +
    "there. One that is not empty is refused. The file must be of the same version of the service.",
})
  .argument("<file>", "the file to read")
  .option(...JSON_OPTION)
  .action(restore);

async function restore(file: string, { json }: { json?: true }): Promise<void> {
  // Opened first, so that nothing is created for a file that cannot be read.
  await using backup = await open(file);
  // Whoever reads what is unpacked gets the error.
  const unpacked = pipeline(backup.createReadStream(), createGunzip(), () => {});
  const tables = await assertOfThisVersion(unpacked)
    .then(() =>
      withDatabaseUrl(async (address) => {
        const counts = await readDatabase(address, unpacked, { tell: tellTable });
        await refreshSearch(address, tellMessage);
        return counts;
      }),
    )
    .catch((error: unknown) => {
      if (!isDamaged(error)) throw error;
      throw new StartError(
        `${file} is damaged or no backup of this service, so nothing was restored: give another file.`,
      );
    });
  if (json) console.log(JSON.stringify({ file, tables }));
  else console.log(`Restored ${countInWords(tables["memory"] ?? 0, "memory", "memories")} and all else from ${file}.`);
}

/**
 * Looked at before the database is migrated: an empty one stays empty, for the version that wrote the file. What was
 * read is put back, since a pipe cannot be read again.
 */
async function assertOfThisVersion(unpacked: Readable): Promise<void> {
  let beginning = Buffer.alloc(0);
  while (beginning.length < HEAD_BYTES && !beginning.includes("\n")) {
    await once(unpacked, "readable");
    const part = unpacked.read() as Buffer | null;
    if (!part) break;
    beginning = Buffer.concat([beginning, part]);
  }
  unpacked.unshift(beginning);
  await assertBackupOf(await newestMigration(), Readable.from([beginning]));
}

/** More than the first line takes. */
const HEAD_BYTES = 4_096;

/** An error of zlib, for a file that is not compressed, or not whole. */
const isDamaged = (error: unknown): boolean => /^Z_/.test(String((error as { code?: unknown }).code));

await runCommand(program, import.meta.url);
