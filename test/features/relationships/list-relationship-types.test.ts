import { expect, it } from "vitest";
import { relationshipTypes } from "../../../src/features/relationships/list-relationship-types.js";
import { createWorld } from "../../support/world.js";

it("lists seven categories of five types, each once", async () => {
  await using world = await createWorld();
  const ann = await world.user();

  const { relationshipTypes: types } = await ann.did(relationshipTypes);

  const categories = ["causal", "solution", "context", "learning", "similarity", "workflow", "quality"];
  expect(types.map(({ category }) => category)).toEqual(
    categories.flatMap((category) => Array<string>(5).fill(category)),
  );
  expect(new Set(types.map(({ name }) => name)).size).toBe(35);
});

it("shows which types are symmetric, and which have an inverse", async () => {
  await using world = await createWorld();
  const ann = await world.user();

  const { relationshipTypes: types } = await ann.did(relationshipTypes);

  const symmetric = types.filter((type) => type.symmetric).map(({ name }) => name);
  expect(symmetric.toSorted()).toEqual([
    "ALTERNATIVE_TO",
    "CONTRADICTS",
    "OPPOSITE_OF",
    "PARALLEL_TO",
    "RELATED_TO",
    "SIMILAR_TO",
    "WORKS_WITH",
  ]);
  const inverses = types.filter(({ inverse }) => inverse !== null).map(({ name, inverse }) => [name, inverse]);
  expect(inverses).toEqual([
    ["REPLACES", "DEPRECATED_BY"],
    ["GENERALIZES", "SPECIALIZES"],
    ["SPECIALIZES", "GENERALIZES"],
    ["DEPRECATED_BY", "REPLACES"],
  ]);
});
