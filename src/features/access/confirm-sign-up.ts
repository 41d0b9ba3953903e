import { Field, ID, InputType, ObjectType } from "type-graphql";
import type { AuditAction } from "../../operation/audit-action.js";
import { recordAudit } from "../../operation/audit.js";
import { LIMITS } from "../../limits.js";
import { Marked, NotBlank, Nullable, TextLength } from "../../operation/bounds.js";
import { timeOf } from "../../operation/clock-statement.js";
import { type Context, within } from "../../operation/context.js";
import { AccountSuspended, Failure } from "../../operation/failure.js";
import { defineOperation } from "../../operation/operation.js";
import { SCOPES } from "../../operation/permission.js";
import { type UseLimit, takeUses } from "../../operation/use-limit.js";
import type { Database } from "../../platform/database/database.js";
import {
  API_KEY_EXAMPLE,
  type KeyOptions,
  NAME_MAX,
  NewApiKey,
  TooManyApiKeys,
  TooManyKeysToSignIn,
  assertRoomForKey,
  notEnded,
  storeNewApiKey,
} from "./api-key.js";
import { ADDRESS_MAX, emailIn } from "./email.js";
import { askerOf, isCodeRight, isLongCode, readCode, useRightCode } from "./sign-up-code.js";

const { codeMinutes, triesPerNetwork } = LIMITS.signUp;

@InputType({ description: "The proof that an e-mail address belongs to the caller." })
export class ConfirmSignUpInput {
  @Field(() => String, { description: "The e-mail address that the code was sent to." })
  @Marked("asSent")
  @TextLength(0, ADDRESS_MAX)
  email!: string;

  @Field(() => String, { description: "The code from the mail: the eight digits, or the longer code." })
  @TextLength(1, 100)
  code!: string;

  @Field(() => String, { nullable: true, description: "The name of the new API key." })
  @Nullable()
  @NotBlank()
  @TextLength(1, NAME_MAX)
  keyName?: string | null;
}

@ObjectType({
  description: "A user with a verified address, and a new API key. Its secret is shown only here.",
})
export class ConfirmedSignUp extends NewApiKey {
  @Field(() => ID, { description: "The user's id." })
  userId!: string;
}

/** The message is the same whatever is wrong with the code, so it reveals nothing about the address. */
export class CodeInvalid extends Failure {
  readonly kind = "bad_request";
  override readonly reason = "code_invalid";

  constructor() {
    super(
      `This code is wrong or has expired. A network has ${triesPerNetwork} attempts for a code, ` +
        `which is valid for ${codeMinutes} minutes. Use the longer code from the same mail, or request another one ` +
        "with `signUp`.",
    );
  }
}

/** Attempts with short codes, for every operation that takes one. */
export const CODE_GUESSES: UseLimit<{ readonly code: string }> = {
  ...LIMITS.signUp.guessesPerNetwork,
  name: "confirm-sign-up",
  of: "attempts with short codes from one network",
  by: "network",
  when: ({ code }) => !isLongCode(readCode(code)),
};

export const confirmSignUp = defineOperation({
  name: "confirmSignUp",
  // A wrong attempt must be counted, so the refusal must not roll it back.
  effect: "ownTransactions",
  audit: { by: "the handler, for the user, who is only known there" },
  summary: "Verifies an e-mail address by the code that was sent there, and creates an API key with every scope.",
  notes:
    "Creates a user for a new address; an existing user gets another key. If they have the maximum of keys, the " +
    "connection of a program that was not used for longest ends for it.",
  input: ConfirmSignUpInput,
  output: ConfirmedSignUp,
  permission: "public",
  failures: [CodeInvalid, TooManyKeysToSignIn, AccountSuspended],
  limits: [CODE_GUESSES],
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
    return useCode(context, email, code, (inner) =>
      createKeyForOwner(within(context, inner), email, "confirmSignUp", {
        name: keyName ?? "Sign-up",
        scopes: SCOPES,
        expiresAt: null,
      }),
    );
  },
});

/**
 * Uses up a code that was sent to an address, and runs `work` in the same transaction. A wrong attempt stays counted.
 * @throws CodeInvalid when the code is wrong or has expired.
 */
export async function useCode<Result>(
  { database, clientAddress }: Context,
  email: string,
  text: string,
  work: (inner: Database) => Promise<Result>,
): Promise<Result> {
  const code = readCode(text);
  if (!(await isCodeRight(database, email, code, askerOf(email, clientAddress)))) throw new CodeInvalid();
  return database.transaction(async (inner) => {
    if (!(await useRightCode(inner, email, code))) throw new CodeInvalid();
    return work(inner);
  });
}

/**
 * Exchanges a code from a mail for a key of its address's owner, as `confirmSignUp` does, outside of operations.
 * @throws CodeInvalid, TooManyKeysToSignIn, AccountSuspended, and RateLimited by the limits of `confirmSignUp`.
 */
export async function createKeyByCode(
  context: Context,
  proof: CodeProof,
  action: AuditAction,
  options: KeyOptions,
): Promise<ConfirmedSignUp> {
  await takeUses(context, [CODE_GUESSES], proof);
  const email = emailIn(proof.email);
  return useCode(context, email, proof.code, (inner) =>
    createKeyForOwner(within(context, inner), email, action, options),
  );
}

/** An address, and a code that was sent there. */
export interface CodeProof {
  readonly email: string;
  readonly code: string;
}

/**
 * If the user has the maximum of keys, ends the program's connection that was not used for longest: some programs
 * connect anew whenever they start. Whoever has no key to revoke others with could not sign in any more.
 * @throws TooManyKeysToSignIn when none of the keys is a program's.
 */
async function makeRoomForKey(context: Context, userId: string): Promise<void> {
  const { database, now } = context;
  const { apiKey } = database.models;
  try {
    await assertRoomForKey(context, userId);
  } catch (full) {
    if (!(full instanceof TooManyApiKeys)) throw full;
    const connections = await apiKey.findMany({
      where: { userId, client: { not: null }, ...notEnded(now()) },
      select: { id: true, createdAt: true, lastUsedAt: true },
    });
    const [idle] = connections.toSorted((one, other) => usedAt(one).getTime() - usedAt(other).getTime());
    if (!idle) throw new TooManyKeysToSignIn();
    await revokeOnce(context, idle.id, "disconnectClient");
  }
}

/** Revokes a key, and records it. Does nothing if it is already revoked. Call it in a transaction. */
export async function revokeOnce(
  context: Pick<Context, "database" | "newId" | "now" | "door">,
  keyId: string,
  action: AuditAction,
): Promise<void> {
  const ended = await context.database.models.apiKey.updateManyAndReturn({
    where: { id: keyId, revokedAt: null },
    data: { revokedAt: context.now() },
    select: { userId: true, client: true },
  });
  for (const { userId, client } of ended) {
    const note = { teamId: null, subject: keyId, detail: client ?? undefined };
    await recordAudit(context, action, note, { userId, keyId });
  }
}

const usedAt = ({ lastUsedAt, createdAt }: { lastUsedAt: Date | null; createdAt: Date }): Date =>
  lastUsedAt ?? createdAt;

/**
 * Creates a key for the owner of a verified address, and the user if there is none. Call it in a transaction.
 * @throws AccountSuspended when an operator has suspended the user.
 * @throws TooManyKeysToSignIn when the user has the maximum, and none of the keys is a program's.
 */
export async function createKeyForOwner(
  context: Context,
  email: string,
  action: AuditAction,
  options: KeyOptions,
): Promise<ConfirmedSignUp> {
  const { database, newId } = context;
  const { models } = database;
  // The update changes nothing, but locks an existing user.
  const user = await models.user.upsert({
    where: { email },
    create: { id: newId(), email },
    update: { email },
  });
  if (user.suspendedAt) throw new AccountSuspended();
  const unverified = { id: user.id, emailVerifiedAt: null };
  await models.user.updateMany({ where: unverified, data: { emailVerifiedAt: await timeOf(database) } });
  if (!(await models.graph.findUnique({ where: { userId: user.id } }))) {
    await models.graph.create({ data: { id: newId(), userId: user.id } });
  }
  await makeRoomForKey(context, user.id);
  const key = await storeNewApiKey(models, { ...options, id: newId(), userId: user.id, createdByKey: null });
  const note = { teamId: null, subject: key.id, detail: options.client };
  await recordAudit(context, action, note, { userId: user.id, keyId: key.id });
  return { ...key, userId: user.id };
}
