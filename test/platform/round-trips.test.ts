import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { expect, it } from "vitest";
import { callerOf } from "../../src/features/access/caller.js";
import { createMemory } from "../../src/features/memories/create-memory.js";
import { memory } from "../../src/features/memories/get-memory.js";
import {
  type CreateRelationshipInput,
  createRelationship,
} from "../../src/features/relationships/create-relationship.js";
import { contextOf, createServices } from "../../src/operation/context.js";
import { execute } from "../../src/operation/execute.js";
import { inputReader, inputTypeOf } from "../../src/operation/input.js";
import type { Operation } from "../../src/operation/operation.js";
import { DatabaseShares } from "../../src/operation/shares.js";
import { graphqlSchema } from "../../src/operations.js";
import { openDatabase } from "../../src/platform/database.js";
import { PATIENT } from "../support/patience.js";
import { createWorld } from "../support/world.js";

/** A proxy that counts how often the client sends something and then waits for an answer. */
async function startCounter(target: string) {
  const { hostname, port } = new URL(target);
  let trips = 0;
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    let isAnswered = true;
    near.on("data", (bytes) => {
      if (isAnswered) trips++;
      isAnswered = false;
      far.write(bytes);
    });
    far.on("data", (bytes) => {
      isAnswered = true;
      near.write(bytes);
    });
    for (const socket of [near, far]) socket.on("error", () => {}).on("close", () => (near.destroy(), far.destroy()));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(target);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    async during(work: () => Promise<unknown>): Promise<number> {
      const before = trips;
      await work();
      return trips - before;
    },
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

it("asks the database seldom: whose key it is, then one statement, or a transaction without a wait for its begin", async () => {
  await using world = await createWorld();
  await using counter = await startCounter(world.databaseUrl);
  await using database = openDatabase(counter.url, () => {}, PATIENT);
  const services = createServices({ ...world.services, database, shares: new DatabaseShares(database) });
  const { key } = await world.user();
  const request = async (idempotencyKey?: string) => {
    const caller = await callerOf(`Bearer ${key}`, database);
    const idempotency = idempotencyKey === undefined ? undefined : { key: idempotencyKey, part: "", request: "same" };
    return contextOf(services, {
      caller,
      door: "rest",
      clientAddress: "127.0.0.1",
      ...(idempotency && { idempotency }),
    });
  };
  const read = inputReader(inputTypeOf(await graphqlSchema(), createMemory as Operation), createMemory);
  const input = read({ path: {}, query: {}, body: { type: "general", title: "A note", content: "Something." } });
  const create = async (idempotencyKey?: string) => execute(createMemory, await request(idempotencyKey), input);
  const link = async (from: string, to: string) => {
    const ends = { fromMemoryId: from, toMemoryId: to, relationshipType: "SOLVES", strength: 1, confidence: 1 };
    return execute(createRelationship, await request(), ends as CreateRelationshipInput);
  };
  const { id } = await create();
  const other = await create("connects and prepares");
  await link(id, other.id);

  expect(await counter.during(async () => execute(memory, await request(), { id }))).toBe(2);
  expect(await counter.during(() => create())).toBe(2);
  expect(await counter.during(() => create("new"))).toBe(5);
  expect(await counter.during(() => create("new"))).toBe(3);
  expect(await counter.during(() => link(other.id, id))).toBe(9);
});
