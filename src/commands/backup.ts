import "reflect-metadata";
import type { WriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { type RowCounts, writeDatabase } from "../platform/database/copy-database.js";
import { JSON_OPTION, commandLine, runCommand } from "./command-line.js";
import { countInWords } from "../wording.js";
import { tellMessage, tellTable, withDatabaseAsIs } from "./with-database.js";
import { writeWholeFile } from "./write-whole-file.js";

export const program = commandLine({
  script: "backup",
  description: "Writes the whole database to a compressed file, with or without a running server.",
  examples: ["npm run backup -- backup.sql.gz", "npm run --silent backup -- backup.sql.gz --json"],
  notes:
    "The file has the data of one moment: users, teams, graphs, billing and hashes of keys. Only its owner may read it.\n" +
    "It appears when it is complete. `npm run restore` fills an empty database with it.",
})
  .argument("<file>", "the file to write; one that exists is replaced")
  .option(...JSON_OPTION)
  .action(backup);

async function backup(file: string, { json }: { json?: true }): Promise<void> {
  let tables: RowCounts = {};
  const write = (openPartial: () => WriteStream) =>
    // Without a migration: before an update, the servers still run the previous version.
    withDatabaseAsIs(async (address) => {
      const packed = createGzip();
      const written = pipeline(packed, openPartial());
      const read = writeDatabase(address, packed, { tell: tellTable, say: tellMessage }).catch((error: Error) => {
        packed.destroy(error);
        throw error;
      });
      [tables] = await Promise.all([read, written]);
    });
  await writeWholeFile(file, write, { mode: 0o600 });
  if (json) console.log(JSON.stringify({ file, tables }));
  else console.log(`Wrote ${countInWords(tables["memory"] ?? 0, "memory", "memories")} and all else to ${file}.`);
}

await runCommand(program, import.meta.url);
