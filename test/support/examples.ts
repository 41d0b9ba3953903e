import { apiKeyPrefix, newApiKey } from "../../src/features/access/key-text.js";
import { createMemories } from "../../src/features/bulk/create-memories.js";
import type { Operation } from "../../src/operation/operation.js";
import { sha256 } from "../../src/operation/sha256.js";
import type { StandInStripe } from "../../src/stand-in/stripe/index.js";
import type { Actor, World } from "./world.js";
import { operationNamed } from "./operations.js";

/** The objects of a user, for operations that need them. Each list has the same length for every user. */
export interface Things {
  readonly memories: readonly string[];
  readonly relationships: readonly string[];
  readonly keys: readonly string[];
  /** The team that the user is in, or was invited to. */
  readonly teams: readonly string[];
  /** Members of that team other than the user. */
  readonly users: readonly string[];
  readonly invitations: readonly string[];
  readonly tokens: readonly string[];
  /** Addresses without an account, which `CODE` verifies. */
  readonly addresses: readonly string[];
  /** The user's own address. */
  readonly own: readonly string[];
}

const CODE = "01234567";

/** Who the caller must be for an operation, if not the owner of a team. */
const STANDINGS: Readonly<Record<string, "alone" | "invited" | "member">> = {
  createTeam: "alone",
  acceptInvitation: "invited",
  declineInvitation: "invited",
  leaveTeam: "member",
  deleteAccount: "member",
};

const NEED_SUBSCRIPTION: ReadonlySet<string> = new Set([
  "upgradeTeam",
  "downgradeTeam",
  "teamUpgradePreview",
  "teamInvoices",
  "cancelTeamSubscription",
  "resumeTeamSubscription",
  "openBillingPortal",
]);

/**
 * Creates a team that the user owns, or that another owns if the operation needs that, with two members and two
 * pending invitations. Also three memories in a row with two relationships between them, one memory in the personal
 * graph, and two more keys.
 */
export async function thingsOf(
  world: World & { readonly stripe?: StandInStripe },
  actor: Actor,
  operation?: Operation,
): Promise<Things> {
  const make = makerFor(actor);
  const team = await teamAround(world, actor, STANDINGS[operation?.name ?? ""] ?? "owner");
  if (world.stripe && NEED_SUBSCRIPTION.has(operation?.name ?? "")) {
    const checkout = operationNamed("createTeamCheckout");
    await world.stripe.pay((await actor.did<object, { sessionId?: string }>(checkout)).sessionId ?? "");
  }
  const stored = await actor.did(createMemories, {
    memories: ["One", "Two", "Three"].map((title) => ({
      type: "general",
      title,
      content: `${title} of three.`,
      ref: title,
    })),
    relationships: [
      { fromMemoryId: "One", toMemoryId: "Two", relationshipType: "CAUSES" },
      { fromMemoryId: "Two", toMemoryId: "Three", relationshipType: "SOLVES" },
    ],
  });
  const own = { type: "general", title: "Own", content: "One's own.", graph: "personal" };
  const memories = [...stored.memoryIds, await make("createMemory", own)];
  const keys = await moreKeys(world, actor);
  const addresses = [`${actor.caller.userId}@new.example.com`];
  for (const address of addresses) await world.giveCode(address, CODE);
  return { memories, relationships: stored.relationshipIds, keys, addresses, own: [actor.email], ...team };
}

async function teamAround(world: World, actor: Actor, standing: "owner" | "alone" | "invited" | "member") {
  const owner = standing === "owner" ? actor : await world.user();
  const { userId: ownerId } = owner.caller;
  const teamId = await makerFor(owner)("createTeam", { name: "Team", maxMembers: 50 });
  const { newId } = world.services;
  const [users, invitations] = [
    [newId(), newId()],
    [newId(), newId()],
  ];
  const seated = standing === "member" ? [...users, actor.caller.userId] : users;
  const addresses = [
    `${ownerId}@invited.example.com`,
    standing === "invited" ? actor.email : `${ownerId}@also-invited.example.com`,
  ];
  const token = `token of ${ownerId}`;
  // By SQL: sign-ups and invitations would take fifty statements, in hundreds of tests.
  await world.database.pool.query(
    `WITH person AS (INSERT INTO user_account (id, email, plan, email_verified_at)
                     SELECT id, id || '@example.com', 'pro', now() FROM unnest($1::uuid[]) AS id),
       place AS (INSERT INTO graph (id, user_id) SELECT gen_random_uuid(), id FROM unnest($1::uuid[]) AS id),
       seat AS (INSERT INTO team_member (user_id, team_id, role)
                SELECT id, $3::uuid, 'member' FROM unnest($2::uuid[]) AS id),
       invited AS (INSERT INTO invitation (id, team_id, email, role, invited_by, expires_at)
                   SELECT id, $3, email, 'member', $4, now() + interval '7 days'
                   FROM unnest($5::uuid[], $6::text[]) AS invited(id, email))
     INSERT INTO invitation_token (invitation_id, hash) VALUES ($7, $8)`,
    [users, seated, teamId, ownerId, invitations, addresses, invitations[1], sha256(token)],
  );
  return { teams: [teamId], users, invitations, tokens: [token] };
}

/** Creates two keys with a key of the user. */
async function moreKeys(world: World, { caller }: Actor): Promise<string[]> {
  const keys = [1, 2].map(() => ({ id: world.services.newId(), key: newApiKey() }));
  await world.database.pool.query(
    `INSERT INTO api_key (id, user_id, name, prefix, hash, scopes, created_by_key)
     SELECT id, $1, 'Key', prefix, hash, $5, $6 FROM unnest($2::uuid[], $3::text[], $4::bytea[]) AS made(id, prefix, hash)`,
    [
      caller.userId,
      keys.map(({ id }) => id),
      keys.map(({ key }) => apiKeyPrefix(key)),
      keys.map(({ key }) => sha256(key)),
      caller.scopes,
      caller.keyId,
    ],
  );
  return keys.map(({ id }) => id);
}

function makerFor(actor: Actor): (name: string, input: object) => Promise<string> {
  return async (name, input) => String((await actor.did<object, { id?: string }>(operationNamed(name), input)).id);
}

/** A valid input of the operation for a user with these objects. */
export function exampleInput(
  { name }: Operation,
  { memories, relationships, keys, teams, users, invitations, tokens, addresses, own: [address] }: Things,
): Record<string, unknown> {
  const [memory, , other, personal] = memories;
  const [teamId] = teams;
  const [userId] = users;
  const [invitationId] = invitations;
  const [token] = tokens;
  const [email] = addresses;
  const example = {
    signUp: { email },
    confirmSignUp: { email, code: CODE },
    viewer: {},
    exportAccount: {},
    updateAccount: { name: "Ann" },
    changeEmail: { email, code: CODE },
    deleteAccount: { email: address },
    createApiKey: { name: "CI", scopes: ["memories:read"] },
    apiKeys: {},
    revokeApiKey: { id: keys[0] },
    rotateApiKey: { id: keys[1] },
    createMemory: { type: "solution", title: "Retry with backoff", content: "Wait longer after each failure." },
    putMemory: { type: "solution", title: "Retry", content: "Wait longer.", clientId: "retry" },
    createMemories: {
      memories: [
        { type: "solution", title: "Retry", content: "Wait longer.", ref: "new" },
        { type: "general", title: "Another", content: "Something." },
      ],
      relationships: [{ fromMemoryId: "new", toMemoryId: other, relationshipType: "SOLVES" }],
    },
    deleteMemories: { ids: [memory] },
    exportGraph: {},
    restoreMemories: {
      memories: [
        {
          id: "019bb153-8740-7c2d-8e3f-405162738495",
          type: "general",
          title: "Old",
          content: "Of an export.",
          createdAt: "2026-01-01T00:00:00Z",
          updatedAt: "2026-01-02T00:00:00Z",
        },
      ],
    },
    memory: { id: memory },
    memories: {},
    updateMemory: { id: memory, title: "Another title" },
    deleteMemory: { id: memory },
    memoryVersions: { id: memory },
    searchMemories: { query: "two" },
    relatedMemories: { id: memory },
    createRelationship: { fromMemoryId: memory, toMemoryId: other, relationshipType: "ENABLES" },
    relationship: { id: relationships[0] },
    relationships: { types: ["CAUSES", "SOLVES"] },
    updateRelationship: { id: relationships[0], strength: 0.9 },
    deleteRelationship: { id: relationships[0] },
    relationshipTypes: {},
    recentActivity: {},
    memoryPath: { fromMemoryId: memory, toMemoryId: other },
    memoryGraph: { memoryId: memory },
    graphStatistics: {},
    shareMemories: { ids: [personal] },
    createTeam: { name: "Another", maxMembers: 5 },
    myTeam: {},
    team: { teamId },
    updateTeam: { teamId, name: "Renamed" },
    deleteTeam: { teamId },
    leaveTeam: { teamId },
    transferTeam: { teamId, userId },
    teamAudit: { teamId },
    teamMembers: { teamId },
    updateMemberRole: { teamId, userId, role: "admin" },
    removeMember: { teamId, userId },
    inviteMember: { teamId, email: `carol@${teamId}.example.com`, role: "member" },
    teamInvitations: { teamId },
    resendInvitation: { teamId, invitationId },
    revokeInvitation: { teamId, invitationId },
    invitation: { token },
    invitationById: { invitationId },
    mailInvitation: { invitationId },
    acceptInvitation: { token },
    declineInvitation: { token },
    createTeamCheckout: { successUrl: "https://app.example.com/paid" },
    teamSubscription: {},
    upgradeTeam: { maxMembers: 60 },
    downgradeTeam: { maxMembers: 20 },
    teamUpgradePreview: { maxMembers: 60 },
    cancelTeamSubscription: {},
    resumeTeamSubscription: {},
    openBillingPortal: { returnUrl: "https://app.example.com/billing" },
    teamInvoices: {},
  }[name];
  if (!example) throw new Error(`Give ${name} an example in \`exampleInput\` of test/support/examples.ts.`);
  return example;
}
