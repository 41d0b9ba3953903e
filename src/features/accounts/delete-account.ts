import { Field, InputType } from "type-graphql";
import { Marked, TextLength } from "../../operation/bounds.js";
import { InvalidInput } from "../../operation/failure.js";
import { Deletion, defineOperation } from "../../operation/operation.js";
import { ADDRESS_MAX, normalEmail } from "../access/index.js";
import { OwnerMustTransfer } from "../teams/index.js";
import { deleteUser } from "./delete-user.js";
import { ACCOUNT_EXAMPLE } from "./account-profile.js";

@InputType({ description: "The confirmation that the account is to be deleted." })
export class DeleteAccountInput {
  @Field(() => String, { description: "The caller's e-mail address, so that no account is deleted by mistake." })
  @Marked("asSent")
  @TextLength(0, ADDRESS_MAX)
  email!: string;
}

export const deleteAccount = defineOperation({
  name: "deleteAccount",
  // No result of an Idempotency-Key is kept: results belong to a user, who is deleted here. A repeated request fails to
  // authenticate.
  effect: "ownTransactions",
  audit: { by: "deleteUser, in the transaction that deletes them" },
  summary:
    "Deletes the caller's account permanently: keys, membership, invitations, and their own graph with all its data. " +
    "What they stored in a team's graph stays there. The owner of a team must transfer or delete it first. A mail " +
    "confirms it, if the address is verified.",
  notes:
    "Their id, and those of their keys, stay in what they stored for a team and, for a while, in the audit. " +
    "If the answer is lost, repeat it: 401 for a key that was valid just before means that the account is deleted.",
  input: DeleteAccountInput,
  output: Deletion,
  permission: "all",
  failures: [OwnerMustTransfer],
  rest: { method: "DELETE", path: "/users/me", status: 204, takesBody: true },
  example: { input: { email: ACCOUNT_EXAMPLE.email }, output: { id: ACCOUNT_EXAMPLE.userId } },
  async handle(context, { email }) {
    const { caller } = context;
    if (normalEmail(email) !== caller.email) {
      throw InvalidInput.at("email", "must be the e-mail address of the account to delete");
    }
    const { userId: id, keyId } = caller;
    await deleteUser(context, id, { action: "deleteAccount", actor: { userId: id, keyId }, isTold: true });
    return { id };
  },
});
