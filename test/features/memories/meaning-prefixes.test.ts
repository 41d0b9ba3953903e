import { expect, it } from "vitest";
import { embedDueMemories } from "../../../src/features/memories/meaning/embed-memories.js";
import { fillModel } from "../../../src/features/memories/meaning/embedding-models.js";
import { prefixesOf } from "../../../src/platform/meaning/embedding-prefixes.js";
import { Meaning } from "../../../src/platform/meaning/meaning.js";
import { PATIENT, findNearest, meaningfulWorld } from "../../support/meaning.js";
import { memoriesTitled } from "../../support/memories.js";

const E5 = { queryPrefix: "query: ", documentPrefix: "passage: " };

it("sends a prefix before each query, and another one before each text to find", async () => {
  await using at = await meaningfulWorld();
  await using meaning = new Meaning(at.server.client("one", E5), undefined, PATIENT);
  const ann = await at.world.user();
  await memoriesTitled(ann, "The automobile");
  await at.embed(meaning);
  const before = at.server.asked.length;
  const context = { ...at.world.services, meaning };

  expect(await findNearest(context, ann, "vehicle")).toHaveLength(1);

  expect(at.server.asked.slice(0, before).flatMap(({ texts }) => texts)).toContain(
    "passage: The automobile\nSomething.",
  );
  for (const { texts } of at.server.asked.slice(0, before)) {
    for (const text of texts) expect(text).toMatch(/^passage: /);
  }
  expect(at.server.asked.slice(before).flatMap(({ texts }) => texts)).toContain("query: vehicle");
  expect(new Set(at.server.asked.map(({ model }) => model))).toEqual(new Set(["one"]));
});

it("embeds all again by another prefix of documents, and uses the vectors when they are complete", async () => {
  await using at = await meaningfulWorld();
  await using other = new Meaning(at.server.client("one", E5), undefined, PATIENT);
  const ann = await at.world.user();
  await memoriesTitled(ann, "The automobile", "A physician");
  await at.embed();
  const context = { ...at.world.services, meaning: other };
  const models = async () => {
    const found = await at.world.database.models.memoryVector.groupBy({ by: ["model"], orderBy: { model: "asc" } });
    return found.map(({ model }) => model);
  };

  await fillModel(context);
  await fillModel(context);
  expect(await models()).toEqual(["one"]);
  expect(await at.world.database.models.embeddingDue.count()).toBe(2);
  expect(await findNearest(context, ann, "vehicle")).toHaveLength(2);
  while (await embedDueMemories(context));
  await at.embed(other);

  expect(await models()).toEqual(["one", "one\npassage: "]);
  expect(await findNearest(context, ann, "wagen")).toHaveLength(2);
  expect([...other.loaded.keys()].at(-1)).toContain("passage: ");
});

it("keeps the vectors with another prefix of queries", async () => {
  await using at = await meaningfulWorld();
  await using other = new Meaning(at.server.client("one", { queryPrefix: "query: " }), undefined, PATIENT);
  const ann = await at.world.user();
  await memoriesTitled(ann, "The automobile");
  await at.embed();
  const before = at.server.asked.length;
  await at.embed(other);
  expect(at.server.asked.length).toBe(before);

  expect(await findNearest({ ...at.world.services, meaning: other }, ann, "vehicle")).toHaveLength(1);
  expect(at.server.asked.slice(before).flatMap(({ texts }) => texts)).toContain("query: vehicle");
});

it.each([
  ["nomic-embed-text:v1.5", "search_query: ", "search_document: "],
  ["text-embedding-nomic-embed-text-v1.5@q8_0", "search_query: ", "search_document: "],
  ["nomic-ai/nomic-embed-text-v2-moe", "search_query: ", "search_document: "],
  ["intfloat/multilingual-e5-small", "query: ", "passage: "],
  ["intfloat/e5-large-v2", "query: ", "passage: "],
  ["jeffh/intfloat-multilingual-e5-large-instruct:f16", expect.stringMatching(/^Instruct: .*\nQuery: $/), ""],
  ["Qwen/Qwen3-Embedding-0.6B", expect.stringMatching(/^Instruct: .*\nQuery:$/), ""],
  ["embeddinggemma:300m", "task: search result | query: ", "title: none | text: "],
  ["mxbai-embed-large", "Represent this sentence for searching relevant passages: ", ""],
  ["snowflake-arctic-embed2:568m", "query: ", ""],
  ["Snowflake/snowflake-arctic-embed-l-v2.0", "query: ", ""],
  ["snowflake-arctic-embed:335m", "Represent this sentence for searching relevant passages: ", ""],
  ...["all-minilm", "bge-m3", "text-embedding-3-small", "intfloat/e5-mistral-7b", "code5-large", "one"].map(
    (model) => [model, "", ""] as const,
  ),
] as const)("knows the prefixes of %s", (model, query, document) => {
  expect(prefixesOf(model)).toEqual({ query, document });
});
