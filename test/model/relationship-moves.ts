import { type Link, type Model, newestFirst, presentOf } from "./model.js";
import { type Caller, type GraphChoice, defineMove, drawGraph, drawId, graphOf, refuse } from "./move.js";
import type { Draw } from "./draw.js";
import { drawMemory } from "./memory-drawing.js";

interface Place {
  readonly graph?: GraphChoice;
  readonly id: string;
}

const STRENGTHS = [0, 0.25, 0.75, 1] as const;

const shown = ({ from, to, ...link }: Link) => ({ ...link, from: from.id, to: to.id });

function drawPlace(model: Model, me: Caller, draw: Draw): Place {
  const graph = drawGraph(draw);
  const here = graph === "personal" ? me.user.personal : (model.teamOf(me.user)?.graph ?? me.user.personal);
  return { graph, id: drawId(model, draw, model.linksIn(here), model.links) };
}

function linkAt(model: Model, me: Caller, { graph, id }: Place): Link {
  return model.linksIn(graphOf(model, me, graph)).find((link) => link.id === id) ?? refuse("not_found");
}

const placeOf = ({ memories }: Model, name: string) =>
  memories.find((memory) => memory.id === name || presentOf(memory).clientId === name);

interface Wanted {
  readonly graph?: GraphChoice;
  readonly fromMemoryId: string;
  readonly toMemoryId: string;
  readonly relationshipType: string;
  readonly strength?: number | undefined;
  readonly confidence?: number | undefined;
  readonly context?: string | undefined;
}

export const createRelationship = defineMove<Wanted>({
  weight: 14,
  input(model, me, draw) {
    const graph = drawGraph(draw);
    const [from, to] = [drawMemory(model, me, draw, graph), drawMemory(model, me, draw, graph)];
    // Self-references are rare, even with few memories.
    const start = placeOf(model, from);
    const others = model.memories.filter((other) => other !== start && other.graph === start?.graph);
    const another = from === to && !draw.once(12) ? draw.one(others)?.id : undefined;
    return {
      graph,
      fromMemoryId: from,
      toMemoryId: another ?? to,
      relationshipType: draw.one(["CAUSES", "SOLVES", "FOLLOWS"]),
      strength: draw.once(2) ? draw.one(STRENGTHS) : undefined,
      confidence: draw.once(3) ? draw.one(STRENGTHS) : undefined,
      context: draw.once(4) ? "Since Tuesday." : undefined,
    };
  },
  expect(model, me, input) {
    const { graph, fromMemoryId, toMemoryId, relationshipType: type } = input;
    const here = graphOf(model, me, graph);
    const [from, to] = [fromMemoryId, toMemoryId].map((id) => model.memoryCalled(here, id));
    if (!from || !to) return refuse("not_found");
    if (from === to) refuse("bad_request");
    // An agent, who cannot delete relationships, may not let a problem solve its solution.
    const [solving, solved] = [from, to].map((end) => presentOf(end).type);
    const isTurned = type === "SOLVES" && solving === "problem" && solved === "solution";
    if (me.door === "mcp" && isTurned) refuse("bad_request");
    const isSame = (link: Link) => link.from === from && link.to === to && link.type === type;
    if (model.links.some(isSame)) refuse("conflict", "relationship_exists");
    const { strength = 0.5, confidence = 0.8, context = null } = input;
    const said = { type, strength, confidence, context };
    return {
      output: { ...said, from: from.id, to: to.id },
      effect: ({ id }) => void model.links.push({ ...said, id: String(id), from, to }),
    };
  },
});

export const relationship = defineMove<Place>({
  weight: 3,
  input: drawPlace,
  expect: (model, me, input) => ({ output: shown(linkAt(model, me, input)) }),
});

export const relationships = defineMove<{
  graph?: GraphChoice;
  types?: string[] | undefined;
  memoryId?: string | undefined;
  limit: number;
}>({
  weight: 3,
  input(model, me, draw) {
    const graph = drawGraph(draw);
    return {
      graph,
      types: draw.once(3) ? draw.some(["CAUSES", "SOLVES", "FOLLOWS"]) : undefined,
      memoryId: draw.once(3) ? drawMemory(model, me, draw, graph) : undefined,
      limit: draw.one([20, 3, 1, 100]),
    };
  },
  expect(model, me, { graph, types, memoryId }) {
    const here = graphOf(model, me, graph);
    const end = memoryId === undefined ? undefined : model.memoryCalled(here, memoryId);
    const found = model
      .linksIn(here)
      .filter(({ type }) => types?.includes(type) ?? true)
      .filter(({ from, to }) => memoryId === undefined || from === end || to === end)
      .sort(newestFirst);
    return { list: { field: "relationships", items: found.map(shown) } };
  },
});

export const updateRelationship = defineMove<
  Place & { strength?: number | undefined; confidence?: number | undefined; context?: string | null | undefined }
>({
  weight: 3,
  input: (model, me, draw) => ({
    ...drawPlace(model, me, draw),
    strength: draw.once(2) ? draw.one(STRENGTHS) : undefined,
    confidence: draw.once(2) ? draw.one(STRENGTHS) : undefined,
    context: draw.once(3) ? draw.one([null, "On Mondays."]) : undefined,
  }),
  check({ strength, confidence, context }) {
    if ([strength, confidence, context].every((change) => change === undefined)) refuse("bad_request");
  },
  expect(model, me, { graph, id, strength, confidence, context }) {
    const link = linkAt(model, me, { graph, id });
    const changes = {
      strength: strength ?? link.strength,
      confidence: confidence ?? link.confidence,
      context: context === undefined ? link.context : context,
    };
    return { output: { ...shown(link), ...changes }, effect: () => void Object.assign(link, changes) };
  },
});

export const deleteRelationship = defineMove<Place>({
  weight: 2,
  input: drawPlace,
  expect(model, me, input) {
    const link = linkAt(model, me, input);
    return { output: { id: link.id }, effect: () => model.forgetLink(link) };
  },
});

export const relationshipTypes = defineMove<object>({
  weight: 1,
  input: () => ({}),
  expect: () => ({
    check: ({ relationshipTypes: types }) =>
      (types as unknown[]).length === 35 ? undefined : "there are not 35 types",
  }),
});
