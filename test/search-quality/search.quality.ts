import { expect, it } from "vitest";
import { createWorld } from "../support/world.js";
import { labelledSet } from "./labelled.js";
import { measureQuality, storeMemories, summarizeByClass } from "./measure.js";
import { stranger } from "./strangers.js";

const STRANGERS = 6_000;

it("finds what was meant among the memories of others", { timeout: 600_000 }, async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { memories, queries } = labelledSet("first");
  const strangers = Array.from({ length: STRANGERS }, (_, index) => stranger(index));
  const labels = await storeMemories(world, ann, [...memories, ...strangers]);

  const quality = summarizeByClass(await measureQuality(ann, labels, queries));

  for (const [name, { queries: asked, recall, reciprocalRank, empty }] of quality) {
    const numbers = `recall@5 ${recall.toFixed(3)}  MRR@10 ${reciprocalRank.toFixed(3)}`;
    console.log(`${name.padEnd(10)} ${String(asked).padStart(4)} queries  ${numbers}  ${empty.length} without a hit`);
  }
  const of = (name: string) => quality.get(name) ?? { recall: 0, reciprocalRank: 0 };
  expect(of("all").recall).toBeGreaterThanOrEqual(0.8);
  expect(of("all").reciprocalRank).toBeGreaterThanOrEqual(0.8);
  for (const name of ["exact", "ident"]) expect(of(name).reciprocalRank, name).toBeGreaterThanOrEqual(0.98);
  expect(of("typo").recall).toBeGreaterThanOrEqual(0.93);
});
