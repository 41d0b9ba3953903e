import { expect, it } from "vitest";
import { LIMITS } from "../../../src/limits.js";
import { embedDueMemories } from "../../../src/features/memories/meaning/embed-memories.js";
import { fillModel } from "../../../src/features/memories/meaning/embedding-models.js";
import { piecesOf } from "../../../src/features/memories/meaning/memory-pieces.js";
import { PATIENT, findTitles, meaningfulWorld } from "../../support/meaning.js";
import { aMemory, memoriesTitled } from "../../support/memories.js";
import type { World } from "../../support/world.js";

const LINES = Array.from({ length: 1_600 }, (_, n) => `Bread ${n} is sold until noon.`);
/** A memory of many pieces, with an automobile in the last one. */
const LONG = { title: "Long", content: `${LINES.join(" ")} An automobile.` };
const PIECES = piecesOf(LONG).length;

const waiting = ({ database }: World) => database.models.embeddingDue.findMany();

it("goes on where a limit of the server stopped it, when Retry-After has passed", async () => {
  await using at = await meaningfulWorld();
  const context = { ...at.world.services, meaning: at.meaning };
  const [ann, bob] = [await at.world.user(), await at.world.user()];
  await fillModel(context);
  await at.meaning.pieceSizeBy("one");
  await memoriesTitled(bob, "The wagen", "The car");
  await aMemory(ann, LONG);
  const before = await waiting(at.world);
  at.server.limit = { texts: 32, retryAfter: "1" };
  const first = at.server.asked.length;

  await embedDueMemories(context);
  const sent = at.server.asked.length;
  await embedDueMemories(context);
  expect(at.server.asked.length).toBe(sent);
  // It has used up no attempt.
  expect(await waiting(at.world)).toEqual(before);
  at.server.limit.texts = PIECES + 2 - 32;
  await expect.poll(() => embedDueMemories(context).then(() => waiting(at.world))).toEqual([]);

  // None was embedded twice, and nothing was asked only to see whether the server works.
  const texts = at.server.asked.slice(first).flatMap((asked) => asked.texts);
  expect(new Set(texts).size).toBe(PIECES + 2);
  expect(at.server.asked.length - sent).toBe(1);
  expect(at.meaning.unstored.size).toBe(0);
  at.server.limit = undefined;
  expect((await findTitles(ann, "vehicle")).titles).toEqual(["Long"]);
  expect((await findTitles(bob, "vehicle")).titles.toSorted()).toEqual(["The car", "The wagen"]);
});

it("sends fewer texts at once to a server that limits them to fewer than a request has", async () => {
  await using at = await meaningfulWorld();
  const context = { ...at.world.services, meaning: at.meaning };
  const ann = await at.world.user();
  await fillModel(context);
  await aMemory(ann, LONG);
  at.server.limit = { texts: 10, retryAfter: "1" };

  const embed = async () => {
    if (await embedDueMemories(context)) return;
    at.server.limit = { texts: 10, retryAfter: "1" };
    at.meaning.askableAt = 0;
  };
  await expect.poll(() => embed().then(() => waiting(at.world))).toEqual([]);
  expect((await findTitles(ann, "vehicle")).titles).toEqual(["Long"]);
});

it("sends fewer texts at once to a server that is slow, and more again when it is quick", async () => {
  await using at = await meaningfulWorld({ ...PATIENT, requestMs: 800 });
  const context = { ...at.world.services, meaning: at.meaning };
  const ann = await at.world.user();
  await fillModel(context);
  at.server.textMs = 60;
  await aMemory(ann, LONG);

  await expect.poll(() => embedDueMemories(context).then(() => waiting(at.world))).toEqual([]);
  expect((await findTitles(ann, "vehicle")).titles).toEqual(["Long"]);
  const sizes = at.server.asked.map(({ texts }) => texts.length);
  expect(sizes.slice(0, 4)).toEqual([2, PIECES, 16, 8]);
  // 8 were not quick.
  expect(Math.max(...sizes.slice(3))).toBe(8);

  at.server.textMs = 0;
  await aMemory(ann, { ...LONG, title: "Longer" });
  const before = at.server.asked.length;
  await embedDueMemories(context);
  expect(Math.max(...at.server.asked.slice(before).map(({ texts }) => texts.length))).toBeGreaterThan(8);
});

it("ends a run that takes long, and goes on in the next one", async () => {
  await using at = await meaningfulWorld({ ...PATIENT, runMs: 0 });
  const context = { ...at.world.services, meaning: at.meaning };
  const ann = await at.world.user();
  await fillModel(context);
  await aMemory(ann, LONG);
  // More than runs leave, of memories that others embedded or deleted meanwhile.
  const { batch, pieces } = LIMITS.embeddings;
  const vector = { values: new Int8Array(1), scale: 1 };
  for (let left = 0; left <= batch * pieces; left++) at.meaning.unstored.set(`${left}`, vector);

  expect(await embedDueMemories(context)).toBe(true);
  expect(await waiting(at.world)).toMatchObject([{ attempts: 0 }]);
  expect(at.meaning.unstored.size).toBeLessThanOrEqual(PIECES);
});

it("gives up a text that takes too long even alone, and embeds the others", async () => {
  await using at = await meaningfulWorld({ ...PATIENT, requestMs: 300 });
  const context = { ...at.world.services, meaning: at.meaning };
  const ann = await at.world.user();
  await fillModel(context);
  await at.meaning.pieceSizeBy("one");
  await memoriesTitled(ann, "An endless one", "The automobile");
  at.server.endless = "endless";

  const left = async () => {
    await at.world.database.pool.query("UPDATE embedding_due SET due_at = now() - interval '1 second'");
    await embedDueMemories(context);
    return await waiting(at.world);
  };
  await expect.poll(left).toMatchObject([{ attempts: 2 }]);
  expect((await findTitles(ann, "vehicle")).titles).toEqual(["The automobile"]);
});

it("keeps a memory from other servers as long as a run may take, but tries a refused one again after a minute", async () => {
  await using at = await meaningfulWorld();
  const context = { ...at.world.services, meaning: at.meaning };
  const ann = await at.world.user();
  await fillModel(context);
  await at.meaning.pieceSizeBy("one");
  await memoriesTitled(ann, "A poisoned one");
  at.server.refused = "poisoned";
  at.server.delayMs = 200;
  const dueIn = async () => Math.round(((await waiting(at.world))[0]?.dueAt.getTime() ?? 0) - Date.now());

  const run = embedDueMemories(context);
  await expect.poll(() => at.server.asked.length).toBe(2);
  // Its last request begins in time, and then it asks whether the server works.
  const { requestMs, runMs } = LIMITS.embeddings;
  expect(await dueIn()).toBeGreaterThan(runMs + 2 * requestMs);
  await run;

  expect(await dueIn()).toBeLessThanOrEqual(60_000);
});

it("stores the whole of a memory even if a run that was abandoned ends while it is embedded", async () => {
  await using at = await meaningfulWorld();
  const context = { ...at.world.services, meaning: at.meaning };
  const ann = await at.world.user();
  await fillModel(context);
  await at.meaning.pieceSizeBy("one");
  await aMemory(ann, LONG);
  at.meaning.textsNow = 1;
  at.server.delayMs = 50;
  const before = at.server.asked.length;

  const run = embedDueMemories(context);
  await expect.poll(() => at.server.asked.length - before, { interval: 5 }).toBe(3);
  expect(await embedDueMemories(context)).toBe(false);
  await run;

  expect(await at.world.database.models.memoryVector.count()).toBe(PIECES);
});
