import type { Caller } from "../../operation/context.js";
import { InvalidInput } from "../../operation/failure.js";
import { UUID } from "../../operation/id.js";
import { placeOf } from "../../operation/page.js";
import { type GraphInput, chosenGraphId } from "./graph.js";

const ID = UUID.source.slice(1, -1);
/**
 * How a cursor of a graph's list writes its place: the graph, and the id of the last item that was shown. Cursors of
 * earlier versions have the id alone.
 */
export const GRAPH_PLACE = new RegExp(`^(?:${ID}/)?${ID}$`);

export const writeGraphPlace = (graphId: string, id: string): string => `${graphId}/${id}`;

/**
 * The graph of a page, and the id after which the page begins, null for the first one.
 * @throws what `graphOfPage` throws.
 */
export function placeInGraph(caller: Caller, input: GraphInput & { readonly cursor?: string | null | undefined }) {
  const [after = null, begun] = placeOf(input.cursor)?.split("/").reverse() ?? [];
  return { graphId: graphOfPage(caller, input, begun), after };
}

/**
 * A list goes on in the graph in which it began, also if its reader has joined a team since, whose graph is the default
 * now. Whoever has left the team is refused, and does not go on in their own graph, as if its items followed.
 * @param begun the graph of the cursor; undefined for the first page
 * @throws NoTeamGraph, and InvalidInput if the list began in another graph.
 */
export function graphOfPage(caller: Caller, input: GraphInput, begun: string | undefined): string {
  if (input.graph == null && begun === caller.personalGraphId) return begun;
  const graphId = chosenGraphId(caller, input);
  if (begun === undefined || begun === graphId) return graphId;
  throw InvalidInput.at("cursor", "is of another graph: begin again, or set `graph` as it was for the first page");
}
