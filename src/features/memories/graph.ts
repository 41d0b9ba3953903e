import { ArgsType, Field, InputType, registerEnumType } from "type-graphql";
import { Marked, Nullable } from "../../operation/bounds.js";
import type { Caller } from "../../operation/context.js";
import { Failure } from "../../operation/failure.js";

export enum GraphChoice {
  PERSONAL = "personal",
  TEAM = "team",
}
registerEnumType(GraphChoice, {
  name: "GraphChoice",
  description: "Which of the caller's graphs an operation works on.",
  valuesConfig: {
    PERSONAL: { description: "The caller's own graph." },
    TEAM: { description: "The graph that the caller's team shares." },
  },
});

/** How tools describe the choice of the graph: in few words, since every tool repeats them. */
export const GRAPH_FOR_AGENTS = "By default the team's, if any.";

/** Every operation on memories and relationships lets its caller choose the graph. */
@ArgsType()
@InputType()
export abstract class GraphInput {
  @Field(() => GraphChoice, {
    nullable: true,
    description: "The graph to work on. By default the team's if the caller is in a team, else the personal one.",
  })
  @Nullable()
  @Marked("selector")
  graph?: GraphChoice | null;
}

export class NoTeamGraph extends Failure {
  readonly kind = "not_found";
  override readonly reason = "no_team";

  constructor() {
    super(
      "You are in no team, so there is no team graph. If you set `graph`, leave it out. `createTeam` creates a team.",
    );
  }
}

/** The team whose graph is meant, for the audit; null for a personal graph. */
export const chosenTeamId = (caller: Caller, input: GraphInput): string | null =>
  caller.team && chosenGraphId(caller, input) === caller.team.graphId ? caller.team.id : null;

/**
 * The id of the chosen graph.
 * @throws NoTeamGraph if the caller chooses the team's graph but is in no team.
 */
export function chosenGraphId(caller: Caller, { graph }: GraphInput): string {
  if (graph === GraphChoice.PERSONAL) return caller.personalGraphId;
  if (graph === GraphChoice.TEAM && !caller.team) throw new NoTeamGraph();
  return caller.team?.graphId ?? caller.personalGraphId;
}
