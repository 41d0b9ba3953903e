import { confirmSignUp } from "./confirm-sign-up.js";
import { createApiKey } from "./create-api-key.js";
import { apiKeys } from "./list-api-keys.js";
import { revokeApiKey } from "./revoke-api-key.js";
import { rotateApiKey } from "./rotate-api-key.js";
import { signUp } from "./sign-up.js";
import { viewer } from "./viewer.js";

export { confirmSignUp, revokeApiKey, signUp };
export { callerOf } from "./caller.js";
export { accessChores } from "./chores.js";
export { PlanName } from "./viewer.js";
export { UserError, createKeyFor, createUser } from "./create-user.js";
export { ADDRESS_MAX, emailIn, mailboxOf, normalEmail } from "./email.js";
export { API_KEY_EXAMPLE, ApiKey, toApiKey } from "./api-key.js";
export { Viewer } from "./viewer.js";
export { demoKey } from "./demo-user.js";
export { CODE_MINUTES, type SignUpCode, newSignUpCode } from "./sign-up-code.js";

export const accessOperations = [
  signUp,
  confirmSignUp,
  viewer,
  createApiKey,
  apiKeys,
  revokeApiKey,
  rotateApiKey,
] as const;
