import fc from "fast-check";
import { expect, it } from "vitest";
import { Slots } from "../../src/surfaces/slots.js";

const NAMES = ["a", "b", "c", "d"];
const ROOM = { slots: 2, together: 3, waiting: 4, waitMs: 60_000 };

const drawnStep = fc.record({ name: fc.constantFrom(...NAMES), gives: fc.boolean() });

it("gives no name and not all together more slots than they may have, and leaves none free while somebody waits", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(drawnStep, { maxLength: 60 }), async (steps) => {
      const slots = new Slots(ROOM);
      const taken = new Map(NAMES.map((name) => [name, 0]));
      const waiting = new Map(NAMES.map((name) => [name, 0]));
      const add = (counts: Map<string, number>, name: string, by: number) =>
        counts.set(name, (counts.get(name) ?? 0) + by);
      for (const { name, gives } of steps) {
        if (gives && taken.get(name) !== 0) {
          add(taken, name, -1);
          slots.give(name);
        } else if (!gives) {
          const outcome = slots.take(name);
          if (outcome === true) add(taken, name, 1);
          else if (outcome === false) expect(waiting.get(name)).toBe(ROOM.waiting);
          else {
            add(waiting, name, 1);
            void (async () => {
              const hasSlot = await outcome;
              add(waiting, name, -1);
              if (hasSlot) add(taken, name, 1);
            })();
          }
        }
        await new Promise(setImmediate);
        const all = [...taken.values()].reduce((sum, count) => sum + count, 0);
        expect(all).toBeLessThanOrEqual(ROOM.together);
        for (const own of NAMES) {
          expect(taken.get(own)).toBeLessThanOrEqual(ROOM.slots);
          expect(slots.hasAll(own)).toBe(taken.get(own) === ROOM.slots);
          if (waiting.get(own) !== 0) expect(all === ROOM.together || taken.get(own) === ROOM.slots).toBe(true);
        }
      }
    }),
  );
});

it("lets names take turns: one that has waited little comes before the many requests of another", async () => {
  const slots = new Slots({ ...ROOM, slots: 1, together: 1 });
  const order: string[] = [];
  const ask = async (name: string) => {
    await slots.take(name);
    order.push(name);
  };
  const asked = ["a", "a", "a", "a", "b", "c", "b"].map(ask);
  for (let n = 0; n < asked.length; n++) {
    await new Promise(setImmediate);
    slots.give(order.at(-1) ?? "");
  }
  await Promise.all(asked);

  expect(order.join("")).toBe("aabcaba");
});

it("keeps nothing of a name that was refused at once", () => {
  const slots = new Slots({ ...ROOM, together: 1, waiting: 0 });

  expect(slots.take("a")).toBe(true);
  expect(slots.take("b")).toBe(false);
  slots.give("b");

  expect(slots.take("c")).toBe(false);
});
