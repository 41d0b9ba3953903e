import { expect, it } from "vitest";
import { createApiKey } from "../../../src/features/access/create-api-key.js";
import { createKeyFor } from "../../../src/features/access/index.js";
import * as accounts from "../../../src/features/accounts/index.js";
import type { Services } from "../../../src/operation/context.js";
import { ROUNDS, manyAtOnce } from "../../support/races.js";
import { createWorld } from "../../support/world.js";

type Change = (services: Services, address: string) => Promise<unknown>;

/** Every change that an operator makes of a user, and its name and detail in the audit. */
const CHANGES: Readonly<Record<string, readonly [action: string, change: Change, detail?: string]>> = {
  setPlan: ["setPlan", (services, address) => accounts.setPlan(services, address, "free"), "plan: pro → free"],
  renameUser: ["renameUser", (services, address) => accounts.renameUser(services, address, "Ann")],
  verifyUser: ["verifyUser", accounts.verifyUser],
  moveUserTo: [
    "changeEmail",
    (services, address) => accounts.moveUserTo(services, address, "new@example.com"),
    "ann@example.com",
  ],
  suspendUser: ["suspendUser", accounts.suspendUser],
  unsuspendUser: ["unsuspendUser", accounts.unsuspendUser],
  revokeKeysOf: ["revokeKeys", accounts.revokeKeysOf, "keys: 1"],
  deleteUserOf: ["deleteUser", accounts.deleteUserOf],
};

it("knows every change of a user by an operator", () => {
  const exported = Object.entries(accounts).flatMap(([name, value]) => (typeof value === "function" ? [name] : []));

  const ofNoUser = ["showUser", "forgetAddress"];
  expect(exported.filter((name) => !ofNoUser.includes(name)).sort()).toEqual(Object.keys(CHANGES).sort());
});

it.each(Object.entries(CHANGES))(
  "records in the audit that an operator did %s",
  async (_name, [action, change, detail = null]) => {
    await using world = await createWorld();
    const ann = await world.user({ email: "ann@example.com" });

    await change(world.services, ann.email);

    const recorded = { action, detail, subject: ann.caller.userId, door: "operator", actorId: null, keyId: null };
    expect(await world.database.models.auditEntry.findMany()).toEqual([expect.objectContaining(recorded)]);
  },
);

it("leaves no key to a thief who makes another one at the same moment", async () => {
  await using world = await createWorld();
  const { services, database } = world;

  for (let round = 0; round < ROUNDS; round++) {
    const ann = await world.user();
    const { userId } = ann.caller;
    await manyAtOnce<unknown>((index) =>
      index === 1
        ? accounts.revokeKeysOf(services, userId)
        : ann.does(createApiKey, { name: `${index}`, scopes: ["memories:read"], expiresAt: null }),
    );

    expect(await database.models.apiKey.count({ where: { userId, revokedAt: null } })).toBe(0);
  }
});

it("says that there is no such user if another command deletes them meanwhile", async () => {
  await using world = await createWorld();
  const { services } = world;
  const createKey: Change = (_, address) => createKeyFor(services, address, "Another");
  // Each beside a deletion.
  const changes = [createKey, ...Object.values(CHANGES).map(([, change]) => change)].flatMap((change) => [
    change,
    accounts.deleteUserOf,
  ]);

  for (let round = 0; round < ROUNDS; round++) {
    const { email } = await world.user();
    const failed: string[] = [];
    await manyAtOnce((index) =>
      (changes[index % changes.length] as Change)(services, email).catch((error: Error) => failed.push(error.message)),
    );

    expect(failed.filter((message) => !/^There is no user | is suspended/.test(message))).toEqual([]);
    await accounts.deleteUserOf(services, "new@example.com").catch(() => {});
  }
});
