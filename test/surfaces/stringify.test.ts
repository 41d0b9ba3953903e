import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { expect, it } from "vitest";
import { encode, stringify } from "../../src/surfaces/stringify.js";

const list = fc.array(fc.oneof(fc.jsonValue(), fc.constant(undefined), fc.date({ noInvalidDate: true })), {
  maxLength: 12,
});
const field = fc.oneof(list, fc.jsonValue(), fc.constant(undefined), fc.date({ noInvalidDate: true }));
const answer = fc.dictionary(fc.string(), fc.oneof(field, fc.dictionary(fc.string(), field)));

it("writes the same as JSON.stringify", async () => {
  await fc.assert(
    fc.asyncProperty(answer, async (value) => {
      expect(await stringify(value, nextTurn)).toBe(JSON.stringify(value));
    }),
    { numRuns: 500 },
  );
});

it("encodes a long text in several turns, and no half of a character", async () => {
  for (const text of ["a".repeat(1_000_000), "😀".repeat(300_000), `a${"😀".repeat(300_000)}`]) {
    let pauses = 0;
    const encoded = await encode(text, async () => void pauses++);

    expect(Buffer.from(text).equals(Buffer.from(encoded))).toBe(true);
    expect(pauses).toBeGreaterThan(3);
  }
});

it("lets other events run while it writes a long list at any place", async () => {
  const memories = Array.from({ length: 80 }, (_, index) => ({ id: index, content: "é".repeat(50_000) }));
  for (const value of [{ memories }, { data: { searchMemories: { memories, total: 80 } } }]) {
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);

    const text = await stringify(value, nextTurn);
    isOver = true;

    expect(text).toBe(JSON.stringify(value));
    expect(turns).toBeGreaterThan(10);
  }
});
