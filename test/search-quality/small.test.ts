import { expect, it } from "vitest";
import { createWorld } from "../support/world.js";
import { labelledSet } from "./labelled.js";
import { measureQuality, storeMemories, summarizeByClass } from "./measure.js";

it("finds the labelled memories, in a small part of the labelled set", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { memories, queries } = labelledSet("first");
  const labels = await storeMemories(world, ann, memories);
  const some = queries.filter((_, index) => index % 5 === 0);

  const quality = summarizeByClass(await measureQuality(ann, labels, some));

  for (const name of ["exact", "ident", "typo", "inflect"]) {
    expect(quality.get(name)?.recall, name).toBeGreaterThanOrEqual(0.93);
    expect(quality.get(name)?.empty, name).toEqual([]);
  }
});
