import { Field, Int, ObjectType } from "type-graphql";

@ObjectType({ description: "How many there are of a type." })
export class TypeCount {
  @Field(() => String, { description: "The type." })
  type!: string;

  @Field(() => Int, { description: "How many there are." })
  count!: number;
}
