import { Field, InputType, Int } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Between, Nullable } from "../../operation/bounds.js";
import { isMarked } from "../../operation/class-bounds.js";
import { assertChanges } from "../../operation/input-fields.js";
import { MemoryIdField } from "../../operation/id.js";
import { snakeCase } from "../../operation/names.js";
import { defineOperation } from "../../operation/operation.js";
import { GRAPH_FOR_AGENTS, GraphInput, NoTeamGraph, chosenGraphId } from "./graph.js";
import { GraphFull } from "./graph-room.js";
import { Memory, MemoryNotFound } from "./memory.js";
import { VersionMismatch, changeMemory } from "./change-memory.js";
import { ClientIdExists } from "./client-id-exists.js";
import { withResolvedId } from "./resolve-memory-id.js";
import { CONTENTS, CONTENT_TYPES, changesOf } from "./memory-columns.js";
import { MEMORY_EXAMPLE } from "./memory-example.js";
import { ChangedMemory } from "./memory-input.js";
import { ClientIdField, PROJECT_IN_CONTEXT } from "./common-fields.js";

@InputType({
  description:
    "What to change in a memory. Fields that are left out stay as they are; given ones replace the old values.",
})
export class UpdateMemoryInput extends ChangedMemory(GraphInput) {
  @MemoryIdField("The memory's id, or its client id.")
  id!: string;

  @ClientIdField("A client's own id for it, unique in the graph; null removes it.")
  clientId?: string | null;

  @Field(() => Int, { nullable: true, description: "Refuse the update unless the memory is at this version." })
  @Nullable()
  @Between(1, 2_147_483_647)
  expectedVersion?: number | null;
}

const REMOVABLE = CONTENTS.filter(
  (name) => CONTENT_TYPES[name].endsWith("?") && !isMarked(UpdateMemoryInput, name, "notForAgents"),
);
const EITHER = new Intl.ListFormat("en-GB", { type: "disjunction" });

/** For agents: the door takes null and `""` of most fields as left out, so the call may have named some. */
const HOW_TO_CLEAR =
  ` tags: [] removes all tags; null removes the ${EITHER.format(REMOVABLE.map(snakeCase))}, ` +
  "if nothing else is null. graph says where it is: to move it, store it in the other graph, then delete it here, " +
  "which ends its links.";

export const updateMemory = defineOperation({
  name: "updateMemory",
  effect: "transaction",
  summary: `Changes a memory and keeps what it was: the newest ${LIMITS.memory.versions.toLocaleString("en")} earlier versions.`,
  notes:
    "Give at least one field to change. One more version drops the oldest. A memory whose `expiresAt` is past has " +
    "expired at once.",
  input: UpdateMemoryInput,
  output: Memory,
  permission: "memories:write",
  failures: [MemoryNotFound, VersionMismatch, ClientIdExists, NoTeamGraph, GraphFull],
  rest: { method: "PATCH", alsoMethod: "PUT", path: "/v1/memories/:id" },
  mcp: {
    name: "update_memory",
    description: "Changes a memory that is no longer right or complete. People can still see what it was.",
    inputs: {
      id: "The memory's id.",
      type: "What kind of note it is.",
      content: "The whole new note, which replaces the old one.",
      summary: "The note in a sentence.",
      context: "The whole new context, which replaces the old one.",
      tags: "All its labels; they replace the old ones.",
      importance: "How much it matters.",
      expiresAt: "Until when it holds.",
      expectedVersion: "The version you read: refused if it changed since.",
      graph: GRAPH_FOR_AGENTS,
    },
    instead: PROJECT_IN_CONTEXT,
    // With importance and expiry, since `""` for one of them changes nothing.
    outputs: ["id", "type", "title", "summary", "tags", "importance", "expiresAt", "updatedAt", "version"],
    // Lists show the summary instead of the content, so an old one hides what the content says now.
    hintOf({ summary, expires_at: end, updated_at: at }, given) {
      if (summary !== undefined && "content" in given && !("summary" in given))
        return "The summary is still the old one: update it, too, unless it still fits.";
      return end instanceof Date && at instanceof Date && end <= at
        ? "It has expired already, so searches leave it out: expires_at null lets them find it."
        : undefined;
    },
  },
  example: {
    input: { id: MEMORY_EXAMPLE.id, summary: null, importance: 0.9, expectedVersion: 1 },
    output: {
      ...MEMORY_EXAMPLE,
      summary: null,
      importance: 0.9,
      version: 2,
      updatedAt: new Date("2026-03-03T16:02:11.870Z"),
    },
  },
  audit: { none: "The versions of a memory say who changed what and when." },
  check: ({ door }, input) => assertChanges(changesOf(input), door === "mcp" ? HOW_TO_CLEAR : ""),
  async handle(context, input) {
    const { caller } = context;
    const changes = changesOf(input);
    const { expectedVersion = null } = input;
    const changed = await withResolvedId(context, { graphId: chosenGraphId(caller, input), id: input.id }, (place) =>
      changeMemory(context, place, { changes, expectedVersion }),
    );
    if (!changed) throw new MemoryNotFound();
    return changed;
  },
});
