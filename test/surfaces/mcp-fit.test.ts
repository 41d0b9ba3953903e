import fc from "fast-check";
import { expect, it } from "vitest";
import { fitObject, jsonBytes } from "../../src/surfaces/mcp/fit.js";

/** Half of a surrogate pair as JSON writes it: an escape whose backslash is not itself escaped. */
const HALF_CHARACTER = /(?<!\\)(?:\\\\)*\\ud[89a-f]/i;

it("cuts any JSON to the given size, and leaves JSON unchanged that fits", () => {
  const leaf = fc.oneof(fc.string({ maxLength: 400, unit: "binary" }), fc.integer(), fc.boolean());
  const record = fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), leaf, { maxKeys: 6 });
  const wide = fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), fc.oneof(leaf, record), { maxKeys: 200 });
  const any = fc.record({
    id: fc.uuid(),
    text: fc.string({ maxLength: 3_000, unit: "grapheme" }),
    tags: fc.array(fc.string({ maxLength: 100 }), { maxLength: 40 }),
    items: fc.array(record, { maxLength: 40 }),
    inner: fc.oneof(record, wide),
  });
  fc.assert(
    fc.property(any, fc.integer({ min: 1_000, max: 8_192 }), (value, room) => {
      const fitted = fitObject(value, room);
      expect(jsonBytes(fitted)).toBeLessThanOrEqual(room);
      if (jsonBytes(value) <= room) expect(fitted).toEqual(value);
      expect(Object.keys(fitted)).toEqual(Object.keys(value));
      expect((fitted as typeof value).id).toBe(value.id);
      expect(JSON.stringify(fitted)).not.toMatch(HALF_CHARACTER);
    }),
    { numRuns: 300 },
  );
});

it("keeps the texts of a list whole, as many as fit", () => {
  const tags = Array.from({ length: 20 }, (_, index) => String(index).padStart(100, "x"));
  expect(fitObject({ tags }, 400)).toEqual({ tags: tags.slice(0, 3) });
});

it.each([
  [1, [1]],
  [2, [1 / 2, 1 / 2]],
  [4, [1 / 4, 1 / 4, 1 / 4, 1 / 4]],
  [9, [1 / 4, 1 / 4, 1 / 4, 1 / 4]],
])("shares the room of a list between its first items: of %i long ones", (count, shares) => {
  const items = Array.from({ length: count }, () => ({ text: "x".repeat(9_999) }));

  const fitted = fitObject({ items }, 4_000) as { items: typeof items };

  expect(fitted.items).toHaveLength(shares.length);
  for (const [index, share] of shares.entries()) {
    const used = jsonBytes(fitted.items[index]) / 4_000;
    expect(used).toBeLessThanOrEqual(share);
    expect(used).toBeGreaterThan(share * 0.95);
  }
});

it.each(["x", "ü", "\u{1F600}", "\n"])("cuts a text of %j to the longest beginning that fits", (character) => {
  const [count, { length }] = [400, character];
  const cutTo = (kept: number) => ({
    text: `${character.repeat(kept)}… [cut at character ${kept * length} of ${count * length}]`,
  });
  for (let room = 300; room < 340; room++) {
    let kept = count;
    // One byte is kept for a comma.
    while (jsonBytes(cutTo(kept)) >= room) kept--;
    expect(fitObject({ text: character.repeat(count) }, room)).toEqual(cutTo(kept));
  }
});
