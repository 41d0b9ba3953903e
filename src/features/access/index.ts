import { CODE_GUESSES, CodeInvalid, confirmSignUp, createKeyForOwner, useCode } from "./confirm-sign-up.js";
import { createApiKey } from "./create-api-key.js";
import { apiKeys } from "./list-api-keys.js";
import { revokeApiKey } from "./revoke-api-key.js";
import { rotateApiKey } from "./rotate-api-key.js";
import { signUp } from "./sign-up.js";
import { viewer } from "./viewer.js";

export { revokeWithDescendants } from "./key-lineage.js";
export { CODE_GUESSES, CodeInvalid, createKeyForOwner, signUp, useCode };
export { callerOf, callerOfToken, noKeyAtMcp } from "./caller.js";
export { connectClient, endKeyOfClient } from "./connect-client.js";
export { SIGNED_IN_MS, signIn, signOut } from "./sign-in.js";
export { accessChores } from "./chores.js";
export { NoSuchUser, UserError, createKeyFor, createUser, readUser } from "./create-user.js";
export { ADDRESS_MAX, addressForText, emailIn, hasLink, normalEmail } from "./email.js";
export { type PastAddress, cameTo } from "./past-address.js";
export { API_KEY_EXAMPLE, ApiKey, notEnded, toApiKey } from "./api-key.js";
export { PlanName, Viewer } from "./viewer.js";
export { prepareDemoKey } from "./demo-user.js";
export { type SignUpCode, newSignUpCode } from "./sign-up-code.js";

export const accessOperations = [
  signUp,
  confirmSignUp,
  viewer,
  createApiKey,
  apiKeys,
  revokeApiKey,
  rotateApiKey,
] as const;
