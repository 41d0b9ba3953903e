import { expect, it } from "vitest";
import { embedDueMemories } from "../../../src/features/memories/meaning/embed-memories.js";
import { fillModel } from "../../../src/features/memories/meaning/embedding-models.js";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { DatabaseShares } from "../../../src/operation/shares.js";
import { openDatabase } from "../../../src/platform/database/database.js";
import { failStatements } from "../../support/failing-statements.js";
import { aMemory } from "../../support/memories.js";
import { findTitles as find, meaningfulWorld } from "../../support/meaning.js";
import { Actor } from "../../support/world.js";
import { PATIENT } from "../../support/patience.js";

const NEW = "The physician";

it("keeps the vectors of the newest text, wherever a server that embeds an older one pauses", async () => {
  await using at = await meaningfulWorld();
  const { database, services } = at.world;
  const here = { ...services, meaning: at.meaning };
  let meanwhile = async () => {};
  await using way = await failStatements(at.world.databaseUrl, { meanwhile: () => meanwhile() });
  await using slow = openDatabase(way.url, () => {}, PATIENT);
  const bounds = { ...PATIENT, lockWaitMs: 100 };
  await using hasty = openDatabase(at.world.databaseUrl, () => {}, bounds);
  const elsewhere = { ...here, database: hasty, shares: new DatabaseShares(hasty, bounds) };
  await fillModel(here);
  const [paused, outdated]: [string[], string[]] = [[], []];

  for (let number = 1; ; number++) {
    const ann = await at.world.user();
    const { id } = await aMemory(ann, { title: "The automobile" });
    meanwhile = async () => {
      // Both fail while the paused one holds the locks that they need.
      isChanged = await new Actor(elsewhere, ann.caller, ann.email, ann.key).did(updateMemory, { id, title: NEW }).then(
        () => true,
        () => false,
      );
      await embedDueMemories(elsewhere).catch(() => {});
    };
    let isChanged = false;
    way.fail("late", number);
    await embedDueMemories({ ...here, database: slow });
    const statement = way.stop();
    if (statement === undefined) break;
    paused.push(statement);
    await database.pool.query("UPDATE embedding_due SET due_at = now() - interval '1 second'");
    await embedDueMemories(here);
    if ((await find(ann, isChanged ? "arzt" : "vehicle")).titles.length === 0) outdated.push(statement);
  }

  expect(outdated).toEqual([]);
  expect(paused).toContain("COMMIT");
});
