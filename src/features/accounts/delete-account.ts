import { Field, InputType } from "type-graphql";
import { Marked, TextLength } from "../../operation/bounds.js";
import { InvalidInput } from "../../operation/failure.js";
import { Deletion, defineOperation } from "../../operation/operation.js";
import { ADDRESS_MAX, normalEmail } from "../access/index.js";
import { OwnerMustTransfer } from "../teams/index.js";
import { deleteUser } from "./delete-user.js";
import { ACCOUNT_EXAMPLE } from "./export-account.js";

@InputType({ description: "The word of whoever wants to delete their account." })
export class DeleteAccountInput {
  @Field(() => String, { description: "One's own e-mail address, so that no account is deleted by mistake." })
  @Marked("asSent")
  @TextLength(0, ADDRESS_MAX)
  email!: string;
}

export const deleteAccount = defineOperation({
  name: "deleteAccount",
  // A first result is kept for a user, and after this there is none. A repeated request is not authenticated.
  effect: "ownTransactions",
  audit: { by: "deleteUser, in the transaction that deletes them" },
  summary:
    "Deletes the caller's account for good: keys, membership, invitations, and their own graph with all that is in it. " +
    "What they stored in a team's graph stays with the team; the owner of a team transfers or deletes it first.",
  input: DeleteAccountInput,
  output: Deletion,
  permission: "all",
  failures: [OwnerMustTransfer],
  rest: { method: "DELETE", path: "/users/me", status: 204, takesBody: true },
  example: { input: { email: ACCOUNT_EXAMPLE.email }, output: { id: ACCOUNT_EXAMPLE.userId } },
  async handle(context, { email }) {
    const { caller } = context;
    if (normalEmail(email) !== caller.email) {
      throw new InvalidInput([{ path: "email", message: "must be the e-mail address of the account to delete" }]);
    }
    const { userId: id, keyId } = caller;
    await deleteUser(context, { id, email: caller.email }, { action: "deleteAccount", actor: { userId: id, keyId } });
    return { id };
  },
});
