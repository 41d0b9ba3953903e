import { expect, it } from "vitest";
import { createMemories } from "../../../src/features/bulk/create-memories.js";
import { memory } from "../../../src/features/memories/get-memory.js";
import { shareMemories } from "../../../src/features/memories/share-memories.js";
import { createRelationship } from "../../../src/features/relationships/create-relationship.js";
import { deleteRelationship } from "../../../src/features/relationships/delete-relationship.js";
import { relationship } from "../../../src/features/relationships/get-relationship.js";
import { relationships } from "../../../src/features/relationships/list-relationships.js";
import { updateRelationship } from "../../../src/features/relationships/update-relationship.js";
import { LINK_CONTENTS } from "../../../src/features/memories/relationship-columns.js";
import { ask } from "../../support/http.js";
import { everythingSaidOfLink, miscounted } from "../../support/memories.js";
import { aTeam } from "../../support/teams.js";
import { createWorld } from "../../support/world.js";

const OWN = { graph: "personal" } as const;

it("keeps every field of a relationship by every way into and out of a graph", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { owner, member } = await aTeam(world);
  const [said, other] = [everythingSaidOfLink("one", 0.1), everythingSaidOfLink("another", 0.9)];
  const note = { type: "general", title: "A note", content: "Something." };
  const ends = { fromMemoryId: "from", toMemoryId: "to" };

  const made = await member.did(createMemories, {
    memories: ["from", "to"].map((clientId) => ({ ...note, clientId, ref: clientId })),
    relationships: [{ ...ends, ...other, relationshipType: "CAUSES" }],
    ...OWN,
  });
  const [id = ""] = made.relationshipIds;
  expect(await member.did(relationship, { id, ...OWN })).toMatchObject(other);
  expect(await member.did(updateRelationship, { id, ...said, ...OWN })).toMatchObject(said);
  const second = await member.did(createRelationship, { ...ends, ...other, relationshipType: "SOLVES", ...OWN });
  expect(second).toMatchObject(other);
  expect((await member.did(relationships, OWN)).relationships).toMatchObject([other, said]);
  await member.did(deleteRelationship, { id: second.id, ...OWN });
  expect(await miscounted(world)).toEqual([]);

  for (const name of LINK_CONTENTS) {
    const here = `${name} relationship { ${name} }`;
    const query = `{ memory(id: "from", graph: PERSONAL) { relationships { ${here} memory { relationships { ${here} } } } } }`;
    const { body } = await ask(`${url}/graphql`, { key: member.key, body: { query } });
    const told = { [name]: said[name], relationship: { [name]: said[name] } };
    const relationships = [{ ...told, memory: { relationships: [told] } }];
    expect(body).toEqual({ data: { memory: { relationships } } });
  }

  const lines = String((await ask(`${url}/v1/export?graph=personal`, { key: member.key })).body)
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  const records = (kind: string) =>
    lines.filter(({ record }) => record === kind).map(({ record: _record, ...fields }) => fields);
  const restored = { memories: records("memory"), relationships: records("relationship") };
  await ask(`${url}/v1/memories/restore?graph=personal`, { key: owner.key, body: restored });
  expect(await owner.did(relationship, { id, ...OWN })).toMatchObject(said);
  await member.did(shareMemories, { all: true });
  expect(await owner.did(relationship, { id, graph: "team" })).toMatchObject(said);
  expect((await owner.did(memory, { id: "from", graph: "team" })).relationshipsTotal).toBe(1);
  expect(await miscounted(world)).toEqual([]);
});

it("keeps every field that an update does not name, tried field by field", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [first, second] = [everythingSaidOfLink("one", 0.1), everythingSaidOfLink("another", 0.9)];
  const note = { type: "general", title: "A note", content: "Something." };
  const { relationshipIds } = await ann.did(createMemories, {
    memories: ["from", "to"].map((ref) => ({ ...note, ref })),
    relationships: [{ fromMemoryId: "from", toMemoryId: "to", relationshipType: "CAUSES", ...first }],
  });
  const [id] = relationshipIds;

  for (const [index, name] of LINK_CONTENTS.entries()) {
    const expected = LINK_CONTENTS.map((one, at) => [one, (at <= index ? second : first)[one]]);
    const changed = await ann.did(updateRelationship, { id, [name]: second[name] });
    expect(changed).toMatchObject(Object.fromEntries(expected));
  }
  expect(await miscounted(world)).toEqual([]);
});
