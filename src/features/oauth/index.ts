export { oauthChores } from "./chores.js";
export { OAuthRecords } from "./records.js";
