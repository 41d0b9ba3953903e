import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { expect, it } from "vitest";

const FOLDER = "prisma/migrations";
/** The checksum of each migration, as the database records it. */
const COMMITTED = JSON.parse(readFileSync("test/contract/migrations.json", "utf8")) as Record<string, string>;

const migrations = readdirSync(FOLDER, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => [
    name,
    createHash("sha256")
      .update(readFileSync(`${FOLDER}/${name}/migration.sql`))
      .digest("hex"),
  ]);

it("are never changed once they are committed: databases that have them would refuse the next version", () => {
  const advice = "Add the line of a new migration to test/contract/migrations.json; change and remove none.";
  expect(Object.fromEntries(migrations), advice).toEqual(COMMITTED);
});
