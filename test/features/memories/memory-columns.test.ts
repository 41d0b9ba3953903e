import { expect, it } from "vitest";
import { exportAccount } from "../../../src/features/accounts/export-account.js";
import { createMemories } from "../../../src/features/bulk/create-memories.js";
import { createMemory } from "../../../src/features/memories/create-memory.js";
import { memory } from "../../../src/features/memories/get-memory.js";
import { memoryVersions } from "../../../src/features/memories/list-memory-versions.js";
import { memories } from "../../../src/features/memories/list-memories.js";
import { CONTENTS } from "../../../src/features/memories/memory-columns.js";
import { putMemory } from "../../../src/features/memories/put-memory.js";
import { relatedMemories } from "../../../src/features/memories/related-memories.js";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { shareMemories } from "../../../src/features/memories/share-memories.js";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { ask } from "../../support/http.js";
import { aLink, aMemory, everythingSaid, miscounted } from "../../support/memories.js";
import { aTeam } from "../../support/teams.js";
import { createWorld } from "../../support/world.js";

const OWN = { graph: "personal" } as const;

it("stores, changes, shows and counts every field of a memory, and keeps it in versions", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [first, second] = [everythingSaid("one", 0.1), everythingSaid("another", 0.9)];

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

it("keeps every field that an update does not name, tried field by field", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [first, second] = [everythingSaid("one", 0.1), everythingSaid("another", 0.9)];
  const { id } = await ann.did(createMemory, first);

  for (const [index, name] of CONTENTS.entries()) {
    const change = { [name]: second[name as keyof typeof second] };
    const expected = CONTENTS.map((one, at) => [one, (at <= index ? second : first)[one as keyof typeof first]]);
    expect(await ann.did(updateMemory, { id, ...change })).toMatchObject(Object.fromEntries(expected));
  }
});

it("keeps every field by every way into and out of a graph", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { owner, member } = await aTeam(world);
  const [said, before] = [everythingSaid("one", 0.1), everythingSaid("another", 0.9)];

  const made = await member.did(createMemories, { memories: [before], ...OWN });
  const [id = ""] = made.memoryIds;
  expect(await member.did(memory, { id, ...OWN })).toMatchObject(before);
  const clientId = before.clientId;
  expect(await member.did(putMemory, { ...said, clientId, ...OWN })).toMatchObject({ ...said, clientId, id });
  await member.did(updateMemory, { id, clientId: said.clientId, ...OWN });
  await aLink(member, { id }, await aMemory(member, { clientId: "other", ...OWN }), OWN);

  const { memories: hits } = await member.did(searchMemories, { query: "one title", full: true, ...OWN });
  expect(hits).toMatchObject([{ memory: said }]);
  const { memories: related } = await member.did(relatedMemories, { id: "other", full: true, ...OWN });
  expect(related).toMatchObject([{ memory: said }]);
  const account = await member.did(exportAccount, { limit: 100 });
  expect(account.memories[0]).toMatchObject(said);
  expect(account.versions).toMatchObject([before, { ...said, clientId }]);

  const lines = String((await ask(`${url}/v1/export?graph=personal`, { key: member.key })).body).split("\n");
  const { record, ...exported } = JSON.parse(lines[1] ?? "") as Readonly<Record<string, unknown>>;
  expect(record).toBe("memory");
  const restored = { memories: [exported] };
  await ask(`${url}/v1/memories/restore?graph=personal`, { key: owner.key, body: restored });
  expect(await owner.did(memory, { id, ...OWN })).toMatchObject(said);
  await member.did(shareMemories, { all: true });
  expect(await owner.did(memory, { id, graph: "team" })).toMatchObject(said);
  expect(await miscounted(world)).toEqual([]);
});
