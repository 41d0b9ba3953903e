import * as access from "./access-moves.js";
import * as accounts from "./account-moves.js";
import * as billing from "./billing-moves.js";
import * as bulk from "./bulk-moves.js";
import * as invitations from "./invitation-moves.js";
import * as memories from "./memory-moves.js";
import type { Move } from "./move.js";
import * as relationships from "./relationship-moves.js";
import * as search from "./search-moves.js";
import * as teams from "./team-moves.js";
import * as views from "./view-moves.js";

/** Moves are exported under the names of their operations; all other exports of these modules are functions. */
const isMove = (entry: [string, unknown]): entry is [string, Move] => typeof entry[1] === "object";

/** How to call every operation, by its name. */
export const moves: ReadonlyMap<string, Move> = new Map(
  [access, accounts, memories, bulk, search, relationships, views, teams, invitations, billing]
    .flatMap((subject): [string, unknown][] => Object.entries(subject))
    .filter(isMove),
);
