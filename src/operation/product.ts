/** What the service is, for somebody who never heard of it: in mails, and on the pages that mails lead to. */
export const PRODUCT =
  "Memory Graph is a shared memory for teams and their AI agents: it stores what they learn, such as problems and " +
  "their solutions, and finds it again.";

/** The path of the page of a team and its billing, to which mails lead. */
export const ACCOUNT_PATH = "/account";
