import type { Mock } from "vitest";
import type { Database } from "../../src/platform/database.js";

/** What a server runs by itself, whatever is asked of it: chores, and noting when a key was last used. */
const BY_ITSELF =
  /^(claim_abandoned_graph|graph_to_count|count_words|mark_key_used)$|^forget_|_mails?$|_invitation_token$/;

/** The names of the statements that were run because of a request. */
export const statementsAsked = ({ mock }: Pick<Mock<Database["run"]>, "mock">): string[] =>
  mock.calls.map(([{ name }]) => name).filter((name) => !BY_ITSELF.test(name));
