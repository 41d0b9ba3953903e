import { Field, ID, InputType, Int, ObjectType } from "type-graphql";
import { MINUTE_MS } from "../../durations.js";
import { LIMITS } from "../../limits.js";
import { Between, Era, Form, Marked, Nested, NotBlank, Nullable, SetSize } from "../../operation/bounds.js";
import { NIL_ID, UUID } from "../../operation/id.js";
import type { Context } from "../../operation/context.js";
import { InvalidInput } from "../../operation/failure.js";
import { defineOperation } from "../../operation/operation.js";
import {
  ClientIdField,
  GraphFull,
  GraphInput,
  MEMORY_EXAMPLE,
  MemoryNotFound,
  NewMemory,
  NoTeamGraph,
  RelationshipTypeForm,
  chosenGraphId,
  chosenTeamId,
  contentsOf,
  linkContentsOf,
  MemoryExists,
} from "../memories/index.js";
import { MUST_DIFFER, RelationshipContents, TooManyRelationships } from "../relationships/index.js";
import { assertItemsFit, costOfStoring } from "./create-memories.js";
import { storeAll } from "./store-all.js";

const { items: ITEMS_MAX } = LIMITS.bulk;
/** A version is a number of 31 bits; this leaves room for more changes than a memory can have. */
const VERSION_MAX = 1_000_000_000;
const NOT_A_UUID = "must be a UUID";
const NO_ID = "must not be the UUID of zeros, which stands for no id";
const AUTHOR =
  "Kept if it is the caller, or a member of the team that the caller owns or administers; else the caller.";

@InputType({ description: "A memory as an export has it." })
export class RestoredMemoryInput extends NewMemory(Object) {
  @Field(() => ID, { description: "The id that it had." })
  @Form(UUID, NOT_A_UUID)
  id!: string;

  @ClientIdField("The client's own id that it had.", NotBlank())
  clientId?: string | null;

  @Field(() => Int, { defaultValue: 1, description: "The version that it was at; earlier ones are not restored." })
  @Between(1, VERSION_MAX)
  version!: number;

  @Field(() => ID, { nullable: true, description: `Who stored it. ${AUTHOR}` })
  @Nullable()
  @Marked("id")
  createdBy?: string | null;

  @Field(() => Date, { description: "When it was stored." })
  @Era()
  createdAt!: Date;

  @Field(() => ID, { nullable: true, description: `Who changed it last. ${AUTHOR}` })
  @Nullable()
  @Marked("id")
  updatedBy?: string | null;

  @Field(() => Date, { description: "When it was last changed." })
  @Era()
  updatedAt!: Date;
}

@InputType({ description: "A relationship as an export has it." })
export class RestoredRelationshipInput extends RelationshipContents(Object) {
  @Field(() => ID, { description: "The id that it had." })
  @Form(UUID, NOT_A_UUID)
  id!: string;

  @Field(() => ID, { description: "The id of the memory it starts from." })
  @Marked("id")
  from!: string;

  @Field(() => ID, { description: "The id of the memory it leads to." })
  @Marked("id")
  to!: string;

  @Field(() => String, { description: "Its type, such as SOLVES." })
  @RelationshipTypeForm()
  type!: string;

  @Field(() => ID, { nullable: true, description: `Who created it. ${AUTHOR}` })
  @Nullable()
  @Marked("id")
  createdBy?: string | null;

  @Field(() => Date, { description: "When it was created." })
  @Era()
  createdAt!: Date;
}

@InputType({ description: "Memories and relationships of an export." })
export class RestoreMemoriesInput extends GraphInput {
  @Field(() => [RestoredMemoryInput], { defaultValue: [], description: "The memories." })
  @SetSize(0, ITEMS_MAX)
  @Nested(RestoredMemoryInput)
  memories!: RestoredMemoryInput[];

  @Field(() => [RestoredRelationshipInput], { defaultValue: [], description: "The relationships." })
  @SetSize(0, ITEMS_MAX)
  @Nested(RestoredRelationshipInput)
  relationships!: RestoredRelationshipInput[];
}

@ObjectType({ description: "What was restored. What was there already stays as it is." })
export class RestoredMemories {
  @Field(() => Int, { description: "How many memories." })
  memories!: number;

  @Field(() => Int, { description: "How many memories were there already." })
  existingMemories!: number;

  @Field(() => Int, { description: "How many relationships." })
  relationships!: number;

  @Field(() => Int, { description: "How many relationships were there already." })
  existingRelationships!: number;
}

export const restoreMemories = defineOperation({
  name: "restoreMemories",
  effect: "transaction",
  summary: `Stores up to ${ITEMS_MAX} memories and relationships as an export has them, with their ids and times.`,
  notes:
    "All of them or none. Of an export leave out the field record, and by GraphQL write its other fields in " +
    "camelCase. Memories come before the relationships between them: in the same call or an earlier one. Whoever may " +
    "store memories may set the times when they were stored and changed, up to now: an import from another program " +
    "uses it, too. Lists are in the order of ids, so such an import makes each id a UUIDv7 of the time of storing. " +
    "Authors are kept only under the conditions of their fields.",
  input: RestoreMemoriesInput,
  output: RestoredMemories,
  permission: "memories:write",
  failures: [MemoryExists, MemoryNotFound, TooManyRelationships, NoTeamGraph, GraphFull],
  rest: { method: "POST", path: "/v1/memories/restore" },
  example: {
    input: {
      memories: [
        {
          id: MEMORY_EXAMPLE.id,
          ...contentsOf(MEMORY_EXAMPLE),
          version: 3,
          createdAt: MEMORY_EXAMPLE.createdAt,
          updatedAt: MEMORY_EXAMPLE.updatedAt,
        },
      ] as RestoredMemoryInput[],
    },
    output: { memories: 1, existingMemories: 0, relationships: 0, existingRelationships: 0 },
  },
  cost: (input) => costOfStoring(input),
  check: assertRestorable,
  audit: ({ caller }, input, { memories, relationships }) => ({
    teamId: chosenTeamId(caller, input),
    subject: null,
    detail: `memories: ${memories}, relationships: ${relationships}`,
  }),
  async handle(context, input) {
    const graphId = chosenGraphId(context.caller, input);
    const authorOf = await findAuthors(context, graphId, input);
    const memories = input.memories.map((memory) => {
      const { version, createdAt, updatedAt } = memory;
      const id = memory.id.toLowerCase();
      const [createdBy, updatedBy] = [authorOf(memory.createdBy), authorOf(memory.updatedBy)];
      return { id, ...contentsOf(memory), version, createdBy, createdAt, updatedBy, updatedAt };
    });
    const links = input.relationships.map((link) => {
      const { from: fromId, to: toId, type, createdAt } = link;
      const [id, createdBy] = [link.id.toLowerCase(), authorOf(link.createdBy)];
      return { id, fromId, toId, type, ...linkContentsOf(link), createdBy, createdAt };
    });
    const stored = await storeAll(context, graphId, memories, links, { keepsExisting: true });
    return {
      memories: memories.length - stored.existingMemories,
      existingMemories: stored.existingMemories,
      relationships: links.length - stored.existing,
      existingRelationships: stored.existing,
    };
  },
});

/** How much the clocks of servers may differ. */
const SKEW_MS = MINUTE_MS;

/**
 * Checks what the bounds of single fields cannot express. Times must not be in the future, nor ids, which are ordered
 * by time.
 */
function assertRestorable({ newId, now }: Context, input: RestoreMemoriesInput): void {
  assertItemsFit(input);
  const { memories, relationships } = input;
  for (const [path, list] of Object.entries({ memories, relationships })) {
    const ids = list.map(({ id }) => id.toLowerCase());
    if (ids.includes(NIL_ID)) throw InvalidInput.at(`${path}.${ids.indexOf(NIL_ID)}.id`, NO_ID);
    if (new Set(ids).size < ids.length) throw InvalidInput.at(path, "two have the same id");
  }
  const [last, latest] = [newId(), now().getTime() + SKEW_MS];
  const isFuture = (time: Date): boolean => time.getTime() > latest;
  const check = (path: string, isWrong: boolean, message: string) => {
    if (isWrong) throw InvalidInput.at(path, message);
  };
  for (const [index, { id, createdAt, updatedAt }] of memories.entries()) {
    check(`memories.${index}.id`, id.toLowerCase() > last, "must be an id of the past");
    check(`memories.${index}.createdAt`, isFuture(createdAt), "must not be in the future");
    check(`memories.${index}.updatedAt`, isFuture(updatedAt), "must not be in the future");
  }
  for (const [index, { id, from, to, createdAt }] of relationships.entries()) {
    check(`relationships.${index}.id`, id.toLowerCase() > last, "must be an id of the past");
    // Malformed ids have become this one: no memory has it, which says more.
    check(`relationships.${index}.to`, from === to && from !== NIL_ID, MUST_DIFFER);
    check(`relationships.${index}.createdAt`, isFuture(createdAt), "must not be in the future");
  }
}

/**
 * Returns a function that tells the author to record: a member of the team, if the team's owner or an admin names one;
 * else the caller.
 */
async function findAuthors(
  { caller, database }: Context,
  graphId: string,
  { memories, relationships }: RestoreMemoriesInput,
): Promise<(author: string | null | undefined) => string> {
  const named = [
    ...memories.flatMap(({ createdBy, updatedBy }) => [createdBy, updatedBy]),
    ...relationships.map(({ createdBy }) => createdBy),
  ].filter((author) => author != null);
  const { team } = caller;
  const runsTeam = team && team.graphId === graphId && team.role !== "member";
  const members = runsTeam
    ? await database.models.teamMember.findMany({
        where: { teamId: team.id, userId: { in: [...new Set(named)] } },
        select: { userId: true },
      })
    : [];
  const known = new Set(members.map(({ userId }) => userId));
  return (author) => (author != null && known.has(author) ? author : caller.userId);
}
