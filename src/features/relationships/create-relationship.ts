import { InputType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import type { Context } from "../../operation/context.js";
import { Failure, InvalidInput } from "../../operation/failure.js";
import { lockRow } from "../../operation/lock-row-statement.js";
import { defineOperation } from "../../operation/operation.js";
import type { Database } from "../../platform/database/database.js";
import {
  GRAPH_FOR_AGENTS,
  GraphFull,
  GraphInput,
  MemoryNotFound,
  NoTeamGraph,
  chosenGraphId,
  isPlanned,
  isTurned,
  resolveEnds,
  relationshipsOfEach,
  linkBytes,
  linkContentsOf,
  settle,
  storeRelationships,
} from "../memories/index.js";
import { RELATIONSHIP_EXAMPLE, Relationship } from "./relationship.js";
import { betterTypeFor } from "../../relationship-types.js";
import { MUST_DIFFER, NewRelationship } from "./relationship-input.js";

const RELATIONSHIPS_MAX = LIMITS.memory.relationships;

@InputType({ description: "A link to create from one memory to another." })
export class CreateRelationshipInput extends NewRelationship(GraphInput) {}

export class RelationshipExists extends Failure {
  static readonly example = new RelationshipExists(RELATIONSHIP_EXAMPLE.id);
  readonly kind = "conflict";
  override readonly reason = "relationship_exists";
  override readonly details: { readonly id: string };

  constructor(id: string) {
    super(
      "These two memories already have a relationship of this type, so there is nothing to do; its id is in the details. " +
        "Change it with `updateRelationship`.",
    );
    this.details = { id };
  }
}

/** Deleting a memory deletes its relationships, too, so their number is limited to what can be deleted in time. */
export class TooManyRelationships extends Failure {
  static readonly example = new TooManyRelationships(RELATIONSHIP_EXAMPLE.to);
  readonly kind = "conflict";
  override readonly reason = "too_many_relationships";
  override readonly details: { readonly id: string; readonly relationships_max: number };

  constructor(id: string) {
    super(
      `A memory has at most ${RELATIONSHIPS_MAX.toLocaleString("en")} relationships, in both directions together. ` +
        "The one with the id in the details has reached this limit. Link another memory. Or delete some of them first, " +
        "with `deleteRelationship`.",
    );
    this.details = { id, relationships_max: RELATIONSHIPS_MAX };
  }
}

export const createRelationship = defineOperation({
  name: "createRelationship",
  effect: "transaction",
  summary: "Links one memory to another.",
  notes:
    `A memory has at most ${RELATIONSHIPS_MAX.toLocaleString("en")} relationships, in both directions together; one ` +
    "more is refused with `too_many_relationships`.",
  input: CreateRelationshipInput,
  output: Relationship,
  permission: "memories:write",
  failures: [MemoryNotFound, RelationshipExists, TooManyRelationships, NoTeamGraph, GraphFull],
  rest: {
    method: "POST",
    path: "/v1/relationships",
    status: 201,
    location: "/v1/relationships/:id",
  },
  mcp: {
    name: "create_relationship",
    description: "Links two memories. It is read from left to right: from SOLVES to.",
    isIdempotent: true,
    inputs: {
      fromMemoryId: "The id of the memory it starts from.",
      toMemoryId: "The id of the memory it leads to.",
      relationshipType:
        "In upper case. Well known: SOLVES, ADDRESSES, INEFFECTIVE_FOR, CAUSES, PREVENTS, REQUIRES, DEPENDS_ON, REPLACES, " +
        "CONTRADICTS, APPLIES_TO, RELATED_TO.",
      strength: "How strong the link is.",
      confidence: "How sure it is.",
      graph: GRAPH_FOR_AGENTS,
    },
  },
  example: {
    input: {
      fromMemoryId: RELATIONSHIP_EXAMPLE.from,
      toMemoryId: RELATIONSHIP_EXAMPLE.to,
      relationshipType: RELATIONSHIP_EXAMPLE.type,
      strength: RELATIONSHIP_EXAMPLE.strength,
      context: RELATIONSHIP_EXAMPLE.context,
    },
    output: RELATIONSHIP_EXAMPLE,
  },
  check({ door }, { relationshipType }) {
    if (door === "mcp") assertFollowed(relationshipType);
  },
  audit: { none: "A relationship stores who created it and when." },
  async handle(context, input) {
    const { caller, database, newId, now } = context;
    const { relationshipType: type } = input;
    const said = linkContentsOf(input);
    const graphId = chosenGraphId(caller, input);
    const [id, createdAt, bytes] = [newId(), now(), linkBytes({ type, ...said })];
    const row = { id, ...said, createdBy: caller.userId, createdAt };
    for (;;) {
      const ends = await findEnds(context, graphId, input);
      const [from, to] = [ends.from.id, ends.to.id];
      const link = { graphId, fromId: from, type, toId: to };
      const full = await findFullEnd(database, link);
      if (context.door === "mcp") {
        assertMayClose(ends, type);
        await assertNotReplaced(database, link);
      }
      if (full === undefined && (await makeLink(database, { ...link, ...row }))) {
        await settle(context, graphId, { bytes });
        const showsEnds = context.door !== "rest" && caller.scopes.has("memories:read");
        const titles = showsEnds && { fromTitle: ends.from.title, toTitle: ends.to.title };
        return { graphId, id, from, to, type, ...said, createdAt, ...titles };
      }
      await refuseExisting(database, link);
      if (full !== undefined) throw new TooManyRelationships(full);
      // The existing relationship, or a memory, was deleted meanwhile, so this tries again.
    }
  },
});

/**
 * Finds the two memories.
 * @throws MemoryNotFound if one of them does not exist; InvalidInput if both are the same.
 */
async function findEnds(context: Context, graphId: string, input: CreateRelationshipInput) {
  const ends = await resolveEnds(context, graphId, input, "relationship");
  if (ends.from.id === ends.to.id) throw InvalidInput.at("toMemoryId", MUST_DIFFER);
  return ends;
}

/**
 * Refuses another name for a well-known type. No view follows it, so a solved problem would stay open, and agents
 * cannot delete the relationship.
 * @throws InvalidInput
 */
function assertFollowed(type: string): void {
  const better = betterTypeFor(type);
  if (!better) return;
  const message = better.isTurned
    ? `reads backwards: swap the two ids, and say ${better.name}`
    : `say ${better.name} instead`;
  throw InvalidInput.at("relationshipType", message);
}

/**
 * Refuses a problem that solves its solution, since it would stay open, and a task that solves a problem, since nobody
 * would look at the problem any more while the task is only planned. Agents cannot delete the relationship.
 * @throws InvalidInput
 */
function assertMayClose(ends: Awaited<ReturnType<typeof findEnds>>, type: string): void {
  const [from, to] = [ends.from.type, ends.to.type];
  if (isTurned(from, type, to)) {
    throw InvalidInput.at("fromMemoryId", `is the ${from}, which the ${to} ${type}: swap the two ids`);
  }
  if (isPlanned(from, type, to)) {
    throw InvalidInput.at("fromMemoryId", `is a ${from}, which may be only planned: ${PLANNED}`);
  }
}

const PLANNED = "say RELATED_TO. If it is done, first change its type to solution by update_memory";

/** How many steps are followed from a memory to those that replace it, and in each how many memories by either name. */
const REPLACING_MAX = { steps: 10, memories: 20 };

/**
 * Refuses a memory that replaces one by which it is replaced, by either name and by way of others, too: readers would be
 * sent round in circles.
 * @throws InvalidInput
 */
async function assertNotReplaced(database: Database, { graphId, fromId, type, toId }: Link): Promise<void> {
  if (type !== "REPLACES" && type !== "DEPRECATED_BY") return;
  // Two agents that say the opposite at the same moment wait for each other here. The lower id, as all locks in order.
  const id = fromId < toId ? fromId : toId;
  await lockRow(database, "memory", { graph_id: graphId, id }, { strength: "NO KEY UPDATE" });
  const [replacing, replaced] = type === "REPLACES" ? [fromId, toId] : [toId, fromId];
  let ids = [replacing];
  for (let step = 0; step < REPLACING_MAX.steps && ids.length > 0; step++) {
    // Asked for by its id, since it may be one of more than are followed.
    const closing = await findReplacing(database, graphId, { replaced: ids, replacing: replaced });
    if (closing.length > 0) {
      throw InvalidInput.at(
        type === "REPLACES" ? "toMemoryId" : "fromMemoryId",
        `REPLACES the other already${step === 0 ? "" : ", by way of others"}. Read them: update the one that is to hold, ` +
          "or delete those that are wrong",
      );
    }
    ids = await findReplacing(database, graphId, { replaced: ids });
  }
}

/** Memories that replace some of these; of them only `replacing`, if it is given. */
async function findReplacing(
  { models: { relationship } }: Database,
  graphId: string,
  { replaced, replacing }: { readonly replaced: readonly string[]; readonly replacing?: string },
): Promise<string[]> {
  const some = { in: [...replaced] };
  const one = replacing === undefined ? {} : { equals: replacing };
  const most = { take: REPLACING_MAX.memories, select: { fromId: true, toId: true } };
  // One after another, since each has its index.
  const by = await relationship.findMany({ where: { graphId, type: "REPLACES", fromId: one, toId: some }, ...most });
  const named = await relationship.findMany({
    where: { graphId, type: "DEPRECATED_BY", fromId: some, toId: one },
    ...most,
  });
  return [...by.map(({ fromId }) => fromId), ...named.map(({ toId }) => toId)];
}

interface Link {
  readonly graphId: string;
  readonly fromId: string;
  readonly type: string;
  readonly toId: string;
}

/** The id of an end that has the maximum number of relationships. Concurrent requests may add slightly more. */
async function findFullEnd(database: Database, { graphId, fromId, toId }: Link): Promise<string | undefined> {
  const counted = await database.run(relationshipsOfEach, { graphId, ids: [fromId, toId] });
  return counted.find(({ count }) => count >= RELATIONSHIPS_MAX)?.id;
}

/** Stores a relationship. False if the memories have one of this type already, or one of them was deleted. */
async function makeLink(database: Database, { graphId, ...link }: Link): Promise<boolean> {
  const made = await database.run(storeRelationships, { graphId, relationships: JSON.stringify([link]) });
  return made.length > 0;
}

/** @throws RelationshipExists */
async function refuseExisting(database: Database, link: Link): Promise<void> {
  const existing = await findLink(database, link);
  if (existing) throw new RelationshipExists(existing.id);
}

const findLink = ({ models }: Database, link: Link) =>
  models.relationship.findUnique({ where: { graphId_fromId_type_toId: link }, select: { id: true } });
