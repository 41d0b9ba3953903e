import { Ctx, FieldResolver, Resolver } from "type-graphql";
import type { Context } from "../../operation/context.js";
import { requireScope } from "../../operation/execute.js";
import { Viewer } from "../access/index.js";
import { ownTeam } from "./get-team.js";
import { Team } from "./team.js";

@Resolver(() => Viewer)
export class ViewerTeam {
  @FieldResolver(() => Team, { nullable: true, description: "The team that the user is in; null for none." })
  async team(@Ctx() context: Context): Promise<Team | null> {
    requireScope(context, "teams:read");
    return context.caller.team ? ownTeam(context) : null;
  }
}
