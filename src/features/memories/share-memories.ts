import { Field, ID, InputType, Int, ObjectType } from "type-graphql";
import { Marked, Nullable, SetSize } from "../../operation/bounds.js";
import type { Context } from "../../operation/context.js";
import { Failure, InvalidInput } from "../../operation/failure.js";
import { defineOperation } from "../../operation/operation.js";
import { FOREIGN_KEY_VIOLATION, type Statement, sqlStateOf } from "../../platform/database.js";
import { NoTeamGraph } from "./graph.js";
import { GraphFull, refuseWithoutRoom, roomIn } from "./graph-room.js";
import { MEMORY_EXAMPLE } from "./memory-example.js";
import { MemoryNotFound } from "./memory.js";

/** How many memories move at once: all of them or none, in one statement that must not take long. */
const SHARED_MAX = 2_000;

@InputType({ description: "Which of one's own memories to move into the team's graph: some by their ids, or all." })
export class ShareMemoriesInput {
  @Field(() => [ID], { nullable: true, description: `The memories' ids, at most ${SHARED_MAX}.` })
  @Nullable()
  @Marked("id")
  @SetSize(1, SHARED_MAX)
  ids?: string[] | null;

  @Field(() => Boolean, { defaultValue: false, description: `All of them, if there are no more than ${SHARED_MAX}.` })
  all!: boolean;

  @Field(() => Boolean, {
    defaultValue: false,
    description: "Go ahead even if relationships to memories that stay behind are lost thereby.",
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
    super(`At most ${SHARED_MAX} memories can be shared at once. Share them by their ids, in several requests.`);
  }
}

/** Whoever changes or deletes the team locks its row, and so waits until the memories have moved. */
const holdTeam: Statement = { name: "hold_team", text: "SELECT id FROM team WHERE id = $1::uuid FOR KEY SHARE" };

const graphOfMember: Statement = {
  name: "graph_of_member",
  text: `SELECT g.id FROM team_member m JOIN graph g ON g.team_id = m.team_id
    WHERE m.user_id = $1::uuid AND m.team_id = $2::uuid`,
};

const wantedMemories: Statement = {
  name: "memories_to_share",
  text: `SELECT id FROM memory WHERE graph_id = $1::uuid AND ($2::uuid[] IS NULL OR id = ANY($2::uuid[]))
    ORDER BY id LIMIT ${SHARED_MAX + 1} FOR UPDATE`,
};

const cutRelationships: Statement = {
  name: "relationships_cut_by_sharing",
  text: `SELECT id FROM relationship
    WHERE graph_id = $1::uuid AND (from_id = ANY($2::uuid[])) <> (to_id = ANY($2::uuid[]))`,
};

const dropRelationships: Statement = {
  name: "drop_relationships",
  text: "DELETE FROM relationship WHERE graph_id = $1::uuid AND id = ANY($2::uuid[])",
};

/** The team gets the present version alone: earlier ones may say what the author has taken back. */
const dropVersions: Statement = {
  name: "drop_versions",
  text: `
    WITH gone AS (
      DELETE FROM memory_version WHERE graph_id = $1::uuid AND memory_id = ANY($2::uuid[]) RETURNING 1
    )
    SELECT count(*)::int AS count FROM gone`,
};

/** Relationships go along: their foreign keys follow the memory's key. */
const moveMemories: Statement = {
  name: "move_memories",
  text: `
    WITH moved AS (
      UPDATE memory SET graph_id = $2::uuid WHERE graph_id = $1::uuid AND id = ANY($3::uuid[]) RETURNING id
    )
    SELECT (SELECT count(*) FROM moved)::int AS memories,
      (SELECT count(*) FROM relationship
        WHERE graph_id = $1::uuid AND from_id = ANY($3::uuid[]) AND to_id = ANY($3::uuid[]))::int AS relationships`,
};

const measureMemories: Statement = {
  name: "measure_memories",
  text: "SELECT bytes::float8 FROM measure_memories($1::uuid, $2::uuid[]) AS bytes",
};

const assertRoom: Statement = {
  name: "assert_graph_has_room",
  text: "SELECT 1 AS done FROM assert_graph_has_room($1::uuid, $2::int, $3::bigint, $4::int, $5::bigint)",
};

const countShared: Statement = {
  name: "count_in_graph",
  text: "SELECT 1 AS done FROM count_in_graph($1::uuid, $2::int, $3::bigint, $4::int, $5::bigint)",
};

const giveBack: Statement = {
  name: "give_back_to_graph",
  text: "SELECT 1 AS done FROM give_back_to_graph($1::uuid, $2::int, $3::bigint)",
};

const learnWords: Statement = {
  name: "learn_words_of_shared",
  text: "SELECT 1 AS done FROM learn_words_of($1::uuid, $2::uuid[])",
};

export const shareMemories = defineOperation({
  name: "shareMemories",
  effect: "transaction",
  summary:
    "Moves memories of the caller's own graph, with their relationships, into the team's. Their earlier versions are dropped.",
  input: ShareMemoriesInput,
  output: SharedMemories,
  permission: "memories:write",
  failures: [NoTeamGraph, MemoryNotFound, RelationshipsWouldBeLost, TooManyToShare, GraphFull],
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
  async handle(context, { ids, all, dropRelationships: mayDrop }) {
    const { caller, database } = context;
    if (!caller.team) throw new NoTeamGraph();
    if (all === (ids != null)) throw new InvalidInput([{ path: "ids", message: "give either ids or all" }]);
    // Read anew: into the graph of a team that is left or deleted by now, memories would move to be lost.
    await database.run(holdTeam, [caller.team.id]);
    const [shared] = await database.run<{ id: string }>(graphOfMember, [caller.userId, caller.team.id]);
    if (!shared) throw new NoTeamGraph();
    const own = caller.personalGraphId;
    const distinct = ids && [...new Set(ids)];
    const rows = await database.run<{ id: string }>(wantedMemories, [own, distinct ?? null]);
    if (rows.length > SHARED_MAX) throw new TooManyToShare();
    if (distinct && rows.length < distinct.length) throw new MemoryNotFound();
    const wanted = rows.map(({ id }) => id);
    const cut = await database.run<{ id: string }>(cutRelationships, [own, wanted]);
    if (cut.length > 0 && !mayDrop) throw new RelationshipsWouldBeLost(cut.length);
    const freed = await bytesOf(context, own, wanted);
    const room = roomIn(context, shared.id);
    try {
      await database.run(assertRoom, [shared.id, wanted.length, 0, ...room]);
      await database.run(dropRelationships, [own, cut.map(({ id }) => id)]);
      const [versions] = await database.run<{ count: number }>(dropVersions, [own, wanted]);
      const [moved] = await database.run<Moved>(moveMemories, [own, shared.id, wanted]);
      await database.run(learnWords, [shared.id, wanted]);
      // Counted last: whoever stores in the same graph waits for this until the end.
      await database.run(giveBack, [own, wanted.length, freed]);
      await database.run(countShared, [shared.id, wanted.length, await bytesOf(context, shared.id, wanted), ...room]);
      const dropped = { droppedRelationships: cut.length, droppedVersions: versions?.count ?? 0 };
      return { memories: 0, relationships: 0, ...moved, ...dropped };
    } catch (error) {
      // A relationship was made meanwhile to what stays behind: the database keeps graphs apart.
      if (sqlStateOf(error) === FOREIGN_KEY_VIOLATION) throw new RelationshipsWouldBeLost(1);
      return refuseWithoutRoom(context, shared.id, error);
    }
  },
});

interface Moved {
  readonly memories: number;
  readonly relationships: number;
}

/** What memories take in a graph with all that hangs on them. */
async function bytesOf({ database }: Context, graphId: string, ids: readonly string[]): Promise<number> {
  const [measured] = await database.run<{ bytes: number }>(measureMemories, [graphId, ids]);
  return measured?.bytes ?? 0;
}
