import { Field, InputType } from "type-graphql";
import { NotBlank, Nullable, TextLength } from "../../operation/bounds.js";
import { Unauthorized } from "../../operation/failure.js";
import { assertChanges, pickGiven } from "../../operation/input-fields.js";
import { defineOperation } from "../../operation/operation.js";
import { ACCOUNT_EXAMPLE, AccountProfile, toProfile } from "./account-profile.js";

const NAME_MAX = 100;

@InputType({ description: "What to change in the caller's account." })
export class UpdateAccountInput {
  @Field(() => String, {
    nullable: true,
    description: "The new name, which teammates and invited people see; null removes it.",
  })
  @Nullable()
  @NotBlank()
  @TextLength(1, NAME_MAX)
  name?: string | null;
}

export const updateAccount = defineOperation({
  name: "updateAccount",
  effect: "transaction",
  summary: "Changes the caller's name. `changeEmail` changes the address.",
  input: UpdateAccountInput,
  output: AccountProfile,
  permission: "all",
  failures: [],
  rest: { method: "PATCH", path: "/users/me" },
  example: { input: { name: "Ann" }, output: ACCOUNT_EXAMPLE },
  // Without the names, since the audit is kept after the user is deleted.
  audit: (_context, _input, { userId }) => ({ teamId: null, subject: userId }),
  check: (_context, input) => assertChanges(pickGiven<UpdateAccountInput>(["name"], input)),
  async handle({ caller, database }, { name = null }) {
    const where = { id: caller.userId };
    const [user] = await database.models.user.updateManyAndReturn({ where, data: { name } });
    if (!user) throw new Unauthorized();
    return toProfile(user);
  },
});
