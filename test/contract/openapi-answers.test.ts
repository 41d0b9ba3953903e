import { describe, expect, it } from "vitest";
import { operations } from "../../src/operations.js";
import { type Operation, methodsOf } from "../../src/operation/operation.js";
import { createMemory } from "../../src/features/memories/create-memory.js";
import { acceptInvitation, declineInvitation } from "../../src/features/teams/invitations/answer-invitation.js";
import { mailInvitation } from "../../src/features/teams/invitations/mail-invitation.js";
import { resendInvitation } from "../../src/features/teams/invitations/resend-invitation.js";
import { revokeInvitation } from "../../src/features/teams/invitations/revoke-invitation.js";
import { worldFor } from "../support/billing.js";
import { exampleInput, thingsOf } from "../support/examples.js";
import { type Answer, ask } from "../support/http.js";
import { methodOf, problemsWith, resolved } from "../support/openapi.js";
import { askRest } from "../support/operations.js";
import { aTeam, anInvitee } from "../support/teams.js";
import { createWorld } from "../support/world.js";

describe.each(operations.map((operation) => [operation.name, operation] as const))(
  "what %s answers",
  (_name, operation) => {
    it("is as documented in body and headers, whether it succeeds or is refused", async () => {
      await using world = await worldFor(operation);
      const { url } = await world.serve();
      const ann = await world.user();
      const input = exampleInput(operation, await thingsOf(world, ann, operation));
      const weak = await world.user({ scopes: [] });
      const { rest } = operation;

      for (const method of methodsOf(rest)) {
        const same = { ...operation, rest: { ...rest, method } };
        const path = url + rest.path.replaceAll(/:\w+/g, "nothing");
        const asked = { method, key: ann.key };
        const answers = [
          // A public operation refuses no key.
          ...(operation.permission === "public" ? [] : [await askRest(url, "none", same, input)]),
          ...(operation.permission === "public" ? [] : [await askRest(url, weak.key, same, input)]),
          await ask(`${path}?unknown=1`, asked),
          await ask(path, { ...asked, headers: { "x-request-id": "not unique" } }),
          ...(rest.path.includes(":")
            ? [await askRest(url, ann.key, same, { ...input, ...idsOfNothing(rest.path) })]
            : []),
          ...(await wrongBodies(path, asked, methodOf(same).requestBody !== undefined)),
          await askRest(url, ann.key, same, input),
        ];
        for (const answer of answers) expect(problemsWith(answer, methodOf(same))).toEqual([]);
        expect(answers.at(-1)?.status).toBe(rest.status ?? 200);
      }
      expect(world.bugs).toEqual([]);
    });
  },
);

it("is as documented where similar memories could not be looked for", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const writer = await world.user({ scopes: ["memories:write"] });

  const answer = await askRest(url, writer.key, createMemory, { ...createMemory.example?.input, similar: true });

  expect(answer).toMatchObject({ status: 201, body: { similar: null } });
  expect(problemsWith(answer, methodOf(createMemory as Operation))).toEqual([]);
});

describe.each(["accepted", "declined", "revoked", "expired"] as const)("an invitation that is %s", (status) => {
  it("is refused with a reason that each operation documents", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const staff = await aTeam(world);
    const { teamId, owner } = staff;
    const { actor, invitation, token } = await anInvitee(world, staff);
    const { id: invitationId } = invitation;
    await world.database.models.invitation.update({
      where: { id: invitationId },
      data: { status, ...(status === "expired" ? { expiresAt: new Date(invitation.createdAt.getTime() + 1) } : {}) },
    });

    const answers = [
      [revokeInvitation, await askRest(url, owner.key, revokeInvitation, { teamId, invitationId })],
      [resendInvitation, await askRest(url, owner.key, resendInvitation, { teamId, invitationId })],
      [mailInvitation, await askRest(url, undefined, mailInvitation, { invitationId })],
      [acceptInvitation, await askRest(url, actor.key, acceptInvitation, { token })],
      [declineInvitation, await askRest(url, actor.key, declineInvitation, { token })],
    ] as const;
    for (const [operation, { status: answered, body }] of answers) {
      const reason = `invitation_${status}`;
      expect([operation.name, answered, body]).toMatchObject([operation.name, 409, { error: { reason } }]);
      const { description, content } = resolved(methodOf(operation).responses["409"] ?? {});
      expect(description).toContain(`- \`${reason}\`: `);
      expect(Object.values(content?.["application/json"].examples ?? {})).toContainEqual({ value: body });
    }
  });
});

/** Bodies that are no JSON, claim another type, or are too large; also where no body is expected. */
async function wrongBodies(
  path: string,
  asked: { method: string; key: string },
  isAskedFor: boolean,
): Promise<Answer[]> {
  return [
    ...(isAskedFor ? [await ask(path, { ...asked, body: "{" })] : []),
    await ask(path, { ...asked, body: "a=b", headers: { "content-type": "application/x-www-form-urlencoded" } }),
    await ask(path, { ...asked, body: `"${"x".repeat(1_048_577)}"`, headers: { "content-type": "application/json" } }),
  ];
}

const idsOfNothing = (path: string): object =>
  Object.fromEntries(Array.from(path.matchAll(/:(\w+)/g), ([, name = ""]) => [camelCase(name), "nothing"]));

const camelCase = (name: string): string => name.replace(/_(\w)/g, (_part, letter: string) => letter.toUpperCase());
