import { defineRelation } from "../../operation/relation.js";
import { Viewer } from "../access/index.js";
import { readOwnTeam } from "./get-team.js";
import { Team } from "./team.js";

export const teamOfViewer = defineRelation<Viewer, Team | null>({
  of: Viewer,
  name: "team",
  to: () => Team,
  description: "The user's team; null for none.",
  permission: "teams:read",
  failures: [],
  follow: async (context) => (context.caller.team ? readOwnTeam(context) : null),
});
