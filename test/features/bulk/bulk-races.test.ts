import { expect, it } from "vitest";
import { createMemories } from "../../../src/features/bulk/create-memories.js";
import { restoreMemories } from "../../../src/features/bulk/restore-memories.js";
import { deleteMemories } from "../../../src/features/bulk/delete-memories.js";
import { shareMemories } from "../../../src/features/memories/share-memories.js";
import { createRelationship } from "../../../src/features/relationships/create-relationship.js";
import { createTeam } from "../../../src/features/teams/create-team.js";
import { waitingForLocks } from "../../support/locks.js";
import { miscounted } from "../../support/memories.js";
import { ROUNDS, deadlocks, manyAtOnce } from "../../support/races.js";
import { type Actor, type Verdict, createWorld } from "../../support/world.js";

/** Few enough for each call to cost one request only. */
const COUNT = 10;
const NOTE = { type: "general", title: "A note", content: "Something." };
const CONTEXT = "Why ".repeat(1_000);
const TIMES = { createdAt: "2026-01-01T00:00:00Z", updatedAt: "2026-01-02T00:00:00Z" };
const numbers = Array.from({ length: COUNT }, (_, number) => number);

/** The same items for each call, but every other call has them in the opposite order. */
const inOwnOrder = <Item>(call: number, items: Item[]): Item[] => (call % 2 === 0 ? items : items.toReversed());
const idOf = (round: number, number: number, kind: number): string =>
  `019bb153-8740-7c2d-8e3${kind}-${String(round).padStart(6, "0")}${String(number).padStart(6, "0")}`;

const create = (actor: Actor, round: number, call: number) =>
  actor.does(createMemories, {
    memories: inOwnOrder(
      call,
      numbers.map((number) => ({ ...NOTE, clientId: `${round} ${number}` })),
    ),
  });

const linksAmong = ([first = "", ...others]: readonly string[]) =>
  others.map((toMemoryId) => ({ fromMemoryId: first, toMemoryId, relationshipType: "ENABLES", context: CONTEXT }));

/** Memories whose client ids are ordered in the opposite way to their ids, each linked to the next one. */
const restore = (actor: Actor, round: number, call: number, hasClientId: (number: number) => boolean) =>
  actor.does(restoreMemories, {
    memories: inOwnOrder(
      call,
      numbers.map((number) => ({
        id: idOf(round, number, 1),
        ...NOTE,
        ...TIMES,
        clientId: hasClientId(number) ? `${round} ${COUNT - 1 - number}` : null,
      })),
    ),
    relationships: inOwnOrder(
      call,
      numbers.slice(1).map((number) => {
        const [from, to] = [idOf(round, number - 1, 1), idOf(round, number, 1)];
        return { id: idOf(round, number, 2), from, to, type: "FOLLOWS", createdAt: TIMES.createdAt };
      }),
    ),
  });

/** So many that storing them takes longer than what precedes it. */
const LONG_NOTES = Array.from({ length: 25 }, (_, number) => ({
  ...NOTE,
  content: "Something that takes PostgreSQL some time. ".repeat(80),
  number,
}));
const PERSONAL = { graph: "personal" };

/** Stores memories in a person's own graph, and returns their ids. */
async function ownNotes(actor: Actor, round: number, call: number): Promise<string[]> {
  const memories = LONG_NOTES.map(({ number, ...note }) => ({ ...note, clientId: `${round} ${number}` }));
  return (await actor.did(createMemories, { ...PERSONAL, memories: inOwnOrder(call, memories) })).memoryIds;
}

type Race = (ann: Actor, bob: Actor, round: number) => Promise<Array<Verdict<object>>>;

it.each<[string, Race]>([
  ["creations with the same client ids", (ann, _bob, round) => manyAtOnce((n) => create(ann, round, n))],
  [
    "creations of the same relationships",
    async (ann) => {
      const { memoryIds } = await ann.did(createMemories, { memories: Array.from({ length: 25 }, () => NOTE) });
      return manyAtOnce((n) => ann.does(createMemories, { relationships: inOwnOrder(n, linksAmong(memoryIds)) }));
    },
  ],
  ["restorations of the same export", (ann, _bob, round) => manyAtOnce((n) => restore(ann, round, n, () => true))],
  [
    "restorations of several exports, where the same memories have client ids or not",
    (ann, _bob, round) => manyAtOnce((n) => restore(ann, round, n, (number) => (number + n) % 3 === 0)),
  ],
  [
    "creations and restorations with the same client ids",
    (ann, bob, round) =>
      manyAtOnce<Verdict<object>>((n) => (n % 4 < 2 ? create(ann, round, n) : restore(bob, round, n, () => true))),
  ],
  [
    "shares of memories with the same client ids",
    async (ann, bob, round) => {
      const [ofAnn, ofBob] = [await ownNotes(ann, round, 0), await ownNotes(bob, round, 1)];
      return manyAtOnce((n) =>
        n % 2 === 0 ? ann.does(shareMemories, { ids: ofAnn }) : bob.does(shareMemories, { ids: ofBob }),
      );
    },
  ],
])("lets %s wait for each other, but never in a circle", async (_name, race) => {
  await using world = await createWorld({ fresh: true });
  const [ann, bob] = [await world.user(), await world.user()];
  const { id } = await ann.did(createTeam, { name: "Platform", maxMembers: 5 });
  await world.seat(bob, id);

  for (let round = 0; round < ROUNDS; round++) {
    const verdicts = await race(ann, bob, round);
    expect(verdicts.some(({ ok }) => ok)).toBe(true);
    for (const verdict of verdicts) if (!verdict.ok) expect(["conflict", "not_found"]).toContain(verdict.failure.kind);
  }

  expect(await deadlocks(world)).toBe(0);
  expect(await miscounted(world)).toEqual([]);
});

it("lets restorations wait for each other whose ids and client ids are in no common order", async () => {
  await using world = await createWorld({ fresh: true });
  const ann = await world.user();
  const note = (number: number, clientId: string) => ({ ...NOTE, ...TIMES, id: idOf(0, number, 1), clientId });
  const inTheMiddle = note(0, "m");
  await ann.did(restoreMemories, { memories: [inTheMiddle] });
  const holder = await world.database.pool.connect();
  await holder.query("BEGIN");
  await holder.query("DELETE FROM memory WHERE id = $1", [inTheMiddle.id]);

  // Each would store its first memory, wait in the middle, and then need the id that the other one has stored.
  const first = ann.does(restoreMemories, { memories: [note(1, "a"), inTheMiddle, note(2, "z")] });
  await expect.poll(() => waitingForLocks(world)).toBe(1);
  const second = ann.does(restoreMemories, { memories: [note(2, "b"), inTheMiddle, note(1, "y")] });
  await expect.poll(() => waitingForLocks(world)).toBe(2);
  await holder.query("ROLLBACK");
  holder.release();

  expect([await first, await second]).toMatchObject([{ ok: true }, { ok: true }]);
  expect(await deadlocks(world)).toBe(0);
  expect(await miscounted(world)).toEqual([]);
});

/** Links the second of two memories to the first one: foreign keys would lock them in this order. */
const LINKS: Readonly<Record<string, (ann: Actor, first: string, second: string) => Promise<Verdict<object>>>> = {
  createRelationship: (ann, first, second) =>
    ann.does(createRelationship, { fromMemoryId: second, toMemoryId: first, relationshipType: "ENABLES" }),
  createMemories: (ann, first, second) => ann.does(createMemories, { relationships: linksAmong([second, first]) }),
  restoreMemories: (ann, first, second) => {
    const link = { id: idOf(0, 0, 2), from: second, to: first, type: "FOLLOWS", createdAt: TIMES.createdAt };
    return ann.does(restoreMemories, { relationships: [link] });
  },
};

it.each(Object.entries(LINKS))(
  "lets the links of %s wait for a deletion of both memories, but never in a circle",
  async (_name, link) => {
    await using world = await createWorld({ fresh: true });
    const ann = await world.user();
    const { memoryIds } = await ann.did(createMemories, { memories: [NOTE, NOTE] });
    const [first = "", second = ""] = memoryIds.toSorted();
    const holder = await world.database.pool.connect();
    await holder.query("BEGIN");
    await holder.query("SELECT FROM memory WHERE id = $1 FOR UPDATE", [first]);

    // The deletion waits for the first memory, and so does what links both; whoever gets it needs the second one.
    const deleted = ann.does(deleteMemories, { ids: memoryIds });
    await expect.poll(() => waitingForLocks(world)).toBe(1);
    const linked = link(ann, first, second);
    await expect.poll(() => waitingForLocks(world)).toBe(2);
    await holder.query("COMMIT");
    holder.release();

    expect(await deleted).toMatchObject({ ok: true });
    expect(await linked).toBeRefused("not_found");
    expect(await deadlocks(world)).toBe(0);
    expect(await miscounted(world)).toEqual([]);
  },
);
