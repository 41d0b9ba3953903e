import { Field, InputType } from "type-graphql";
import { CLIENT_ID_MAX } from "../../operation/id.js";
import { TextLength } from "../../operation/bounds.js";
import { defineOperation } from "../../operation/operation.js";
import { changeMemory } from "./change-memory.js";
import { ClientIdForm } from "./common-fields.js";
import { GraphInput, NoTeamGraph, chosenGraphId } from "./graph.js";
import { GraphFull } from "./graph-room.js";
import { insertMemory } from "./insert-memory.js";
import { resolveMemoryIds } from "./resolve-memory-id.js";
import { Memory } from "./memory.js";
import { contentsOf } from "./memory-columns.js";
import { MEMORY_EXAMPLE } from "./memory-example.js";
import { NewMemory, assertHolds } from "./memory-input.js";

@InputType({ description: "A memory to store under a client's own id." })
export class PutMemoryInput extends NewMemory(GraphInput) {
  @Field(() => String, { description: "The client's own id for it, or the `id` of a memory to replace." })
  @ClientIdForm()
  @TextLength(1, CLIENT_ID_MAX)
  clientId!: string;
}

const EXAMPLE = { ...MEMORY_EXAMPLE, clientId: "retry-with-backoff" };
/** Only the answer to a first one has relations, all empty. */
const REPLACED = { ...EXAMPLE, version: 2, updatedAt: new Date("2026-03-03T16:02:11.870Z") };

export const putMemory = defineOperation({
  name: "putMemory",
  effect: "transaction",
  summary: "Stores a memory under a client's own id, or replaces the one that has it.",
  notes:
    "What the input leaves out is set to its default. What was replaced is kept as a version, so `version` is above " +
    "1. A memory that is replaced keeps its own client id.",
  input: PutMemoryInput,
  output: Memory,
  permission: "memories:write",
  failures: [NoTeamGraph, GraphFull],
  rest: { method: "PUT", path: "/v1/memories" },
  example: { input: contentsOf(EXAMPLE) as Partial<PutMemoryInput>, output: REPLACED },
  audit: { none: "The versions of a memory say who changed what and when." },
  async handle(context, input) {
    assertHolds(context, input);
    const graphId = chosenGraphId(context.caller, input);
    const contents = contentsOf(input);
    // A memory that is found keeps its client id: it has this one already, or was named by its `id`.
    const { clientId } = input;
    const { clientId: _had, ...changes } = contents;
    for (;;) {
      const id = (await resolveMemoryIds(context, graphId, [clientId])).get(clientId);
      const place = id && { graphId, id, ...(id !== clientId.toLowerCase() && { clientId }) };
      // Tries again if another request has stored, renamed or deleted it at the same moment: the database decides.
      const stored = place
        ? await changeMemory(context, place, { changes, expectedVersion: null })
        : await insertMemory(context, graphId, contents);
      if (stored) return stored;
    }
  },
});
