import { ArgsType, Field, Float, ID, Int, ObjectType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { IdField } from "../../operation/id.js";
import { defineOperation } from "../../operation/operation.js";
import { NEXT_CURSOR, Paged, pageOf, placeOf } from "../../operation/page.js";
import type { Statement } from "../../platform/database.js";
import { GraphInput, NoTeamGraph, chosenGraphId } from "./graph.js";
import { MemoryNotFound, TYPE_DESCRIPTION } from "./memory.js";
import { MEMORY_EXAMPLE } from "./memory-example.js";

@ArgsType()
export class MemoryVersionsInput extends Paged(GraphInput) {
  @IdField("The memory's id.")
  id!: string;
}

@ObjectType({ description: "What a memory was after a change: who changed it, when, and to what." })
export class MemoryVersion {
  @Field(() => Int, { description: "1 for what was first stored, one more with every update." })
  version!: number;

  @Field(() => ID, { description: "The id of the user who stored or changed it; it stays when that user is deleted." })
  changedBy!: string;

  @Field(() => Date, { description: "When." })
  changedAt!: Date;

  @Field(() => String, { description: TYPE_DESCRIPTION })
  type!: string;

  @Field(() => String, { description: "The title it had." })
  title!: string;

  @Field(() => String, { description: "The note it was." })
  content!: string;

  @Field(() => String, { nullable: true, description: "The summary it had." })
  summary!: string | null;

  @Field(() => [String], { description: "The labels it had." })
  tags!: string[];

  @Field(() => Float, { description: "How much it mattered, from 0 to 1." })
  importance!: number;
}

@ObjectType({ description: "A page of a memory's versions." })
export class MemoryVersionPage {
  @Field(() => [MemoryVersion], { description: "The versions, the present one first." })
  versions!: MemoryVersion[];

  @Field(() => String, { nullable: true, description: NEXT_CURSOR })
  nextCursor!: string | null;
}

const COLUMNS = `version, type, title, content, summary, tags, importance`;

const versionsOfMemory: Statement = {
  name: "versions_of_memory",
  text: `
    WITH present AS (SELECT * FROM memory WHERE graph_id = $1 AND id = $2)
    SELECT ${COLUMNS}, "changedBy", "changedAt" FROM (
      SELECT ${COLUMNS}, updated_by AS "changedBy", updated_at AS "changedAt" FROM present
      UNION ALL
      SELECT ${COLUMNS}, changed_by, changed_at FROM memory_version WHERE graph_id = $1 AND memory_id = $2
    ) versions
    WHERE version < coalesce($3::int, 2147483647) ORDER BY version DESC LIMIT $4`,
};

export const memoryVersions = defineOperation({
  name: "memoryVersions",
  effect: "reads",
  summary:
    "What a memory is and was: each version with who made it and when, newest first. The newest " +
    `${LIMITS.memory.versions.toLocaleString("en")} earlier versions are kept.`,
  input: MemoryVersionsInput,
  output: MemoryVersionPage,
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
  async handle({ caller, database }, input) {
    const before = placeOf(input.cursor, /^\d{1,9}$/);
    const values = [chosenGraphId(caller, input), input.id, before, input.limit + 1];
    const rows = await database.run<MemoryVersion>(versionsOfMemory, values);
    // Every memory has its present version, so an empty first page means that there is no such memory.
    if (rows.length === 0 && before === null) throw new MemoryNotFound();
    const { items, nextCursor } = pageOf(rows, input.limit, ({ version }) => String(version));
    return { versions: items, nextCursor };
  },
});
