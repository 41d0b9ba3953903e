import { Field, InputType, ObjectType } from "type-graphql";
import { Marked, TextLength } from "../../operation/bounds.js";
import { HOUR_MS, spend, spendAsClient } from "../../operation/budget.js";
import { InvalidInput } from "../../operation/failure.js";
import { defineOperation } from "../../operation/operation.js";
import type { Statement } from "../../platform/database.js";
import { ADDRESS_MAX, normalEmail } from "./email.js";

/** So that nobody is flooded with mail in our name. */
const MAILS_TO_ADDRESS = { limit: 5, windowMs: HOUR_MS };
const MAILS_FOR_CLIENT = { limit: 30, windowMs: HOUR_MS };

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

const queueMail: Statement = {
  name: "queue_sign_up_mail",
  text: "INSERT INTO mail (id, kind, email) VALUES ($1::uuid, 'sign_up', $2)",
};

export const signUp = defineOperation({
  name: "signUp",
  kind: "mutation",
  summary: "Sends a code to an e-mail address, with which whoever reads it gets an API key.",
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
    await spendAsClient(context, "sign-up", MAILS_FOR_CLIENT);
    await spend(context, `sign-up:${email}`, MAILS_TO_ADDRESS);
    await context.database.run(queueMail, [context.newId(), email]);
    return { email };
  },
});

/** @throws InvalidInput when it is no address. */
export function emailIn(address: string): string {
  const email = normalEmail(address);
  if (email === null) throw new InvalidInput([{ path: "email", message: "must be an e-mail address, in ASCII" }]);
  return email;
}
