import type { MemoryFilterInput } from "../../src/features/memories/memory-filter.js";
import type { Draw } from "./draw.js";
import { type Graph, type Memory, type Model, type Said, presentOf, versionOf } from "./model.js";
import { type Caller, type GraphChoice, drawGraph, drawId, graphOf, refuse } from "./move.js";

export interface Choice {
  readonly graph?: GraphChoice;
}
export interface Place extends Choice {
  readonly id: string;
}
export interface Filter extends Choice {
  readonly types?: readonly string[] | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly tagsMatch?: "all" | "any" | undefined;
  readonly minImportance?: number | undefined;
  readonly project?: string | undefined;
  readonly createdAfter?: string | undefined;
  readonly createdBefore?: string | undefined;
}
export type Wanted = { readonly [Field in keyof Said]?: Said[Field] | undefined };

export const TYPES = ["general", "problem", "solution", "x9"] as const;
export const TAGS = ["red", "green", "blue"] as const;
const CONTEXTS = [{ project_path: "/a" }, {}, { role: "tester", deep: [{ n: 1e21 }, null, "\u00e9"] }] as const;
export const IMPORTANCES = [0.5, 0, 0.25, 0.75, 1] as const;

/** The graph in which the caller's memories would be. Only for drawing, so it need not exist. */
export const likelyGraph = (model: Model, { user }: Caller, choice: GraphChoice): Graph =>
  choice === "personal" ? user.personal : (model.teamOf(user)?.graph ?? user.personal);

/** A name for a memory: its id, or sometimes its client id. */
export function drawMemory(model: Model, me: Caller, draw: Draw, choice: GraphChoice): string {
  const id = drawId(model, draw, model.memoriesIn(likelyGraph(model, me, choice)), model.memories);
  const known = draw.once(3) ? model.memories.find((memory) => memory.id === id) : undefined;
  return (known && presentOf(known).clientId) ?? id;
}

/** The fields that a client can set besides the texts. */
export const drawFurther = (model: Model, draw: Draw) => ({
  context: draw.once(3) ? draw.one(CONTEXTS) : undefined,
  confidence: draw.once(4) ? draw.one(IMPORTANCES) : undefined,
  clientId: draw.once(3) ? drawClientId(model, draw) : undefined,
});

/** A new client id, or sometimes one that a memory has. */
export function drawClientId(model: Model, draw: Draw): string {
  const known = draw.once(4) ? draw.one(model.memories) : undefined;
  return (known && presentOf(known).clientId) ?? `m-${model.newWord()}`;
}

/** @throws Refused when another memory of the graph has this client id. */
export function refuseTaken(model: Model, graph: Graph, clientId: unknown, self?: Memory): void {
  const others = model.memoriesIn(graph).filter((memory) => memory !== self);
  const isTaken = others.some((memory) => presentOf(memory).clientId === clientId);
  if (clientId != null && isTaken) refuse("conflict", "client_id_exists");
}

export function drawPlace(model: Model, me: Caller, draw: Draw): Place {
  const graph = drawGraph(draw);
  return { graph, id: drawMemory(model, me, draw, graph) };
}

/** Has to draw every filter that there is. */
type WholeFilter = Filter & Readonly<Record<Exclude<keyof MemoryFilterInput, "includeExpired">, unknown>>;

export function drawFilter(model: Model, draw: Draw): WholeFilter {
  const [after, before] = [draw.one(model.memories), draw.one(model.memories)];
  return {
    graph: drawGraph(draw),
    types: draw.once(4) ? draw.some(TYPES) : undefined,
    tags: draw.once(4) ? draw.some(TAGS.slice(0, 2)) : undefined,
    tagsMatch: draw.once(4) ? draw.one(["all", "any"]) : undefined,
    project: draw.once(6) ? "/a" : undefined,
    minImportance: draw.once(5) ? draw.one(IMPORTANCES) : undefined,
    createdAfter: draw.once(6) && after ? model.toService(after.createdAt) : undefined,
    createdBefore: draw.once(6) && before ? model.toService(before.createdAt) : undefined,
  };
}

export function passes(model: Model, memory: Memory, filter: Filter): boolean {
  const { type, tags, importance, context } = presentOf(memory);
  const { project_path: project } = (context ?? {}) as { readonly project_path?: unknown };
  const { createdAt } = memory;
  const from = filter.createdAfter === undefined ? -Infinity : model.fromService(filter.createdAfter);
  const until = filter.createdBefore === undefined ? Infinity : model.fromService(filter.createdBefore);
  return (
    (filter.types ?? [type]).includes(type) &&
    carries(tags, filter) &&
    (filter.project ?? project) === project &&
    importance >= (filter.minImportance ?? 0) &&
    createdAt >= from &&
    createdAt < until
  );
}

function carries(tags: readonly string[], { tags: wanted = [], tagsMatch }: Filter): boolean {
  const having = wanted.filter((tag) => tags.includes(tag)).length;
  return tagsMatch === "any" && wanted.length > 0 ? having > 0 : having === wanted.length;
}

/** @throws Refused when the graph has no memory with this id. */
export function memoryAt(model: Model, me: Caller, { graph, id }: Place): Memory {
  const place = graphOf(model, me, graph);
  return model.memoryCalled(place, id) ?? refuse("not_found");
}

export const shown = (memory: Memory) => {
  const { by: _by, ...said } = presentOf(memory);
  return { ...said, id: memory.id, version: versionOf(memory), createdBy: memory.createdBy.id };
};

export const defined = <Input extends object>(input: Input): Input =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as Input;

export const normal = (tags: readonly string[]) => [...new Set(tags.map((tag) => tag.trim().toLowerCase()))];
