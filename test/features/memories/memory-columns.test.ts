import { expect, it } from "vitest";
import { createMemory } from "../../../src/features/memories/create-memory.js";
import { memory } from "../../../src/features/memories/get-memory.js";
import { memoryVersions } from "../../../src/features/memories/list-memory-versions.js";
import { memories } from "../../../src/features/memories/list-memories.js";
import { CONTENTS } from "../../../src/features/memories/memory-columns.js";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { miscounted } from "../../support/memories.js";
import { createWorld } from "../../support/world.js";

/** What could be taken for something else on the way to the database and back. */
const CONTEXT = {
  $type: "DateTime",
  value: "x",
  z: 1,
  a: [1e21, 1e-7, 0.1, null, { "": [] }],
  é: '\u2028"',
  __proto__: 1,
};

/** Everything that a memory says; what is not of another form is a text. */
const saying = (word: string, importance: number) => ({
  ...Object.fromEntries(CONTENTS.map((name) => [name, `${word} ${name}`])),
  ...{ type: word, tags: [word, "more"], importance, context: { ...CONTEXT, word }, confidence: 1 - importance },
  expiresAt: new Date(Date.UTC(2100, 0, 1 + 100 * importance)),
});

it("stores, changes, shows, counts and keeps everything that a memory says", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [first, second] = [saying("one", 0.1), saying("another", 0.9)];

  const created = await ann.did(createMemory, first);
  const { id } = created;
  const updated = await ann.did(updateMemory, { id, ...second });

  expect(created).toMatchObject(first);
  expect(updated).toMatchObject(second);
  expect(await ann.did(memory, { id })).toMatchObject(second);
  expect((await ann.did(memories)).memories).toMatchObject([second]);
  expect((await ann.did(memoryVersions, { id })).versions).toMatchObject([second, first]);
  expect(await miscounted(world)).toEqual([]);
});

it("leaves what an update does not name, one field after the other", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [first, second] = [saying("one", 0.1), saying("another", 0.9)];
  const { id } = await ann.did(createMemory, first);

  for (const [index, name] of CONTENTS.entries()) {
    const change = { [name]: second[name as keyof typeof second] };
    const expected = CONTENTS.map((one, at) => [one, (at <= index ? second : first)[one as keyof typeof first]]);
    expect(await ann.did(updateMemory, { id, ...change })).toMatchObject(Object.fromEntries(expected));
  }
});
