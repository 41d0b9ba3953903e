import { Field, ID, InputType, ObjectType } from "type-graphql";
import { recordAudit } from "../../operation/audit.js";
import { LIMITS } from "../../limits.js";
import { Marked, NotBlank, Nullable, TextLength } from "../../operation/bounds.js";
import { spendAsClient } from "../../operation/budget.js";
import { timeOf } from "../../operation/clock-statement.js";
import { type Context, within } from "../../operation/context.js";
import { AccountSuspended, Failure } from "../../operation/failure.js";
import { defineOperation } from "../../operation/operation.js";
import { SCOPES } from "../../operation/permission.js";
import { API_KEY_EXAMPLE, NAME_MAX, NewApiKey, TooManyApiKeys, assertRoomForKey, storeNewApiKey } from "./api-key.js";
import { ADDRESS_MAX, emailIn } from "./email.js";
import { askerOf, isCodeRight, isLongCode, useRightCode } from "./sign-up-code.js";

const { codeMinutes, triesPerNetwork } = LIMITS.signUp;

@InputType({ description: "The proof that an e-mail address is one's own." })
export class ConfirmSignUpInput {
  @Field(() => String, { description: "The e-mail address that the code was sent to." })
  @Marked("asSent")
  @TextLength(0, ADDRESS_MAX)
  email!: string;

  @Field(() => String, { description: "The code from the mail: eight digits, or the longer one." })
  @TextLength(1, 100)
  code!: string;

  @Field(() => String, { nullable: true, description: "What to call the new API key." })
  @Nullable()
  @NotBlank()
  @TextLength(1, NAME_MAX)
  keyName?: string | null;
}

@ObjectType({
  description: "A user whose address is verified, with a new API key. Its secret is shown here and never again.",
})
export class ConfirmedSignUp extends NewApiKey {
  @Field(() => ID, { description: "The user's id." })
  userId!: string;
}

/** Told alike whatever is wrong with it, so that nothing can be learnt of an address. */
export class CodeInvalid extends Failure {
  readonly kind = "bad_request";
  override readonly reason = "code_invalid";

  constructor() {
    super(
      `This code is wrong or has expired. It can be tried ${triesPerNetwork} times within ${codeMinutes} minutes. ` +
        "Use the longer code from the same mail, or ask for another one with `signUp`.",
    );
  }
}

export const confirmSignUp = defineOperation({
  name: "confirmSignUp",
  // A wrong try has to be counted, so the refusal must not take it back.
  effect: "ownTransactions",
  audit: { by: "the handler, as the user who is known only then" },
  summary: "Verifies an e-mail address by the code that was sent there, and makes an API key with every scope.",
  notes: "A new address becomes a user; somebody who is a user already gets another key.",
  input: ConfirmSignUpInput,
  output: ConfirmedSignUp,
  permission: "public",
  failures: [CodeInvalid, TooManyApiKeys, AccountSuspended],
  rest: { method: "POST", path: "/signup/confirm", status: 201 },
  example: {
    input: { email: "bob@example.com", code: "40961733", keyName: "Laptop" },
    output: {
      ...API_KEY_EXAMPLE,
      name: "Laptop",
      scopes: [...SCOPES],
      expiresAt: null,
      createdByKey: null,
      userId: "019bb153-9a51-7d3e-9f40-516273849506",
    },
  },
  async handle(context, { email: address, code, keyName }) {
    const email = emailIn(address);
    if (!isLongCode(code)) await spendAsClient(context, "confirm-sign-up", LIMITS.signUp.guessesPerNetwork);
    const { database, clientAddress } = context;
    if (!(await isCodeRight(database, email, code, askerOf(email, clientAddress)))) throw new CodeInvalid();
    return database.transaction(async (inner) => {
      if (!(await useRightCode(inner, email, code))) throw new CodeInvalid();
      return keyForOwnerOf(within(context, inner), email, keyName ?? "Sign-up");
    });
  },
});

/** The address is proven: makes its user, where there is none yet, and a key that may do everything. */
async function keyForOwnerOf(context: Context, email: string, name: string): Promise<ConfirmedSignUp> {
  const { database, newId } = context;
  const { models } = database;
  // The update changes nothing: it locks whoever was a user already, and they stay what they are.
  const user = await models.user.upsert({
    where: { email },
    create: { id: newId(), email },
    update: { email },
  });
  if (user.suspendedAt) throw new AccountSuspended();
  const unverified = { id: user.id, emailVerifiedAt: null };
  await models.user.updateMany({ where: unverified, data: { emailVerifiedAt: await timeOf(database) } });
  if (!(await models.graph.findUnique({ where: { userId: user.id } }))) {
    await models.graph.create({ data: { id: newId(), userId: user.id, usage: { create: {} } } });
  }
  await assertRoomForKey(context, user.id);
  const wanted = { id: newId(), userId: user.id, name, scopes: SCOPES, expiresAt: null, createdByKey: null };
  const key = await storeNewApiKey(models, wanted);
  await recordAudit(context, "confirmSignUp", { teamId: null, subject: key.id }, { userId: user.id, keyId: key.id });
  return { ...key, userId: user.id };
}
