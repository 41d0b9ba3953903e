import { Field, InputType, Int } from "type-graphql";
import { Between, NotBlank, TextLength } from "../../operation/bounds.js";
import { Failure } from "../../operation/failure.js";
import { assertChanges } from "../../operation/input-fields.js";
import { IdField } from "../../operation/id.js";
import { defineTeamOperation } from "../../operation/operation.js";
import { TeamNotFound } from "../../operation/standing.js";
import {
  PaymentProviderError,
  SizeManagedByBilling,
  accountOf,
  assertNoSmallerCheckout,
  isLive,
  withdrawSmallerCheckout,
} from "../billing/index.js";
import { countPending } from "./invitations/pending.js";
import { changedSettingsOf, tellSettings } from "./team-settings.js";
import { MEMBERS_MAX, NAME_MAX, TEAM_EXAMPLE, Team } from "./team.js";

@InputType({ description: "What to change in a team; absent fields stay as they are." })
export class UpdateTeamInput {
  @IdField("The team's id.")
  teamId!: string;

  @Field(() => String, { nullable: true, description: "The new name." })
  @NotBlank()
  @TextLength(1, NAME_MAX)
  name?: string;

  @Field(() => Int, { nullable: true, description: `The new maximum number of members: 1 to ${MEMBERS_MAX}.` })
  @Between(1, MEMBERS_MAX)
  maxMembers?: number;
}

export class TooManyMembers extends Failure {
  static readonly example = new TooManyMembers(7, 2);
  readonly kind = "conflict";
  override readonly reason = "too_many_members";
  override readonly details: { readonly memberCount: number; readonly pendingInvitations: number };

  constructor(memberCount: number, pendingInvitations: number) {
    super(
      `Members and pending invitations take ${memberCount + pendingInvitations} seats. Choose at least as many, or ` +
        "first remove members with `removeMember` or revoke invitations with `revokeInvitation`.",
    );
    this.details = { memberCount, pendingInvitations };
  }
}

export const updateTeam = defineTeamOperation({
  name: "updateTeam",
  effect: "transaction",
  summary: "Renames a team, or changes its maximum number of members.",
  notes:
    "Give at least one field to change. For a team without a subscription, `maxMembers` may exceed the number of " +
    "free seats: it is the number of seats that `createTeamCheckout` buys. An open checkout for fewer seats than the " +
    "new size is withdrawn. A team with a subscription changes its size with `upgradeTeam` and `downgradeTeam`; here " +
    "only its present size is accepted.",
  input: UpdateTeamInput,
  output: Team,
  permission: "teams:write",
  team: { which: "given", role: "owner" },
  failures: [TooManyMembers, SizeManagedByBilling, PaymentProviderError],
  rest: { method: "PUT", path: "/teams/:team_id" },
  example: { input: { teamId: TEAM_EXAMPLE.id, maxMembers: 8 }, output: { ...TEAM_EXAMPLE, maxMembers: 8 } },
  audit: (_context, _input, changed, { team: before }) => ({
    teamId: changed.id,
    subject: changed.id,
    detail: tellSettings(before, changed),
  }),
  check: (_context, input) => assertChanges(changedSettingsOf(input)),
  async prepare(context, { teamId, maxMembers }, { team }) {
    if (maxMembers !== undefined && maxMembers > team.maxMembers)
      await withdrawSmallerCheckout(context, teamId, maxMembers);
  },
  async handle(context, input, { team: { memberCount, maxMembers: seats } }) {
    const { teamId, maxMembers } = input;
    // Clients may send the whole team back, with its present size: that is no change.
    const isResized = maxMembers !== undefined && maxMembers !== seats;
    if (isResized) {
      const account = await accountOf(context, teamId);
      if (context.billing.payments && isLive(account)) throw new SizeManagedByBilling();
      if (maxMembers > seats) assertNoSmallerCheckout(context, account, maxMembers);
      const pending = await countPending(context.database, { teamId });
      if (maxMembers < memberCount + pending) throw new TooManyMembers(memberCount, pending);
    }
    const { team } = context.database.models;
    const [changed] = await team.updateManyAndReturn({ where: { id: teamId }, data: changedSettingsOf(input) });
    if (!changed) throw new TeamNotFound();
    return changed;
  },
});
