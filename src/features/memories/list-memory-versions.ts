import { ArgsType, Field, ID, Int, ObjectType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { MemoryIdField } from "../../operation/id.js";
import { defineOperation } from "../../operation/operation.js";
import { NEXT_CURSOR, Paged, VERSION_PLACE, pageOf, placeOf, readForPage } from "../../operation/page.js";
import { GraphInput, NoTeamGraph, chosenGraphId } from "./graph.js";
import { MemoryNotFound } from "./memory.js";
import { withResolvedId } from "./resolve-memory-id.js";
import { SELECT_CONTENTS } from "./memory-columns.js";
import { ShowsContents } from "./memory-contents.js";
import { MEMORY_EXAMPLE } from "./memory-example.js";

@ArgsType()
export class MemoryVersionsInput extends Paged("memoryVersions", GraphInput, new RegExp(`^${VERSION_PLACE}$`)) {
  @MemoryIdField("The memory's id, or its client id.")
  id!: string;
}

@ObjectType()
abstract class MemoryChange {
  @Field(() => Int, { description: "1 for what was first stored, one more with every update." })
  version!: number;

  @Field(() => ID, { description: "The id of the user who stored or changed it; it stays when that user is deleted." })
  changedBy!: string;

  @Field(() => Date, { description: "When that was." })
  changedAt!: Date;
}

@ObjectType({ description: "What a memory was after a change: who changed it, when, and to what." })
export class MemoryVersion extends ShowsContents(MemoryChange) {}

@ObjectType({ description: "A page of a memory's versions." })
export class MemoryVersionPage {
  @Field(() => [MemoryVersion], { description: "The versions, the present one first." })
  versions!: MemoryVersion[];

  @Field(() => String, { nullable: true, description: NEXT_CURSOR })
  nextCursor!: string | null;
}

export const memoryVersions = defineOperation({
  name: "memoryVersions",
  effect: "reads",
  summary:
    "What a memory is and was: each version with who made it and when, newest first. The newest " +
    `${LIMITS.memory.versions.toLocaleString("en")} earlier versions are kept.`,
  input: MemoryVersionsInput,
  output: MemoryVersionPage,
  isLarge: true,
  permission: "memories:read",
  failures: [MemoryNotFound, NoTeamGraph],
  rest: { method: "GET", path: "/v1/memories/:id/versions" },
  example: {
    input: { id: MEMORY_EXAMPLE.id },
    output: {
      versions: [{ ...MEMORY_EXAMPLE, changedBy: MEMORY_EXAMPLE.createdBy, changedAt: MEMORY_EXAMPLE.updatedAt }],
      nextCursor: null,
    },
  },
  async handle({ caller, database, pause }, input) {
    const graphId = chosenGraphId(caller, input);
    const cursor = placeOf(input.cursor);
    const before = cursor === null ? Infinity : Number(cursor);
    const { memory, memoryVersion } = database.models;
    const found = await withResolvedId({ database }, { graphId, id: input.id }, async ({ id }) => {
      const row = await memory.findUnique({
        where: { graphId_id: { graphId, id } },
        select: { ...SELECT_CONTENTS, id: true, version: true, updatedBy: true, updatedAt: true },
      });
      return row ?? undefined;
    });
    if (!found && cursor === null) throw new MemoryNotFound();
    if (!found) return { versions: [], nextCursor: null };
    const { id: memoryId, updatedBy: changedBy, updatedAt: changedAt, ...contents } = found;
    const present = { ...contents, changedBy, changedAt };
    // Only versions below the present one: an update between the two queries has kept that one as a version, too.
    const earlier = await readForPage<typeof present>(input.limit, (last, take) =>
      memoryVersion.findMany({
        where: { graphId, memoryId, version: { lt: last?.version ?? Math.min(before, present.version) } },
        omit: { graphId: true, memoryId: true },
        orderBy: { version: "desc" },
        take,
      }),
    );
    const rows = present.version < before ? [present, ...earlier] : earlier;
    const { items, nextCursor } = await pageOf({ pause }, rows, input, ({ version }) => String(version));
    return { versions: items, nextCursor };
  },
});
