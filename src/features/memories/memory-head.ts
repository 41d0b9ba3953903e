import { Field, ID, ObjectType } from "type-graphql";
import { IdInRest } from "../../operation/output.js";
import type { Memory } from "./memory.js";

/** Id, type and title of the memory that a hit, a step or a node stands for. */
@ObjectType()
export abstract class MemoryHead {
  @Field(() => ID, { description: "The memory's id." })
  @IdInRest
  memoryId!: string;

  @Field(() => String, { description: "The memory's type." })
  type!: string;

  @Field(() => String, { description: "The memory's title." })
  title!: string;
}

/** The head of a memory, and the graph in which to follow its relations. */
export const headOf = ({ id: memoryId, type, title, graphId }: Pick<Memory, "id" | "type" | "title" | "graphId">) => ({
  memoryId,
  type,
  title,
  graphId,
});
