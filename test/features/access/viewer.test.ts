import { expect, it } from "vitest";
import { viewer } from "../../../src/features/access/viewer.js";
import { createWorld } from "../../support/world.js";

it("shows the key's user and what the key may do", async () => {
  await using world = await createWorld();
  const ann = await world.user({ email: "ann@example.com", plan: "free", scopes: ["memories:read"] });

  const told = await ann.did(viewer);

  expect(told).toMatchObject({ id: ann.caller.userId, email: "ann@example.com", name: null, plan: "free" });
  expect(told.emailVerifiedAt).toBeInstanceOf(Date);
  expect(told.apiKey).toMatchObject({ id: ann.caller.keyId, scopes: ["memories:read"], name: "First key" });
});
