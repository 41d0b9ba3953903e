import { Field, ID, ObjectType, registerEnumType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import type { Plan } from "../../operation/context.js";
import { NoInput, defineOperation } from "../../operation/operation.js";
import { GRAPH_STORAGE_EXAMPLE, GraphStorage, storageOf } from "../memories/index.js";
import { API_KEY_EXAMPLE, ApiKey, toApiKey } from "./api-key.js";

export enum PlanName {
  FREE = "free",
  PRO = "pro",
  TEAM = "team",
}
registerEnumType(PlanName, {
  name: "Plan",
  description: "What a user has paid for. It sets the requests a minute and the maximum size of graphs.",
  valuesConfig: Object.fromEntries(
    Object.entries(PlanName).map(([name, plan]) => [name, { description: planDescription(plan) }]),
  ),
});

function planDescription(plan: Plan): string {
  const { memories, bytes } = LIMITS.storage[plan];
  const number = (value: number) => value.toLocaleString("en");
  return (
    `${number(LIMITS.budgets.requestsByPlan[plan])} requests a minute; ${number(memories)} memories and ` +
    `${number(bytes / 1_000_000)} MB in a graph.`
  );
}

@ObjectType({ description: "The user whose key is in use." })
export class Viewer {
  @Field(() => ID, { description: "The user's id." })
  id!: string;

  @Field(() => String, { description: "The user's e-mail address." })
  email!: string;

  @Field(() => String, { nullable: true, description: "The user's name." })
  name!: string | null;

  @Field(() => Date, { nullable: true, description: "When the address was verified; null if it is not." })
  emailVerifiedAt!: Date | null;

  @Field(() => PlanName, {
    description: "The plan that counts: Team while the user's team pays, otherwise the user's own.",
  })
  plan!: `${PlanName}`;

  @Field(() => Date, { description: "When the user was created." })
  createdAt!: Date;

  @Field(() => ApiKey, { description: "The key in use." })
  apiKey!: ApiKey;

  @Field(() => [GraphStorage], { description: "The size and the limits of the user's own graph and of the team's." })
  storage!: GraphStorage[];
}

export const viewer = defineOperation({
  name: "viewer",
  effect: "reads",
  summary: "Shows the user of the key in use, what the key may do, and how full the graphs are.",
  input: NoInput,
  output: Viewer,
  permission: "any",
  failures: [],
  rest: { method: "GET", path: "/me" },
  example: {
    input: {},
    output: {
      id: "019bb153-8740-7c2d-8e3f-405162738495",
      email: "ann@example.com",
      name: "Ann",
      emailVerifiedAt: new Date("2026-01-12T08:31:20.000Z"),
      plan: "pro",
      createdAt: new Date("2026-01-12T08:30:00.000Z"),
      apiKey: API_KEY_EXAMPLE,
      storage: [GRAPH_STORAGE_EXAMPLE],
    },
  },
  async handle(context) {
    const { caller, database } = context;
    const { user, ...key } = await database.models.apiKey.findUniqueOrThrow({
      where: { id: caller.keyId },
      include: { user: true },
    });
    const { id, email, name, emailVerifiedAt, createdAt } = user;
    return {
      id,
      email,
      name,
      emailVerifiedAt,
      createdAt,
      plan: caller.plan,
      apiKey: toApiKey(key),
      storage: await storageOf(context),
    };
  },
});
