import { expect, it } from "vitest";
import { UserError, createKeyFor, createUser } from "../../../src/features/access/create-user.js";
import { SCOPES } from "../../../src/operation/permission.js";
import { opens } from "../../support/keys.js";
import { createWorld } from "../../support/world.js";

const ANN = { email: "ann@example.com", plan: "free", verified: false } as const;

it("creates a user with a graph and a first key with every scope", async () => {
  await using world = await createWorld();

  const { userId, email, apiKey } = await createUser(world.services, { ...ANN, name: "Ann" });

  expect(email).toBe("ann@example.com");
  expect(apiKey.scopes).toEqual(SCOPES);
  expect(await opens(world, apiKey.key)).toBe(true);
  const user = await world.database.models.user.findUniqueOrThrow({ where: { id: userId }, include: { graph: true } });
  expect(user).toMatchObject({ name: "Ann", plan: "free", emailVerifiedAt: null, graph: { userId } });
});

it("ignores the case of an address, and creates one user when twenty requests come at once", async () => {
  await using world = await createWorld();
  const attempts = Array.from({ length: 20 }, (_, index) =>
    createUser(world.services, { ...ANN, email: index % 2 ? "Ann@Example.COM" : ANN.email }),
  );

  const results = await Promise.allSettled(attempts);

  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  for (const result of results) if (result.status === "rejected") expect(result.reason).toBeInstanceOf(UserError);
  expect(await world.database.models.user.count()).toBe(1);
});

it("accepts valid addresses, and converts them to lower case", async () => {
  await using world = await createWorld();
  const addresses = [
    "A+b@X.CO",
    "o'neil@example.com",
    `${"a".repeat(64)}@example.com`,
    `a@${"b".repeat(63)}.com`,
    "a@xn--mnchen-3ya.de",
  ];

  for (const email of addresses) {
    expect((await createUser(world.services, { ...ANN, email })).email).toBe(email.toLowerCase());
  }
});

it("refuses invalid addresses, and those that look like another one", async () => {
  await using world = await createWorld();
  const wrong = [
    "",
    "ann",
    "@example.com",
    "ann@",
    "ann@localhost",
    "ann@@example.com",
    "a@x.co,b@y.co",
    "a@x.co;b@y.co",
    "Ann <a@x.co>",
    "a@x.co\r\nBcc: v@z.co",
    " a@x.co",
    "\u212a@x.co",
    "\u0430nn@example.com",
    "ann@b\u00fccher.example",
    "ann\u200b@example.com",
    `${"a".repeat(65)}@example.com`,
    `a@${"b".repeat(64)}.com`,
    `a@${"bcd.".repeat(63)}com`,
  ];

  for (const email of wrong)
    await expect(createUser(world.services, { ...ANN, email }), email).rejects.toThrow(UserError);
  expect(await world.database.models.user.count()).toBe(0);
});

it("creates another key for an existing user, and for nobody else", async () => {
  await using world = await createWorld();
  const { userId } = await createUser(world.services, ANN);

  const { apiKey, ...user } = await createKeyFor(world.services, "ANN@example.com", "Again");

  expect(user).toEqual({ userId, email: "ann@example.com" });
  expect([apiKey.name, await opens(world, apiKey.key)]).toEqual(["Again", true]);
  await expect(createKeyFor(world.services, "bob@example.com", "Again")).rejects.toThrow(UserError);

  // By the id also if the address is somebody else's by now.
  await world.database.models.user.update({ where: { id: userId }, data: { email: "bea@example.com" } });
  await createUser(world.services, ANN);
  expect(await createKeyFor(world.services, userId, "Again")).toMatchObject({ userId, email: "bea@example.com" });
});

it("records in the audit that an operator made a key, with which one can act as the user", async () => {
  await using world = await createWorld();
  const { userId, apiKey } = await createUser(world.services, ANN);
  const again = await createKeyFor(world.services, ANN.email, "Again");

  const by = { subject: userId, door: "operator", actorId: null, keyId: null };
  expect(await world.database.models.auditEntry.findMany({ orderBy: { id: "asc" } })).toMatchObject([
    { ...by, action: "createUser", detail: `key: ${apiKey.id}` },
    { ...by, action: "createKey", detail: `key: ${again.apiKey.id}` },
  ]);
});
