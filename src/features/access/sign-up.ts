import { Field, InputType, ObjectType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Marked, TextLength } from "../../operation/bounds.js";
import { spend, spendAsClient } from "../../operation/budget.js";
import { defineOperation } from "../../operation/operation.js";
import { ADDRESS_MAX, emailIn } from "./email.js";
import { askForCode, askerOf } from "./sign-up-code.js";

const { codeMinutes, codeGapSeconds, openCodes, triesPerNetwork, asksPerNetwork, guessesPerNetwork } = LIMITS.signUp;

@InputType({ description: "Who wants to sign up." })
export class SignUpInput {
  @Field(() => String, { description: "The e-mail address, in ASCII; the code is sent there." })
  @Marked("asSent")
  @TextLength(0, ADDRESS_MAX)
  email!: string;
}

@ObjectType({ description: "A code is on its way." })
export class SignUp {
  @Field(() => String, { description: "The address that it goes to, in lower case." })
  email!: string;
}

export const signUp = defineOperation({
  name: "signUp",
  effect: "ownTransactions",
  summary: "Sends a code to an e-mail address. Whoever reads it gets an API key for it.",
  notes:
    `The answer is the same for known and unknown addresses. A code works for ${codeMinutes} minutes, and each ` +
    `network has ${triesPerNetwork} tries. No other code is sent to an address that got one less than ` +
    `${codeGapSeconds} s ago, or that has ${openCodes} open ones: use one of these. A client's network may ask ` +
    `for ${asksPerNetwork.limit} codes and try ${guessesPerNetwork.limit} an hour. Strangers who ask or guess ` +
    "lock nobody out: the longer code in the same mail cannot be guessed, and wrong tries do not end it.",
  input: SignUpInput,
  output: SignUp,
  permission: "public",
  failures: [],
  rest: { method: "POST", path: "/signup", status: 202 },
  example: { input: { email: "bob@example.com" }, output: { email: "bob@example.com" } },
  audit: { none: "Nobody has proven yet who they are." },
  /** The same for an address that is known and for one that is not: nobody can find out who is here. */
  async handle(context, { email: address }) {
    const email = emailIn(address);
    const asker = askerOf(email, context.clientAddress);
    await spendAsClient(context, "sign-up", LIMITS.signUp.asksPerNetwork);
    await spend(context, `sign-up:${asker}`, LIMITS.signUp.asksPerNetworkAndAddress);
    await askForCode(context.database, context.newId(), email, asker);
    return { email };
  },
});
