import { Field, InputType, Int } from "type-graphql";
import { Between, NotBlank, TextLength } from "../../operation/bounds.js";
import { Failure, InvalidInput } from "../../operation/failure.js";
import { IdField } from "../../operation/id.js";
import { defineOperation } from "../../operation/operation.js";
import type { Statement } from "../../platform/database.js";
import { SizeManagedByBilling, accountOf, isLive } from "../subscriptions/index.js";
import {
  MEMBERS_MAX,
  NAME_MAX,
  RoleTooSmall,
  TEAM_COLUMNS,
  TEAM_EXAMPLE,
  Team,
  TeamNotFound,
  lockTeam,
} from "./team.js";

@InputType({ description: "What to change of a team; what is left out stays as it is." })
export class UpdateTeamInput {
  @IdField("The team's id.")
  teamId!: string;

  @Field(() => String, { nullable: true, description: "What to call it." })
  @NotBlank()
  @TextLength(1, NAME_MAX)
  name?: string;

  @Field(() => Int, { nullable: true, description: `How many members it shall have room for: 1 to ${MEMBERS_MAX}.` })
  @Between(1, MEMBERS_MAX)
  maxMembers?: number;
}

export class TooManyMembers extends Failure {
  static readonly example = new TooManyMembers(7);
  readonly kind = "conflict";
  override readonly reason = "too_many_members";
  override readonly details: { readonly member_count: number };

  constructor(memberCount: number) {
    super(`The team has ${memberCount} members: its size cannot be smaller. Remove some first.`);
    this.details = { member_count: memberCount };
  }
}

const changeTeam: Statement = {
  name: "change_team",
  text: `UPDATE team t SET name = coalesce($2, t.name), max_members = coalesce($3::int, t.max_members)
    WHERE t.id = $1::uuid RETURNING ${TEAM_COLUMNS}`,
};

export const updateTeam = defineOperation({
  name: "updateTeam",
  kind: "mutation",
  summary: "Renames a team, or changes how many members it has room for.",
  input: UpdateTeamInput,
  output: Team,
  permission: "teams:write",
  failures: [TeamNotFound, RoleTooSmall, TooManyMembers, SizeManagedByBilling],
  rest: { method: "PUT", path: "/teams/:team_id" },
  example: { input: { teamId: TEAM_EXAMPLE.id, maxMembers: 8 }, output: { ...TEAM_EXAMPLE, maxMembers: 8 } },
  audit: (_context, { name, maxMembers }, team) => ({
    teamId: team.id,
    subject: team.id,
    detail: [name && "name", maxMembers && `max_members: ${maxMembers}`].filter(Boolean).join(", "),
  }),
  async handle(context, { teamId, name, maxMembers }) {
    if (name === undefined && maxMembers === undefined) {
      throw new InvalidInput([{ path: "", message: "Give at least one field to change." }]);
    }
    const { memberCount, maxMembers: seats } = await lockTeam(context, teamId, "owner");
    // Clients that put the whole team back say the size that it has.
    const isResized = maxMembers !== undefined && maxMembers !== seats;
    const isBilled = context.billing.payments !== undefined && isLive(await accountOf(context, teamId));
    if (isResized && isBilled) throw new SizeManagedByBilling();
    if (maxMembers !== undefined && maxMembers < memberCount) throw new TooManyMembers(memberCount);
    const [changed] = await context.database.run<Team>(changeTeam, [teamId, name ?? null, maxMembers ?? null]);
    if (!changed) throw new TeamNotFound();
    return changed;
  },
});
