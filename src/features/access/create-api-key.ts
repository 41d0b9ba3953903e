import { Field, InputType } from "type-graphql";
import { Era, NotBlank, Nullable, SetSize, TextLength } from "../../operation/bounds.js";
import { InvalidInput } from "../../operation/failure.js";
import { defineOperation } from "../../operation/operation.js";
import { SCOPES, type Scope } from "../../operation/permission.js";
import {
  API_KEY_EXAMPLE,
  KEYS_MADE,
  NAME_MAX,
  NewApiKey,
  ScopeName,
  ScopeNotHeld,
  TooManyApiKeys,
  assertHeld,
  assertRoomForKey,
  storeNewApiKey,
} from "./api-key.js";
import { earlierEnd, endOfKeyInUse } from "./key-lineage.js";

@InputType({ description: "An API key to create." })
export class CreateApiKeyInput {
  @Field(() => String, { description: "Its name, for example where it is used." })
  @NotBlank()
  @TextLength(1, NAME_MAX)
  name!: string;

  @Field(() => [ScopeName], {
    nullable: true,
    description: "What it may do. By default all scopes of the key in use.",
  })
  @Nullable()
  @SetSize(1, SCOPES.length)
  scopes?: Scope[] | null;

  @Field(() => Date, {
    nullable: true,
    description: "When it expires: by default with the key in use, and never later.",
  })
  @Nullable()
  @Era()
  expiresAt?: Date | null;
}

export const createApiKey = defineOperation({
  name: "createApiKey",
  effect: "transaction",
  summary: "Creates an API key for the caller, with no more scopes than the key in use and no later end.",
  notes:
    "A key ends at the latest with the key that created it (`createdByKey`): revoking a stolen key also ends " +
    "every key that was created with it.",
  input: CreateApiKeyInput,
  output: NewApiKey,
  permission: "keys:write",
  failures: [ScopeNotHeld, TooManyApiKeys],
  limits: [KEYS_MADE],
  rest: { method: "POST", path: "/keys", status: 201 },
  example: {
    input: { name: API_KEY_EXAMPLE.name, scopes: API_KEY_EXAMPLE.scopes, expiresAt: API_KEY_EXAMPLE.expiresAt },
    output: API_KEY_EXAMPLE,
  },
  audit: (_context, _input, { id, scopes }) => ({ teamId: null, subject: id, detail: scopes.join(" ") }),
  async handle(context, { name, scopes, expiresAt }) {
    const { caller, database, newId, now } = context;
    if (expiresAt && expiresAt <= now()) throw InvalidInput.at("expiresAt", "must be in the future");
    const wanted = scopes ?? [...caller.scopes];
    assertHeld(context, wanted);
    await assertRoomForKey(context, caller.userId);
    const makersEnd = await endOfKeyInUse(context);
    const key = {
      id: newId(),
      userId: caller.userId,
      name,
      scopes: [...new Set(wanted)],
      expiresAt: earlierEnd(expiresAt ?? null, makersEnd),
      createdByKey: caller.keyId,
    };
    return storeNewApiKey(database.models, key);
  },
});
