import { Field, InputType, ObjectType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Marked, TextLength } from "../../operation/bounds.js";
import { spend, spendAsClient } from "../../operation/budget.js";
import { InvalidInput } from "../../operation/failure.js";
import { defineOperation } from "../../operation/operation.js";
import { ADDRESS_MAX, normalEmail } from "./email.js";
import { askForCode, askerOf } from "./sign-up-code.js";

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
  kind: "mutation",
  summary:
    "Sends a code to an e-mail address, with which whoever reads it gets an API key. A code that was sent less than a " +
    "minute ago is not sent again, nor when several are open: each of them works for 15 minutes.",
  input: SignUpInput,
  output: SignUp,
  permission: "public",
  failures: [],
  oneStatement: true,
  rest: { method: "POST", path: "/signup", status: 202 },
  example: { input: { email: "bob@example.com" }, output: { email: "bob@example.com" } },
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

/** @throws InvalidInput when it is no address. */
export function emailIn(address: string): string {
  const email = normalEmail(address);
  if (email === null) throw new InvalidInput([{ path: "email", message: "must be an e-mail address, in ASCII" }]);
  return email;
}
