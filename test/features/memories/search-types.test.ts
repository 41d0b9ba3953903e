import { expect, it } from "vitest";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { aMemory, findTitles } from "../../support/memories.js";
import { createWorld } from "../../support/world.js";

/** Titles by type; no title or content has the name of its type. */
const NOTES = [
  ["technology", "Kafka 3.7 behind a proxy"],
  ["problem", "Kafka fills its disk every weekend"],
  ["solution", "Kafka keeps topics for five days"],
  ["error", "Hydration failed in React"],
  ["code_pattern", "Debounced input in React"],
  ["decision", "State of forms is in the URL with React"],
  ["fix", "Dates are formatted after React has mounted"],
  ["command", "Drain a node of Kubernetes"],
  ["task", "Split the checkout"],
] as const;

it("finds memories by a word that names their type, beside other words and alone", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  for (const [type, title] of NOTES) await aMemory(ann, { type, title });
  const titled = (wanted: string) => NOTES.find(([type]) => type === wanted)?.[1];

  const first = async (query: string) => (await findTitles(ann, query))[0];
  expect(await first("kafka problem")).toBe(titled("problem"));
  expect(await first("issues with kafka")).toBe(titled("problem"));
  expect(await first("kafka solution")).toBe(titled("solution"));
  expect(await first("how did we solve kafka")).toBe(titled("solution"));
  expect(await first("react errors")).toBe(titled("error"));
  expect(await first("react exception")).toBe(titled("error"));
  expect(await first("react code pattern")).toBe(titled("code_pattern"));
  expect(await first("what did we decide about react")).toBe(titled("decision"));
  expect(await first("react fixes")).toBe(titled("fix"));
  expect(await first("kafka fix")).toBe(titled("solution"));
  expect(await first("react patterns")).toBe(titled("code_pattern"));
  expect(await first("kafka tech")).toBe(titled("technology"));
  expect(await findTitles(ann, "technologies")).toEqual([titled("technology")]);
  expect(await findTitles(ann, "cmd")).toEqual([titled("command")]);
  expect(await findTitles(ann, "decisions")).toEqual([titled("decision")]);
});

it("says that a type was matched, and that no word is missing", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  for (const [type, title] of NOTES) await aMemory(ann, { type, title });

  const { memories, unknownWords, total } = await ann.did(searchMemories, { query: "kafka problem", explain: true });

  expect(unknownWords).toEqual([]);
  expect(total).toBe(1);
  expect(memories[0]?.matches).toMatchObject([
    { word: "kafka", kind: "word", place: "title" },
    { word: "problem", matched: "problem", kind: "word", place: "type" },
  ]);
  expect((await ann.did(searchMemories, { query: "kafka conversation" })).unknownWords).toMatchObject([
    { word: "conversation" },
  ]);
});

it("lists a type by a word alone, but not beside a subject that no memory has", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  for (const [type, title] of NOTES) await aMemory(ann, { type, title });
  await aMemory(ann, { title: "Anything else" });

  expect(await findTitles(ann, "latest decisions")).toEqual(["State of forms is in the URL with React"]);
  expect(await findTitles(ann, "open problems")).toEqual(["Kafka fills its disk every weekend"]);
  const { memories, unknownWords } = await ann.did(searchMemories, { query: "zebra problem" });
  expect([memories, unknownWords.map(({ word }) => word)]).toEqual([[], ["zebra", "problem"]]);
  expect(await findTitles(ann, "general")).toEqual([]);
});

it("takes a word that names a type for no misspelt one", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: "Commend the team" });
  await aMemory(ann, { type: "command", title: "Drain a node" });

  expect(await findTitles(ann, "commands")).toEqual(["Drain a node"]);
});

it("weighs a word by the memories that have it, not by those of the type that it names", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: "A note", content: "It was a hotfix." });
  for (let n = 0; n < 40; n++)
    await aMemory(ann, { type: n < 20 ? "fix" : "task", title: `${n % 3 ? "Day" : "Week"} ${n}` });
  await world.database.pool.query("SELECT count_words($1, 10000)", [ann.caller.personalGraphId]);

  const { memories } = await ann.did(searchMemories, { query: "hotfix week", types: ["general", "task"] });

  expect(memories[0]?.title).toBe("A note");
});

it("names a word that stands for a type as unknown where no hit is of the type", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { type: "error", title: "Disk is full" });
  await aMemory(ann, { title: "The job starts at noon" });
  const unknownIn = async (query: string) =>
    (await ann.did(searchMemories, { query, limit: 1 })).unknownWords.map(({ word }) => word);

  expect(await unknownIn("crash at start")).toEqual(["crash"]);
  expect(await unknownIn("crash of disk")).toEqual([]);
});

it("finds all of a type where one memory has the word, and counts no others", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: "The hotfix of last week" });
  for (let n = 0; n < 40; n++) await aMemory(ann, { type: n < 20 ? "fix" : "task", title: `Number ${n}` });
  await world.database.pool.query("SELECT count_words($1, 10000)", [ann.caller.personalGraphId]);

  const { memories, total } = await ann.did(searchMemories, { query: "hotfix", limit: 50 });

  expect([memories.length, total, memories[0]?.title]).toEqual([21, 21, "The hotfix of last week"]);
});

it("ranks a word that stands in a text above a type, and knows types that a memory gets later", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: "The recipe of our success" });
  const soup = await aMemory(ann, { title: "Soup of the canteen" });
  expect(await findTitles(ann, "recipes")).toEqual(["The recipe of our success"]);

  await ann.did(updateMemory, { id: soup.id, type: "recipe" });

  expect(await findTitles(ann, "recipes")).toEqual(["The recipe of our success", "Soup of the canteen"]);
});
