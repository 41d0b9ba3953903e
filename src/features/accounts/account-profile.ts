import { Field, ID, ObjectType } from "type-graphql";
import { IdInRest } from "../../operation/output.js";
import type { Prisma } from "../../platform/prisma/client.js";
import { PlanName } from "../access/index.js";

@ObjectType({ description: "What the service knows about a user." })
export class AccountProfile {
  @Field(() => ID, { description: "The user's id." })
  @IdInRest
  userId!: string;

  @Field(() => String, { description: "The e-mail address." })
  email!: string;

  @Field(() => String, { nullable: true, description: "The name." })
  name!: string | null;

  @Field(() => Date, { nullable: true, description: "When the address was verified; null if it is not." })
  emailVerifiedAt!: Date | null;

  @Field(() => PlanName, { description: "What the user has paid for." })
  plan!: `${PlanName}`;

  @Field(() => Date, { description: "When the user was created." })
  createdAt!: Date;
}

/** A user as the documentation shows them. */
export const ACCOUNT_EXAMPLE: AccountProfile = {
  userId: "019bb153-8740-7c2d-8e3f-405162738495",
  email: "ann@example.com",
  name: "Ann",
  emailVerifiedAt: new Date("2026-01-12T08:31:20.000Z"),
  plan: "pro",
  createdAt: new Date("2026-01-12T08:30:00.000Z"),
};

type Row = Prisma.UserGetPayload<object>;

export const toProfile = ({ id, email, name, emailVerifiedAt, plan, createdAt }: Row): AccountProfile => ({
  userId: id,
  email,
  name,
  emailVerifiedAt,
  plan,
  createdAt,
});
