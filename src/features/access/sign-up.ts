import { Field, InputType, ObjectType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Marked, TextLength } from "../../operation/bounds.js";
import { defineOperation } from "../../operation/operation.js";
import { ADDRESS_MAX, emailIn } from "./email.js";
import { askForCode, askerOf } from "./sign-up-code.js";

const {
  codeMinutes,
  codeGapSeconds,
  openCodes,
  openCodesPerNetwork,
  triesPerNetwork,
  asksPerNetwork,
  asksPerNetworkAndAddress,
} = LIMITS.signUp;

@InputType({ description: "The person who wants to sign up." })
export class SignUpInput {
  @Field(() => String, { description: "The e-mail address, in ASCII; the code is sent there." })
  @Marked("asSent")
  @TextLength(0, ADDRESS_MAX)
  email!: string;
}

@ObjectType({ description: "Confirms that a code is being sent." })
export class SignUp {
  @Field(() => String, { description: "The address to which it is sent, in lower case." })
  email!: string;
}

export const signUp = defineOperation({
  name: "signUp",
  effect: "ownTransactions",
  summary: "Sends a code to an e-mail address. `confirmSignUp` exchanges the code for an API key.",
  notes:
    `The answer is the same for known and unknown addresses. A code is valid for ${codeMinutes} minutes, and each ` +
    `network has ${triesPerNetwork} attempts. No further code is sent if this network requested one less than ` +
    `${codeGapSeconds} s ago or has ${openCodesPerNetwork} valid ones, or if the address has ${openCodes}: use one of ` +
    "these. Strangers cannot lock anybody out: the longer code in the same mail cannot be guessed, and wrong " +
    "attempts do not end it.",
  input: SignUpInput,
  output: SignUp,
  permission: "public",
  failures: [],
  limits: [
    { ...asksPerNetwork, name: "sign-up", of: "codes for one network", by: "network" },
    {
      ...asksPerNetworkAndAddress,
      name: "sign-up-for",
      of: "codes for one address and network",
      by: "input",
      identify: ({ clientAddress }, { email }) => askerOf(emailIn(email), clientAddress),
    },
  ],
  rest: { method: "POST", path: "/signup", status: 202 },
  example: { input: { email: "bob@example.com" }, output: { email: "bob@example.com" } },
  audit: { none: "The address is not verified yet." },
  /** The same for known and unknown addresses, so that nobody can find out who is a user. */
  async handle(context, { email: address }) {
    const email = emailIn(address);
    const asker = askerOf(email, context.clientAddress);
    await askForCode(context.database, context.newId(), email, asker);
    return { email };
  },
});
