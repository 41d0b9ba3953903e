import { expect, it } from "vitest";
import { createWorld } from "../support/world.js";
import { labelledSet } from "./labelled.js";
import { measureQuality, storeMemories, summarizeByClass } from "./measure.js";
import { stranger } from "./strangers.js";

const STRANGERS = Array.from({ length: 600 }, (_, index) => stranger(index));
const CLASSES = ["exact", "ident", "inflect", "typo"];

it("ranks the labelled memories first, in some classes of the first set", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { memories, queries } = labelledSet("first");
  const labels = await storeMemories(world, ann, [...memories, ...STRANGERS]);
  const some = queries.filter(({ class: name }) => CLASSES.includes(name));

  const quality = summarizeByClass(await measureQuality(ann, labels, some));

  for (const name of CLASSES) {
    expect(quality.get(name)?.recall, name).toBeGreaterThanOrEqual(0.97);
    expect(quality.get(name)?.reciprocalRank, name).toBeGreaterThanOrEqual(0.99);
    expect(quality.get(name)?.empty, name).toEqual([]);
  }
});

it("ranks the labelled memories first, in the open half of our own set", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { memories, queries } = labelledSet("own");
  const labels = await storeMemories(world, ann, [...memories, ...STRANGERS]);
  const open = queries.filter(({ held }) => held !== true);

  const quality = summarizeByClass(await measureQuality(ann, labels, open)).get("all");

  expect(quality?.recall).toBeGreaterThanOrEqual(0.995);
  expect(quality?.reciprocalRank).toBeGreaterThanOrEqual(0.995);
});
