import { expect, it } from "vitest";
import { exportAccount } from "../../../src/features/accounts/export-account.js";
import { setPlan } from "../../../src/features/accounts/index.js";
import { updateAccount } from "../../../src/features/accounts/update-account.js";
import { removeMember } from "../../../src/features/teams/members/remove-member.js";
import { updateMemberRole } from "../../../src/features/teams/members/update-member-role.js";
import { inviteMember } from "../../../src/features/teams/invitations/invite-member.js";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { LIMITS } from "../../../src/limits.js";
import { cursorOf } from "../../../src/operation/page.js";
import { ask } from "../../support/http.js";
import { aLink, aMemory, manyMemories } from "../../support/memories.js";
import { aTeam, anInvitee } from "../../support/teams.js";
import { type Actor, createWorld } from "../../support/world.js";

const LISTS = [
  "keys",
  "invitations_received",
  "invitations_sent",
  "events",
  "memories",
  "versions",
  "relationships",
  "events_by_others",
];
const PERSONAL = { graph: "personal" };

it("contains all data of the caller and nothing of other users, with any page size", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { owner, admin, member, teamId } = await aTeam(world);
  const invitee = await anInvitee(world, { teamId, owner });
  const wished = member.email.replace("@", "@x.");
  await owner.did(inviteMember, { teamId, email: wished, role: "member" });
  await admin.did(inviteMember, { teamId, email: "another@example.com", role: "member" });
  const notes = [];
  for (let index = 0; index < 12; index++) notes.push(await aMemory(owner, { title: `Note ${index}`, ...PERSONAL }));
  const [one, two] = notes;
  for (let index = 0; index < 11; index++) {
    await owner.did(updateMemory, { id: one?.id, content: `Version ${index}`, ...PERSONAL });
  }
  const link = await aLink(owner, one ?? NOWHERE, two ?? NOWHERE, { context: "Why", ...PERSONAL });
  await aMemory(owner, { title: "The team's" });
  const others = [await aMemory(member, PERSONAL), await aMemory(member, { title: "Another's", ...PERSONAL })];
  await member.did(updateMemory, { id: others[0]?.id, content: "Changed", ...PERSONAL });
  await aLink(member, others[0] ?? NOWHERE, others[1] ?? NOWHERE, PERSONAL);

  const whole = await readExport(url, owner, 100);
  const inParts = await readExport(url, owner, 1);

  expect(inParts).toEqual(whole);
  expect(whole["memories"]?.map(({ title }) => title)).toEqual(notes.map(({ title }) => title));
  expect(whole["versions"]).toHaveLength(11);
  expect(whole["versions"]?.[0]).toMatchObject({ memory_id: one?.id, version: 1, content: "Something." });
  expect(whole["relationships"]).toMatchObject([{ id: link.id, from: one?.id, to: two?.id, context: "Why" }]);
  expect(whole["keys"]).toMatchObject([{ id: owner.caller.keyId, name: "First key" }]);
  expect(JSON.stringify(whole["keys"])).not.toMatch(/hash|mg_live_\w{20}/);
  expect(whole["invitations_sent"]?.map(({ email }) => email)).toEqual([invitee.actor.email, wished]);
  expect(whole["invitations_received"]).toEqual([]);
  expect(whole["events"]?.map(({ action }) => action)).toEqual(["createTeam", "inviteMember", "inviteMember"]);
  const { body } = await ask(`${url}/users/me/export`, { key: owner.key });
  expect(body).toMatchObject({
    profile: { id: owner.caller.userId, email: owner.email, plan: "pro", name: null },
    membership: { team_id: teamId, team_name: "Team", role: "owner" },
  });
  expect((await readExport(url, invitee.actor, 10))["invitations_received"]).toMatchObject([
    { id: invitee.invitation.id, status: "pending" },
  ]);
});

it("tells what others did with the caller, without their keys, and nothing that the caller did", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { owner, member, teamId } = await aTeam(world);
  const { userId } = member.caller;
  await member.did(updateAccount, { name: "Bob" });
  await owner.did(updateMemberRole, { teamId, userId, role: "admin" });
  await setPlan(world.services, member.email, "free");
  await owner.did(removeMember, { teamId, userId });

  const whole = await readExport(url, member, 1);

  const byOwner = { subject: userId, actor_id: owner.caller.userId, key_id: null };
  expect(whole["events_by_others"]).toMatchObject([
    { ...byOwner, action: "updateMemberRole", detail: "role: member → admin" },
    { subject: userId, actor_id: null, door: "operator", action: "setPlan", detail: "plan: pro → free" },
    { ...byOwner, action: "removeMember" },
  ]);
  expect(whole["events"]?.map(({ action }) => action)).toEqual(["updateAccount"]);
  expect((await readExport(url, owner, 10))["events_by_others"]).toEqual([]);
});

it("omits invitations to an address that is not verified", async () => {
  await using world = await createWorld();
  const { owner, teamId } = await aTeam(world);
  const { actor } = await anInvitee(world, { teamId, owner });
  await world.database.models.user.update({
    where: { id: actor.caller.userId },
    data: { emailVerifiedAt: null },
  });

  expect((await actor.did(exportAccount)).invitationsReceived).toEqual([]);
});

it("keeps each page within its maximum of bytes, and continues where it ended", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  // Each character takes six bytes in JSON.
  await manyMemories(world, ann, 40, "\u0001".repeat(50_000));
  const sizes: number[] = [];

  const whole = await readExport(url, ann, 100, (text) => sizes.push(text.length));

  expect(whole["memories"]).toHaveLength(40);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(LIMITS.answer.restPageBytes);
  expect(sizes.length).toBe(4);
});

it("refuses other cursors with 400", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key, caller } = await world.user();
  const wrong = ["", "x", "7/", `4/${"-".repeat(36)}/0`, `4/${caller.userId}`, `4/${caller.userId}/x`, caller.userId];

  for (const place of wrong) {
    const cursor = cursorOf("exportAccount", place);
    expect((await ask(`${url}/users/me/export?cursor=${cursor}`, { key })).status, place).toBe(400);
  }
  for (const place of ["9", `9/${caller.userId}/1`, `0/${caller.userId}/7`, `5/${caller.userId}/999999999`]) {
    const cursor = cursorOf("exportAccount", place);
    expect((await ask(`${url}/users/me/export?cursor=${cursor}`, { key })).status, place).toBe(200);
  }
});

const NOWHERE = { id: "" };

type Row = Readonly<Record<string, unknown>>;
interface Page extends Readonly<Record<string, unknown>> {
  readonly next_cursor: string | null;
}

/** All pages, joined. */
async function readExport(url: string, { key }: Actor, limit: number, seen: (text: string) => void = () => {}) {
  const whole: Record<string, Row[]> = Object.fromEntries(LISTS.map((list) => [list, []]));
  for (let cursor: string | null = ""; cursor !== null;) {
    const from = cursor && `&cursor=${cursor}`;
    const { status, body } = await ask(`${url}/users/me/export?limit=${limit}${from}`, { key });
    expect(status).toBe(200);
    const page = body as Page;
    seen(JSON.stringify(page));
    for (const list of LISTS) whole[list]?.push(...(page[list] as Row[]));
    cursor = page.next_cursor;
  }
  return whole;
}
