import { Field, InputType } from "type-graphql";
import { type Actor, recordAudit } from "../../operation/audit.js";
import { Marked, TextLength } from "../../operation/bounds.js";
import { timeOf } from "../../operation/clock-statement.js";
import { type Context, within } from "../../operation/context.js";
import { Failure, Unauthorized } from "../../operation/failure.js";
import { queueNotice } from "../../operation/notice.js";
import { defineOperation } from "../../operation/operation.js";
import { UNIQUE_VIOLATION, sqlStateOf } from "../../platform/database/database-errors.js";
import type { User } from "../../platform/prisma/client.js";
import { ADDRESS_MAX, CODE_GUESSES, CodeInvalid, addressForText, emailIn, useCode } from "../access/index.js";
import { noteFormerPayer } from "../billing/index.js";
import { withdrawInvitationTo } from "../teams/index.js";
import { ACCOUNT_EXAMPLE, AccountProfile, toProfile } from "./account-profile.js";
import { lockTeamOf } from "./lock-team-of.js";

@InputType({ description: "The caller's new e-mail address, with the proof that it is theirs." })
export class ChangeEmailInput {
  @Field(() => String, { description: "The new e-mail address, in ASCII." })
  @Marked("asSent")
  @TextLength(0, ADDRESS_MAX)
  email!: string;

  @Field(() => String, { description: "The code that was sent to the new address." })
  @TextLength(1, 100)
  code!: string;
}

export class EmailTaken extends Failure {
  readonly kind = "conflict";
  override readonly reason = "email_taken";

  constructor() {
    super("Another account has this address. Use a key of that account, or delete it first with `deleteAccount`.");
  }
}

export const changeEmail = defineOperation({
  name: "changeEmail",
  // A wrong attempt must be counted, so the refusal must not roll it back.
  effect: "ownTransactions",
  audit: { by: "the handler, in the transaction of the change" },
  summary: "Changes the caller's e-mail address. `signUp` with the new address sends the code for it.",
  notes:
    "Keys, memories and the team stay. Both addresses are told by mail, the old one also of the new one, but not if " +
    "it was never verified. The audit keeps the old address, for the user alone. Invitations to the old address stay: " +
    "only a user with that address can answer them. One to the new address, of the caller's own team, is withdrawn. " +
    "Mails and invoices of the payment provider to a team's owner go to the new address within a few " +
    "minutes, unless another one was set in the customer portal (`openBillingPortal`).",
  input: ChangeEmailInput,
  output: AccountProfile,
  permission: "all",
  failures: [CodeInvalid, EmailTaken],
  limits: [CODE_GUESSES],
  rest: { method: "POST", path: "/users/me/email" },
  example: { input: { email: ACCOUNT_EXAMPLE.email, code: "40961733" }, output: ACCOUNT_EXAMPLE },
  check: (_context, { email }) => void emailIn(email),
  async handle(context, { email: address, code }) {
    const email = emailIn(address);
    try {
      return await useCode(context, email, code, (inner) => moveTo(within(context, inner), email));
    } catch (error) {
      if (sqlStateOf(error) === UNIQUE_VIOLATION) throw new EmailTaken();
      throw error;
    }
  },
});

async function moveTo(context: Context, email: string): Promise<AccountProfile> {
  const { caller } = context;
  const { user, before } = await moveUser(context, { id: caller.userId, email }, caller);
  if (before === email) return toProfile(user);
  // An address that was never verified may belong to a stranger.
  if (caller.emailIsVerified) await notify(context, before, noticeToOld(email));
  await notify(context, email, NOTICE_TO_NEW);
  return toProfile(user);
}

/**
 * Gives a user another address, which counts as verified, and records it. Called in a transaction.
 * @throws Unauthorized for a user who is already deleted, and a unique violation if another user has the address.
 */
export async function moveUser(
  context: Pick<Context, "database" | "newId" | "door">,
  { id, email }: { readonly id: string; readonly email: string },
  actor: Actor,
): Promise<{ readonly user: User; readonly before: string }> {
  const { database } = context;
  const { models } = database;
  // Locks in the order of every change to a team: the team, then the user.
  await lockTeamOf(database, id);
  const data = { emailVerifiedAt: await timeOf(database) };
  const [locked] = await models.user.updateManyAndReturn({ where: { id }, data });
  if (!locked) throw new Unauthorized();
  const { email: before } = locked;
  const user = await models.user.update({ where: { id }, data: { email } });
  const detail = before === email ? undefined : before;
  await recordAudit(context, "changeEmail", { teamId: null, subject: id, detail }, actor);
  if (detail === undefined) return { user, before };
  // Again: until the address was changed, the user could join a team. A member needs no invitation to the team, which
  // would hold a second seat.
  const teamId = await lockTeamOf(database, id);
  if (teamId === undefined) return { user, before };
  await withdrawInvitationTo(database, { teamId, email });
  const isOwner = (await models.team.count({ where: { id: teamId, ownerId: id } })) > 0;
  if (isOwner) await noteFormerPayer(database, teamId, before);
  return { user, before };
}

const notify = ({ database, newId }: Context, email: string, body: string): Promise<void> =>
  queueNotice(database, { id: newId(), email, subject: "The address of your Memory Graph account has changed", body });

const noticeToOld = (
  email: string,
): string => `The address of your Memory Graph account is now ${addressForText(email)}. This address is no longer used.

If this was not you, somebody has one of your API keys. Contact whoever runs this service, so that they revoke your keys and restore your address.`;

const NOTICE_TO_NEW = `This is now the address of your Memory Graph account. Your API keys, memories and team stay as they are.`;
