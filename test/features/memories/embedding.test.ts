import { expect, it, vi } from "vitest";
import { deleteAccount } from "../../../src/features/accounts/delete-account.js";
import { embedDueMemories } from "../../../src/features/memories/meaning/embed-memories.js";
import { fillModel, forgetUnusedVectors } from "../../../src/features/memories/meaning/embedding-models.js";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { createTeam } from "../../../src/features/teams/create-team.js";
import { deleteTeam } from "../../../src/features/teams/delete-team.js";
import { readBacklog } from "../../../src/backlog.js";
import { DAY_MS, HOUR_MS } from "../../../src/durations.js";
import { LIMITS } from "../../../src/limits.js";
import { sha256 } from "../../../src/operation/sha256.js";
import { TextsRefused } from "../../../src/platform/meaning/embeddings.js";
import { Meaning } from "../../../src/platform/meaning/meaning.js";
import { startEmbeddingsServer } from "../../support/embeddings-server.js";
import { ask } from "../../support/http.js";
import { waitingForLocks } from "../../support/locks.js";
import { aMemory, memoriesTitled } from "../../support/memories.js";
import { PATIENT, findNearest, findTitles as find, meaningfulWorld } from "../../support/meaning.js";
import { type World, createWorld } from "../../support/world.js";

it("embeds nothing of a memory that is deleted at the same moment", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  const [gone] = await memoriesTitled(ann, "The automobile", "The wagen");
  const other = await at.world.database.pool.connect();
  await other.query("BEGIN");
  await other.query("DELETE FROM memory WHERE id = $1", [gone.id]);

  const embedding = at.embed();
  await expect.poll(() => waitingForLocks(at.world)).toBe(1);
  await other.query("COMMIT");
  other.release();
  await embedding;

  expect((await find(ann, "vehicle")).titles).toEqual(["The wagen"]);
  expect(await waiting(at.world)).toBe(0);
  expect(await at.world.database.models.memoryVector.count()).toBe(1);
});

it("sends nothing of deleted accounts and teams, whose graphs are not emptied yet", async () => {
  await using at = await meaningfulWorld();
  const [ann, bob] = [await at.world.user(), await at.world.user()];
  await fillModel({ ...at.world.services, meaning: at.meaning });
  const { id: teamId } = await bob.did(createTeam, { name: "One", maxMembers: 2 });
  await aMemory(ann, { title: "The automobile" });
  await aMemory(bob, { title: "The vehicle", graph: "team" });
  await aMemory(bob, { title: "The wagen", graph: "personal" });
  await ann.did(deleteAccount, { email: ann.email });
  await bob.did(deleteTeam, { teamId });

  await at.embed();

  const sent = at.server.asked.flatMap(({ texts }) => texts).join("\n");
  expect(sent).toContain("The wagen");
  expect(sent).not.toMatch(/The automobile|The vehicle/);
  expect(await waiting(at.world)).toBe(0);
});

it("embeds long memories in overlapping pieces, and finds them by each piece", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  await aMemory(ann, { title: "Long", content: `${"Filler. ".repeat(600)} An automobile.` });
  await at.embed();

  expect((await find(ann, "vehicle")).titles).toEqual(["Long"]);
  const asked = at.server.asked.find(({ texts }) => texts[0]?.startsWith("Long"));
  expect(asked).toMatchObject({ model: "one", key: "Bearer secret-key", texts: { length: 3 } });
});

it("switches to another model when that is complete, and forgets the previous one", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  await memoriesTitled(ann, "The automobile", "The wagen");
  await at.embed();
  const next = new Meaning(at.server.client("two"), undefined, PATIENT);
  const queries = async (by: Meaning) => {
    const before = at.server.asked.length;
    const context = { ...at.world.services, meaning: by };
    const found = await findNearest(context, ann, `vehicle ${before}`);
    const models = new Set(at.server.asked.slice(before).map(({ model }) => model));
    return { found: found?.length, models: [...models] };
  };
  const context = { ...at.world.services, meaning: next };

  const { models: tables, pool } = at.world.database;
  const unused = "UPDATE embedding_model SET used_at = now() - interval '2 hours' WHERE model = 'one'";

  await fillModel(context);
  await pool.query(unused);
  // The next model has embedded nothing yet.
  expect(await forgetUnusedVectors(context)).toBe(false);
  expect(await tables.memoryVector.count()).toBe(2);
  await tables.embeddingModel.updateMany({ where: { model: "one" }, data: { usedAt: new Date(Date.now() - 60_000) } });
  expect(await queries(next)).toEqual({ found: 2, models: ["one"] });
  await at.embed(next);
  expect(await queries(next)).toEqual({ found: 2, models: ["two"] });
  await using third = new Meaning(at.server.client("three"), undefined, PATIENT);
  await fillModel({ ...context, meaning: third });
  expect(await queries(third)).toEqual({ found: 2, models: ["two"] });

  const models = async () =>
    (await tables.memoryVector.groupBy({ by: ["model"], orderBy: { model: "asc" } })).map(({ model }) => model);
  await forgetUnusedVectors(context);
  expect(await models()).toEqual(["one", "two"]);
  await pool.query(unused);
  // Another server may just not have noted yet that it uses the model, if PostgreSQL's clock was set forward.
  {
    using _clock = vi.spyOn(Date, "now").mockReturnValue(Date.now() - DAY_MS);
    await expect(forgetUnusedVectors(context)).rejects.toThrow("contradict each other");
  }
  await forgetUnusedVectors(context);
  expect(await models()).toEqual(["two"]);
  await next[Symbol.asyncDispose]();
});

/** How many memories have vectors of each model. */
const embeddedBy = async ({ database }: World) => {
  const by = await database.models.memoryVector.groupBy({ by: ["model"], orderBy: { model: "asc" }, _count: true });
  return Object.fromEntries(by.map(({ model, _count }) => [model, _count]));
};

/** As a server with this model records it. */
const lastUsed = ({ database }: World, model: string, msAgo: number) =>
  database.models.embeddingModel.update({ where: { model }, data: { usedAt: new Date(Date.now() - msAgo) } });

it("embeds what is stored during a change of the model for each model in use, before and after that is complete", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  await memoriesTitled(ann, "The automobile", "The wagen");
  await at.embed();
  await using next = new Meaning(at.server.client("two"), undefined, PATIENT);
  const older = { ...at.world.services, meaning: at.meaning };
  const newer = { ...older, meaning: next };
  while (await fillModel(newer));
  const before = at.server.asked.length;

  // It has these.
  await embedDueMemories(older);
  expect(at.server.asked).toHaveLength(before);
  for (const first of [older, newer]) {
    const second = first === older ? newer : older;
    await aMemory(ann, { title: "Stored meanwhile" });
    for (const server of [first, second, first]) while (await embedDueMemories(server));
    await fillModel(newer);
    expect(await waiting(at.world)).toBe(0);
  }

  expect(await embeddedBy(at.world)).toEqual({ one: 4, two: 4 });
  expect(await at.world.database.models.embeddingModel.count({ where: { complete: true } })).toBe(2);
});

it("embeds what is changed anew for each model in use, and lets nothing that was deleted wait for one", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  const [changed, deleted] = await memoriesTitled(ann, "The automobile", "The wagen");
  await at.embed();
  await using next = new Meaning(at.server.client("two"), undefined, PATIENT);
  await at.embed(next);
  const { memory, memoryVector } = at.world.database.models;
  for (const { id } of [changed, deleted]) await ann.did(updateMemory, { id, title: "The physician" });
  await memory.deleteMany({ where: { id: deleted.id } });

  for (const meaning of [next, at.meaning]) await embedDueMemories({ ...at.world.services, meaning });

  const select = { memoryId: true, model: true, version: true };
  expect(await memoryVector.findMany({ orderBy: { model: "asc" }, select })).toEqual([
    { memoryId: changed.id, model: "one", version: 2 },
    { memoryId: changed.id, model: "two", version: 2 },
  ]);
  expect(await waiting(at.world)).toBe(0);
});

it("embeds for each of two newer models whatever the other has embedded", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  await memoriesTitled(ann, "The automobile", "The wagen");
  await at.embed();
  await using second = new Meaning(at.server.client("two"), undefined, PATIENT);
  await using third = new Meaning(at.server.client("three"), undefined, PATIENT);
  const by = (meaning: Meaning) => ({ ...at.world.services, meaning });
  while (await fillModel(by(second)));
  while (await fillModel(by(third)));

  await embedDueMemories(by(second));
  await at.embed(third);

  expect(await embeddedBy(at.world)).toEqual({ one: 2, three: 2, two: 2 });
});

it("waits for no model that is not in use any more", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  await at.embed();
  await using next = new Meaning(at.server.client("two"), undefined, PATIENT);
  await at.embed(next);
  const newer = { ...at.world.services, meaning: next };
  await aMemory(ann);

  await embedDueMemories(newer);
  expect(await waiting(at.world)).toBe(1);
  await lastUsed(at.world, "one", HOUR_MS);
  const before = at.server.asked.length;
  await embedDueMemories(newer);

  expect(await waiting(at.world)).toBe(0);
  expect(at.server.asked).toHaveLength(before);
});

it("embeds more batches while those before only wait for another model", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  await at.embed();
  await using next = new Meaning(at.server.client("two"), undefined, PATIENT);
  await at.embed(next);
  await memoriesTitled(ann, ...Array.from({ length: 40 }, (_, number) => `Memory ${number}`));
  const newer = { ...at.world.services, meaning: next };

  while (await embedDueMemories(newer));

  expect(await embeddedBy(at.world)).toEqual({ two: 40 });
});

it("passes over however many memories wait for another model, and comes back to the first", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  await at.embed();
  await using next = new Meaning(at.server.client("two"), undefined, PATIENT);
  await at.embed(next);
  const newer = { ...at.world.services, meaning: next };
  // More than a run passes over.
  const [first] = await memoriesTitled(ann, "First", ...Array.from({ length: 99 }, (_, number) => `Memory ${number}`));
  for (let pass = 0; pass < 2; pass++) while (await embedDueMemories(newer));
  expect(await embeddedBy(at.world)).toEqual({ two: 100 });

  await embedDueMemories(newer);
  const { id } = await ann.did(updateMemory, { id: first.id, title: "Changed" });
  const { embeddingDue, memoryVector } = at.world.database.models;
  await embeddingDue.updateMany({ where: { memoryId: id }, data: { dueAt: new Date(0) } });
  for (let run = 0; run < 2; run++) await embedDueMemories(newer);

  expect(await memoryVector.count({ where: { memoryId: id, version: 2 } })).toBe(1);
});

it("embeds what was stored meanwhile when servers go back to a model, and nothing again", async () => {
  await using at = await meaningfulWorld();
  const context = { ...at.world.services, meaning: at.meaning };
  const ann = await at.world.user();
  await memoriesTitled(ann, ...Array.from({ length: 100 }, (_, number) => `Memory ${number}`));
  await at.embed();
  await lastUsed(at.world, "one", HOUR_MS / 2);
  await using next = new Meaning(at.server.client("two"), undefined, PATIENT);
  await at.embed(next);
  await aMemory(ann, { title: "Stored meanwhile" });
  await at.embed(next);
  expect(await embeddedBy(at.world)).toEqual({ one: 100, two: 101 });
  const before = at.server.asked.length;

  while (await fillModel(context));
  // One after another, without the pauses of a server that has nothing to do.
  while (await embedDueMemories(context));
  await fillModel(context);

  expect(await embeddedBy(at.world)).toEqual({ one: 101, two: 101 });
  const texts = at.server.asked.slice(before).flatMap((asked) => asked.texts);
  expect(texts.filter((text) => !text.includes("Stored meanwhile"))).toEqual([]);
  expect(await at.world.database.models.embeddingModel.count({ where: { complete: true } })).toBe(2);
});

it("notices that servers had another model even if they noted it just after this one was used", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  await at.embed();
  await lastUsed(at.world, "one", 125_000);
  await using next = new Meaning(at.server.client("two"), undefined, PATIENT);
  await at.embed(next);
  await aMemory(ann);
  await at.embed(next);
  // Both are noted once a minute, so that this one may be noted only soon again.
  await lastUsed(at.world, "two", 70_000);

  while (await fillModel({ ...at.world.services, meaning: at.meaning }));
  await at.embed();

  expect(await embeddedBy(at.world)).toEqual({ one: 1, two: 1 });
});

it("takes what a model refuses for good out of the queue only when no other model needs it", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  await at.embed();
  await using next = new Meaning(at.server.client("two"), undefined, PATIENT);
  await at.embed(next);
  await aMemory(ann, { title: "Refused" });
  const older = { ...at.world.services, meaning: at.meaning };
  using _refuses = vi
    .spyOn(at.meaning.server, "embed")
    .mockImplementation(async ([text]) =>
      text?.includes("Refused")
        ? Promise.reject(new TextsRefused("Too long."))
        : [{ scale: 1, values: new Int8Array(1) }],
    );
  const tryForTheLastTime = async () => {
    const last = { attempts: LIMITS.embeddings.attempts - 1, dueAt: new Date(0) };
    await at.world.database.models.embeddingDue.updateMany({ data: last });
    await embedDueMemories(older);
  };

  await tryForTheLastTime();
  expect(await waiting(at.world)).toBe(1);
  await lastUsed(at.world, "two", HOUR_MS);
  await tryForTheLastTime();
  expect(await waiting(at.world)).toBe(0);
});

it("leaves to servers with another model also what it embeds at the moment when they begin", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  await at.embed();
  await aMemory(ann, { title: "The automobile" });
  await using next = new Meaning(at.server.client("two"), undefined, PATIENT);
  const older = { ...at.world.services, meaning: at.meaning };
  const embed = at.meaning.server.embed.bind(at.meaning.server);
  using _begins = vi.spyOn(at.meaning.server, "embed").mockImplementationOnce(async (...asked) => {
    while (await fillModel({ ...older, meaning: next }));
    return embed(...asked);
  });

  await embedDueMemories(older);
  await at.embed(next);

  const { embeddingModel, memoryVector } = at.world.database.models;
  expect(await embeddingModel.count({ where: { complete: true } })).toBe(2);
  const vectors = await memoryVector.findMany({ orderBy: { model: "asc" }, select: { model: true } });
  expect(vectors).toEqual([{ model: "one" }, { model: "two" }]);
});

it("retries failed texts, and is not stopped by one bad text", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  const context = { ...at.world.services, meaning: at.meaning };
  await fillModel(context);
  await memoriesTitled(ann, "The automobile", "A poisoned one", "The wagen");
  at.server.refused = "poisoned";

  await embedDueMemories(context);
  expect((await find(ann, "vehicle")).titles.toSorted()).toEqual(["The automobile", "The wagen"]);
  for (let attempt = 0; attempt < 3; attempt++) {
    await at.world.database.pool.query("UPDATE embedding_due SET due_at = now() - interval '1 second'");
    await embedDueMemories(context);
  }

  expect(await waiting(at.world)).toBe(1);
  while (await fillModel(context));
  await embedDueMemories(context);
  await fillModel(context);
  expect(await at.world.database.models.embeddingModel.findMany()).toMatchObject([{ complete: true }]);
  await at.world.database.pool.query("UPDATE embedding_due SET due_at = now() - interval '1 second', attempts = 18");
  await embedDueMemories(context);
  const { dueAt } = await at.world.database.models.embeddingDue.findFirstOrThrow();
  expect(dueAt.getTime()).toBeLessThan(Date.now() + 2 * LIMITS.embeddings.longestWaitMs);
  expect(dueAt.getTime()).toBeGreaterThan(Date.now() + LIMITS.embeddings.longestWaitMs / 2);
  await at.world.database.pool.query("UPDATE embedding_due SET due_at = now() - interval '1 second'");
  await embedDueMemories(context);
  expect(await waiting(at.world)).toBe(0);
});

it("stores nothing of a text that was changed while it was embedded, and embeds it again", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  const context = { ...at.world.services, meaning: at.meaning };
  await fillModel(context);
  const { id } = await aMemory(ann, { title: "The automobile" });
  const { server } = at.meaning;
  const embed = server.embed.bind(server);
  vi.spyOn(server, "embed").mockImplementationOnce(async (...asked) => {
    await ann.did(updateMemory, { id, title: "The physician" });
    return embed(...asked);
  });

  await embedDueMemories(context);

  expect(await at.world.database.models.memoryVector.count()).toBe(0);
  expect(await waiting(at.world)).toBe(1);
  await at.embed();
  expect((await find(ann, "arzt")).titles).toEqual(["The physician"]);
});

it("embeds a memory once, however many servers look for work", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  const { pool } = at.world.database;
  const context = { ...at.world.services, meaning: at.meaning };
  await fillModel(context);
  await memoriesTitled(ann, "The automobile");
  const holder = await pool.connect();
  await holder.query("BEGIN; SELECT FROM embedding_due FOR UPDATE");

  const servers = Array.from({ length: 3 }, () => embedDueMemories(context));
  await expect.poll(() => waitingForLocks(at.world)).toBe(3);
  await holder.query("COMMIT");
  holder.release();
  await Promise.all(servers);

  const texts = at.server.asked.flatMap((asked) => asked.texts);
  expect(texts.filter((text) => text.startsWith("The automobile"))).toHaveLength(1);
});

it("uses up no attempts while the server is down, and then embeds all", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  const { models } = at.world.database;
  const context = { ...at.world.services, meaning: at.meaning };
  await memoriesTitled(ann, "The automobile", "The wagen");
  at.server.trouble = "fails";
  expect(await find(ann, "vehicle")).toEqual({ titles: [], meaning: false });

  const requests = new Set<number>();
  for (let attempt = 0; attempt < 25; attempt++) {
    while (await fillModel(context));
    await models.embeddingDue.updateMany({ data: { dueAt: new Date(Date.now() - 1_000) } });
    const before = at.server.asked.length;
    await embedDueMemories(context);
    requests.add(at.server.asked.length - before);
  }
  // Soon after the outage they are tried again.
  expect(await models.embeddingDue.count({ where: { dueAt: { gt: new Date(Date.now() + 60_000) } } })).toBe(0);
  // Later the memories are tried one by one, but after the first failure no more of them.
  expect(requests.size).toBe(1);
  // A model that has embedded nothing must not take over from another.
  expect(await models.embeddingModel.findMany({ select: { complete: true } })).toEqual([{ complete: false }]);
  expect((await readBacklog(at.world.services))["embeddings"]?.count).toBe(2);

  at.server.trouble = undefined;
  await models.embeddingDue.updateMany({ data: { dueAt: new Date(Date.now() - 1_000) } });
  await at.embed();
  expect((await find(ann, "vehicle")).titles.toSorted()).toEqual(["The automobile", "The wagen"]);
});

const waiting = ({ database }: World) => database.models.embeddingDue.count();

it("embeds a memory that is being stored while the first server begins to embed", async () => {
  await using at = await meaningfulWorld();
  const { pool } = at.world.database;
  const ann = await at.world.user();
  const counter = await pool.connect();
  await counter.query("BEGIN");
  await counter.query("SELECT FROM graph_usage WHERE graph_id = $1 FOR UPDATE", [ann.caller.personalGraphId]);

  const storing = aMemory(ann, { title: "The automobile" });
  await expect.poll(() => waitingForLocks(at.world)).toBe(1);
  const embedding = at.embed();
  await expect.poll(() => waitingForLocks(at.world)).toBe(2);
  await counter.query("COMMIT");
  counter.release();
  await Promise.all([storing, embedding]);

  expect((await find(ann, "vehicle")).titles).toEqual(["The automobile"]);
});

it("embeds memories and finds them by meaning on a running server", async () => {
  await using server = await startEmbeddingsServer();
  await using world = await createWorld();
  const ann = await world.user();
  const { key } = ann;
  const { url } = await world.serve({ EMBEDDINGS_URL: server.url, EMBEDDINGS_MODEL: "one", METRICS_PORT: "0" });
  await aMemory(ann, { title: "The automobile" });

  const search = async () => (await ask(`${url}/v1/memories/search?query=vehicle`, { key })).body;
  await expect.poll(search).toMatchObject({ memories: [{ title: "The automobile" }], meaning: true });
});

it("queues nothing when no server has used a model for a week", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  await at.embed();
  const { embeddingDue, embeddingModel } = at.world.database.models;
  const queued = [];
  for (const days of [6, 8]) {
    await embeddingModel.updateMany({ data: { usedAt: new Date(Date.now() - days * 86_400_000) } });
    await memoriesTitled(ann, `After ${days} days`);
    queued.push(await embeddingDue.count());
  }

  expect(queued).toEqual([1, 1]);
});

it("embeds of an account no more in a day than it may, whatever is changed, and the rest on the next", async () => {
  await using at = await meaningfulWorld();
  const [ann, bob] = [await at.world.user(), await at.world.user()];
  const context = { ...at.world.services, meaning: at.meaning };
  await fillModel(context);
  const { charactersPerDay, timesHeldPerDay } = LIMITS.embeddings;
  const budgets = { take: vi.spyOn(at.world.services.budgets, "take") };
  const { id, title, content } = await aMemory(ann, { title: "The automobile" });
  const spend = { limit: Number.MAX_SAFE_INTEGER, windowMs: LIMITS.embeddings.dayMs };
  const name = `embedded:${sha256(ann.email).toString("base64url")}`;
  const { bytes } = await at.world.database.models.graphUsage.findUniqueOrThrow({
    where: { graphId: ann.caller.personalGraphId },
  });
  const limit = charactersPerDay + timesHeldPerDay * Number(bytes);
  await at.world.services.budgets.take(name, { ...spend, cost: limit - 1 });

  // The last one within the limit.
  await embedDueMemories(context);
  expect(await waiting(at.world)).toBe(0);
  const { used } = await at.world.services.budgets.take(name, { ...spend, cost: 0 });
  expect(used).toBe(limit - 1 + title.length + content.length);
  const asked = at.server.asked.length;
  await ann.did(updateMemory, { id, title: "The wagen" });
  // The earlier version is held, too.
  await at.world.services.budgets.take(name, { ...spend, cost: 10_000 });
  await embedDueMemories(context);
  expect(at.server.asked.length).toBe(asked);
  const due = await at.world.database.models.embeddingDue.findFirstOrThrow();
  expect(due.dueAt.getTime()).toBeGreaterThan(Date.now() + LIMITS.embeddings.dayMs / 2);
  // Others are embedded, and a model is complete without it.
  await memoriesTitled(bob, "The vehicle");
  await embedDueMemories(context);
  expect((await find(bob, "car")).titles).toEqual(["The vehicle"]);
  while (await fillModel(context));
  await embedDueMemories(context);
  await fillModel(context);
  expect(await at.world.database.models.embeddingModel.findMany()).toMatchObject([{ complete: true }]);
  // The next day.
  budgets.take.mockImplementation(async () => ({ used: 0, resetMs: LIMITS.embeddings.dayMs }));
  await at.world.database.pool.query("UPDATE embedding_due SET due_at = now() - interval '1 second'");
  await embedDueMemories(context);
  expect(await waiting(at.world)).toBe(0);
  vi.restoreAllMocks();
});

it("embeds no more in a day of a person who makes a new team, or account, again and again, each with a new graph", async () => {
  await using at = await meaningfulWorld();
  const [ann, bob] = [await at.world.user({ email: "ann@example.com" }), await at.world.user()];
  const context = { ...at.world.services, meaning: at.meaning };
  await fillModel(context);
  const { budgets } = at.world.services;
  using take = vi.spyOn(budgets, "take");
  const { id: teamId } = await ann.did(createTeam, { name: "One", maxMembers: 2 });
  await aMemory(ann, { title: "The automobile", graph: "team" });
  await aMemory(ann, { title: "The automobile", graph: "personal" });
  await embedDueMemories(context);
  const asked = at.server.asked.length;
  const { charactersPerDay, dayMs: windowMs, timesHeldPerDay } = LIMITS.embeddings;
  const [name = ""] = take.mock.lastCall ?? [];
  // Only Ann's two graphs hold anything.
  const { _sum: held } = await at.world.database.models.graphUsage.aggregate({ _sum: { bytes: true } });
  const limit = charactersPerDay + timesHeldPerDay * Number(held.bytes);
  expect(take).toHaveBeenCalledWith(name, { limit, cost: 0, windowMs });
  await budgets.take(name, { limit: Number.MAX_SAFE_INTEGER, cost: 2 * charactersPerDay, windowMs });
  await ann.did(deleteTeam, { teamId });
  await ann.did(createTeam, { name: "Two", maxMembers: 2 });

  await aMemory(ann, { title: "The wagen", graph: "team" });
  await aMemory(ann, { title: "The vehicle", graph: "personal" });
  await aMemory(await at.world.user({ email: "ann+2@example.com" }), { title: "The car" });
  await embedDueMemories(context);

  expect(at.server.asked.length).toBe(asked);
  expect(await waiting(at.world)).toBe(3);
  await memoriesTitled(bob, "The vehicle");
  await embedDueMemories(context);
  expect(at.server.asked.length).toBe(asked + 1);
});
