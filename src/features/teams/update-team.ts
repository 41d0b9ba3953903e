import { Field, InputType, Int } from "type-graphql";
import { tellChanges } from "../../operation/audit.js";
import { Between, NotBlank, TextLength } from "../../operation/bounds.js";
import { Failure, InvalidInput } from "../../operation/failure.js";
import { IdField } from "../../operation/id.js";
import { defineTeamOperation } from "../../operation/operation.js";
import { TeamNotFound } from "../../operation/standing.js";
import { SizeManagedByBilling, accountOf, isLive } from "../billing/index.js";
import { MEMBERS_MAX, NAME_MAX, TEAM_EXAMPLE, Team } from "./team.js";

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
  override readonly details: { readonly memberCount: number };

  constructor(memberCount: number) {
    super(`The team has ${memberCount} members: its size cannot be smaller. Remove some first with \`removeMember\`.`);
    this.details = { memberCount };
  }
}

export const updateTeam = defineTeamOperation({
  name: "updateTeam",
  effect: "transaction",
  summary: "Renames a team, or changes how many members it has room for.",
  notes:
    "Give at least one field to change. A team that pays nothing may have a larger `maxMembers` than it has " +
    "free seats: this is how many seats `createTeamCheckout` buys. The size of a team that pays is changed by " +
    "`upgradeTeam`; to give the size that it has changes nothing and is accepted.",
  input: UpdateTeamInput,
  output: Team,
  permission: "teams:write",
  team: { which: "given", role: "owner" },
  failures: [TooManyMembers, SizeManagedByBilling],
  rest: { method: "PUT", path: "/teams/:team_id" },
  example: { input: { teamId: TEAM_EXAMPLE.id, maxMembers: 8 }, output: { ...TEAM_EXAMPLE, maxMembers: 8 } },
  audit: (_context, _input, { id, name, maxMembers }, { team: before }) => ({
    teamId: id,
    subject: id,
    detail: tellChanges([
      ["name", JSON.stringify(before.name), JSON.stringify(name)],
      ["max_members", before.maxMembers, maxMembers],
    ]),
  }),
  check(_context, { name, maxMembers }) {
    if (name === undefined && maxMembers === undefined) {
      throw new InvalidInput([{ path: "", message: "Give at least one field to change." }]);
    }
  },
  async handle(context, { teamId, name, maxMembers }, { team: { memberCount, maxMembers: seats } }) {
    // Clients that put the whole team back say the size that it has.
    const isResized = maxMembers !== undefined && maxMembers !== seats;
    const isBilled = context.billing.payments !== undefined && isLive(await accountOf(context, teamId));
    if (isResized && isBilled) throw new SizeManagedByBilling();
    if (maxMembers !== undefined && maxMembers < memberCount) throw new TooManyMembers(memberCount);
    const { team } = context.database.models;
    const data = { ...(name !== undefined && { name }), ...(maxMembers !== undefined && { maxMembers }) };
    const [changed] = await team.updateManyAndReturn({ where: { id: teamId }, data });
    if (!changed) throw new TeamNotFound();
    return changed;
  },
});
