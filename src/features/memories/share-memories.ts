import { LIMITS } from "../../limits.js";
import { Field, ID, InputType, Int, ObjectType } from "type-graphql";
import { Marked, Nullable, SetSize } from "../../operation/bounds.js";
import type { Context } from "../../operation/context.js";
import { Failure, InvalidInput } from "../../operation/failure.js";
import { defineOperation } from "../../operation/operation.js";
import type { RowOf } from "../../platform/database/statement.js";
import { lockRow } from "../../operation/lock-row-statement.js";
import { NoTeamGraph } from "./graph.js";
import { GraphFull, assertRoom, measure, refuseWithoutRoom, settle } from "./graph-room.js";
import { ClientIdExists, refuseTakenId } from "./client-id-exists.js";
import { MemoryExists } from "./memory-exists.js";
import { countRelationships } from "./count-relationships.js";
import { memoriesByIds, removeMemories } from "./many-statements.js";
import { costOfBytes } from "./memory-columns.js";
import { findExistingIds, resolveEveryId } from "./resolve-memory-id.js";
import { MEMORY_EXAMPLE } from "./memory-example.js";
import { MemoryNotFound } from "./memory.js";
import { copyMemories, copyRelationships } from "./memory-statements.js";

/**
 * How many memories one call moves, all or none, the bytes of their texts, and the relationships: its statements must
 * not take long.
 */
const SHARED_MAX = 2_000;
const { sharedBytes: SHARED_BYTES, relationshipsRemoved: RELATIONSHIPS_MAX, bytesPerRequest } = LIMITS.bulk;
const AT_MOST =
  `At most ${SHARED_MAX.toLocaleString("en")} memories with ${SHARED_BYTES / 1_000_000} MB of texts and ` +
  `${RELATIONSHIPS_MAX.toLocaleString("en")} relationships`;

@InputType({ description: "Which of one's own memories to move into the team's graph: some by their ids, or all." })
export class ShareMemoriesInput {
  @Field(() => [ID], { nullable: true, description: "The memories' ids, or client ids." })
  @Nullable()
  @Marked("memoryId")
  @SetSize(1, SHARED_MAX)
  ids?: string[] | null;

  @Field(() => Boolean, { defaultValue: false, description: "All of them, if one call can move them." })
  all!: boolean;

  @Field(() => Boolean, {
    defaultValue: false,
    description: "Go ahead even if relationships to memories that stay behind are lost.",
  })
  dropRelationships!: boolean;
}

@ObjectType({ description: "What was moved into the team's graph." })
export class SharedMemories {
  @Field(() => Int, { description: "How many memories." })
  memories!: number;

  @Field(() => Int, { description: "How many relationships between them went along." })
  relationships!: number;

  @Field(() => Int, { description: "How many relationships to memories that stayed behind were dropped." })
  droppedRelationships!: number;

  @Field(() => Int, { description: "How many earlier versions of them were dropped: a draft is its author's own." })
  droppedVersions!: number;
}

/** By default searches look in the team's graph, and this operation lets nobody choose another one. */
export class OwnMemoryNotFound extends MemoryNotFound {
  constructor(which = "this id", path?: string) {
    const message = `No memory of your own graph has ${which}. \`searchMemories\` with the personal \`graph\` finds them.`;
    super(which, path, message);
  }
}

export class RelationshipsWouldBeLost extends Failure {
  static readonly example = new RelationshipsWouldBeLost(2);
  readonly kind = "conflict";
  override readonly reason = "relationships_would_be_lost";
  override readonly details: { readonly relationships: number };

  constructor(relationships: number) {
    super(
      `${relationships} relationships lead to memories that would stay behind. Share those as well, or set ` +
        "`dropRelationships`.",
    );
    this.details = { relationships };
  }
}

export class TooManyToShare extends Failure {
  readonly kind = "conflict";
  override readonly reason = "too_many_memories";

  constructor() {
    super(`${AT_MOST} can be shared at once. Share them by their ids, in several requests.`);
  }
}

export const shareMemories = defineOperation({
  name: "shareMemories",
  effect: "transaction",
  summary:
    "Moves memories of the caller's own graph, with their relationships, into the team's. Their earlier versions are dropped.",
  notes: `${AT_MOST}. ${bytesPerRequest / 1_000} kB of the texts count as one request of the rate limit.`,
  input: ShareMemoriesInput,
  output: SharedMemories,
  permission: "memories:write",
  failures: [
    NoTeamGraph,
    OwnMemoryNotFound,
    MemoryExists,
    ClientIdExists,
    RelationshipsWouldBeLost,
    TooManyToShare,
    GraphFull,
  ],
  rest: { method: "POST", path: "/v1/memories/share" },
  example: {
    input: { ids: [MEMORY_EXAMPLE.id] },
    output: { memories: 1, relationships: 0, droppedRelationships: 0, droppedVersions: 2 },
  },
  audit: ({ caller }, _input, { memories, relationships, droppedVersions }) => ({
    teamId: caller.team?.id ?? null,
    subject: caller.team?.graphId ?? null,
    detail: `memories: ${memories}, relationships: ${relationships}, dropped versions: ${droppedVersions}`,
  }),
  check(_context, { ids, all }) {
    if (all === (ids != null)) throw InvalidInput.at("ids", "give either ids or all");
  },
  async handle(context, { ids, dropRelationships: mayDrop }) {
    const { caller, database } = context;
    const { personalGraphId: own, team } = caller;
    if (!team) throw new NoTeamGraph();
    const shared = team.graphId;
    const found = await chooseShared(context, own, ids);
    // Before the lock, too, which is also on the relationships.
    await countShared(context, { graphId: own, ids: found });
    // Locks them: nobody links, changes or deletes one from here on.
    const freed = await measure(context, own, found);
    // A client id that meanwhile belongs to another memory names none of the locked ones.
    if (ids && (await chooseShared(context, own, ids)).some((id) => !found.includes(id))) throw new OwnMemoryNotFound();
    // Another request may have moved or deleted some before they were locked.
    const wanted = freed.memories < found.length ? [...(await findExistingIds(context, own, found))] : found;
    const sharing = { graphId: own, ids: wanted };
    const { all, between } = await countShared(context, sharing);
    const lost = all - between;
    if (lost > 0 && !mayDrop) throw new RelationshipsWouldBeLost(lost);
    // Both graphs may have the same memory if an export was restored into both.
    const [taken] = await findExistingIds(context, shared, wanted);
    if (taken !== undefined) throw new MemoryExists(`The memory ${taken}`);
    const moving = await database.run(memoriesByIds, { ...sharing, clientIds: [] });
    await assertClientIdsFree(context, moving, shared);
    const moved = moving.reduce((sum, each) => sum + each.bytes, 0);
    if (moved > SHARED_BYTES) throw new TooManyToShare();
    // A lower bound: only the written rows tell the exact number of bytes.
    await assertRoom(context, shared, { memories: freed.memories, bytes: moved });
    const cost = costOfBytes(moved);
    if (cost > 1) await context.charge(cost - 1);
    try {
      // Copied, since the team's graph may be on another node. Only the present version: earlier ones may say what the
      // author has taken back.
      const copying = { ...sharing, toGraphId: shared };
      const { length: memories } = await database
        .run(copyMemories, copying)
        .catch((error: unknown) => refuseWithoutRoom(context, shared, error));
      const { length: relationships } = await database.run(copyRelationships, copying);
      await database.run(removeMemories, sharing);
      const { bytes } = await measure(context, shared, wanted);
      await settle(context, own, { memories: -memories, bytes: -freed.bytes });
      await settle(context, shared, { memories, bytes, written: wanted });
      await holdMembership(context, team.id);
      return { memories, relationships, droppedRelationships: lost, droppedVersions: freed.versions };
    } catch (error) {
      refuseTakenId(error);
    }
  },
});

/** @throws TooManyToShare if they have more relationships than one call moves and drops. */
async function countShared({ database }: Context, sharing: { readonly graphId: string; readonly ids: string[] }) {
  const counted = await countRelationships(database, sharing);
  if (counted === null) throw new TooManyToShare();
  return counted;
}

/**
 * Names the first memory whose client id another memory of the team's graph has, as after imports of the same notes.
 * @throws ClientIdExists
 */
async function assertClientIdsFree(
  context: Context,
  moved: ReadonlyArray<RowOf<typeof memoriesByIds>>,
  shared: string,
): Promise<void> {
  const { database } = context;
  const clientIds = moved.flatMap(({ clientId }) => clientId ?? []);
  if (clientIds.length === 0) return;
  const found = await database.run(memoriesByIds, { graphId: shared, ids: [], clientIds });
  const taken = new Set(found.flatMap(({ clientId }) => clientId ?? []));
  const [first] = moved
    .filter(({ clientId }) => clientId !== null && taken.has(clientId))
    .map(({ id }) => id)
    .sort();
  if (first !== undefined) throw new ClientIdExists(first);
}

/**
 * Locks the caller's team until the end, and reads the membership again: memories moved to a team that the caller has
 * left or that was deleted would be lost to them. Called last, since every change of the team and its members waits for
 * this lock, also the caller's removal.
 */
async function holdMembership({ caller: { userId }, database }: Context, teamId: string): Promise<void> {
  await lockRow(database, "team", { id: teamId }, { strength: "KEY SHARE" });
  const membership = await database.models.teamMember.count({ where: { userId, teamId } });
  if (membership === 0) throw new NoTeamGraph();
}

/** The ids of the memories to share: the given ones, or all. */
async function chooseShared(
  context: Context,
  graphId: string,
  ids: readonly string[] | null | undefined,
): Promise<string[]> {
  if (ids) return resolveEveryId(context, graphId, ids, OwnMemoryNotFound);
  const found = await context.database.models.memory.findMany({
    where: { graphId },
    select: { id: true },
    orderBy: { id: "asc" },
    take: SHARED_MAX + 1,
  });
  if (found.length > SHARED_MAX) throw new TooManyToShare();
  return found.map(({ id }) => id);
}
