import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { expect, it } from "vitest";
import { encode, stringify } from "../../src/surfaces/stringify.js";

/** Some are so long that a list of them is written in several pieces. */
const text = fc.oneof(
  fc.string(),
  fc.string({ minLength: 1 }).map((some) => some.padEnd(60_000, some)),
);
const value = fc.oneof(text, fc.jsonValue(), fc.constant(undefined), fc.date({ noInvalidDate: true }));
const field = fc.oneof(value, fc.array(value, { maxLength: 12 }), fc.dictionary(fc.string(), value));
const answer = fc.dictionary(fc.string(), fc.oneof(field, fc.array(field, { maxLength: 12 })));

it("writes the same as JSON.stringify", async () => {
  await fc.assert(
    fc.asyncProperty(answer, async (drawn) => {
      let pauses = 0;
      const written = await stringify(drawn, async () => void pauses++);

      const whole = JSON.stringify(drawn);
      expect(written === whole, whole.slice(0, 2_000)).toBe(true);
      expect(pauses).toBeGreaterThanOrEqual(Math.floor(whole.length / 500_000));
    }),
    // Making such long texts shorter would take hours.
    { numRuns: 200, endOnFailure: true },
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
