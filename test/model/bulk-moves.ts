import {
  type Choice,
  type Filter,
  TAGS,
  TYPES,
  type Wanted,
  drawClientId,
  drawMemory,
  memoryAt,
  passes,
} from "./memory-drawing.js";
import { type Said, newestFirst, presentOf } from "./model.js";
import { defineMove, drawGraph, graphOf, refuse } from "./move.js";

interface Bulk extends Choice {
  readonly memories: readonly (Wanted & { readonly ref: string })[];
  readonly relationships: readonly { fromMemoryId: string; toMemoryId: string; relationshipType: string }[];
}

export const createMemories = defineMove<Bulk>({
  weight: 3,
  input(model, me, draw) {
    const graph = drawGraph(draw);
    const memories = ["one", "two"].map((ref) => ({
      ref,
      type: draw.one(TYPES),
      title: `${model.newWord()} of many`,
      content: `About ${model.newWord()}.`,
      ...(draw.once(4) ? { clientId: drawClientId(model, draw) } : {}),
    }));
    const other = draw.once(2) ? drawMemory(model, me, draw, graph) : "two";
    const relationshipType = draw.one(["CAUSES", "SOLVES"]);
    return { graph, memories, relationships: [{ fromMemoryId: "one", toMemoryId: other, relationshipType }] };
  },
  expect(model, me, { graph: choice, memories: given, relationships: links }) {
    const graph = graphOf(model, me, choice);
    const ends = links.flatMap(({ fromMemoryId, toMemoryId }) => [fromMemoryId, toMemoryId]);
    const refs = given.map(({ ref }) => ref);
    for (const end of ends) if (!refs.includes(end)) memoryAt(model, me, { graph: choice, id: end });
    const names = given.flatMap(({ clientId }) => clientId ?? []);
    const taken = model.memoriesIn(graph).some((known) => names.includes(presentOf(known).clientId ?? ""));
    if (taken || new Set(names).size < names.length) refuse("conflict", "memory_exists");
    return {
      output: { existingRelationships: 0 },
      effect({ memoryIds, relationshipIds }) {
        const ids = memoryIds as string[];
        const time = model.timeOfId(ids[0] ?? "");
        for (const [index, { ref: _ref, ...said }] of given.entries()) {
          const defaults = { ...DEFAULTS, ...said } as Said;
          const made = { id: ids[index] ?? "", graph, versions: [{ ...defaults, by: me.user }], firstVersion: 1 };
          model.memories.push({ ...made, createdBy: me.user, createdAt: time, changedAt: time });
        }
        for (const [index, { fromMemoryId, toMemoryId, relationshipType: type }] of links.entries()) {
          const [from, to] = [fromMemoryId, toMemoryId].map((name) =>
            model.memoryCalled(graph, refs.includes(name) ? (ids[refs.indexOf(name)] ?? "") : name),
          );
          if (!from || !to) continue;
          const id = (relationshipIds as string[])[index] ?? "";
          model.links.push({ id, from, to, type, strength: 0.5, confidence: 0.8, context: null });
        }
      },
    };
  },
});

export const exportGraph = defineMove<Choice & { limit: number }>({
  weight: 1,
  input: (_model, _me, draw) => ({ graph: drawGraph(draw), limit: draw.one([100, 20]) }),
  expect(model, me, { graph }) {
    const place = graphOf(model, me, graph);
    return {
      check({ records }) {
        const [first] = records as Readonly<Record<string, unknown>>[];
        const [held, linked] = [model.memoriesIn(place).length, model.linksIn(place).length];
        const isRight = first?.["memories"] === held && first["relationships"] === linked;
        return isRight ? undefined : `it tells of ${JSON.stringify(first)}, not of ${held} and ${linked}`;
      },
    };
  },
});

export const restoreMemories = defineMove<Choice & { memories: readonly (Wanted & { id: string })[] }>({
  weight: 1,
  input: (model, _me, draw) => ({
    graph: drawGraph(draw),
    memories: [
      {
        id: model.newId(),
        type: draw.one(TYPES),
        title: `${model.newWord()} again`,
        content: "Of an export.",
        createdAt: "2020-01-01T00:00:00.000Z",
        updatedAt: "2020-01-02T00:00:00.000Z",
      },
    ],
  }),
  expect(model, me, { graph: choice, memories: given }) {
    const graph = graphOf(model, me, choice);
    // Repeated after its first result was forgotten, it restores deleted memories and leaves existing ones.
    const gone = given.filter(({ id }) => !model.memoriesIn(graph).some((known) => known.id === id));
    const existing = { existingMemories: given.length - gone.length, existingRelationships: 0 };
    const detail = `memories: ${gone.length}, relationships: 0`;
    return {
      output: { memories: gone.length, relationships: 0, ...existing },
      audit: () => ({ teamId: graph.team?.id ?? null, subject: null, detail }),
      effect() {
        for (const { id, ...said } of gone) {
          const { createdAt: _at, updatedAt: _then, ...rest } = said as Record<string, unknown>;
          const versions = [{ ...DEFAULTS, ...(rest as unknown as Said), by: me.user }];
          const [createdAt, changedAt] = [model.fromService("2020-01-01"), model.fromService("2020-01-02")];
          const times = { createdAt, changedAt };
          model.memories.push({ id, graph, versions, firstVersion: 1, createdBy: me.user, ...times });
        }
      },
    };
  },
});

const DEFAULTS = {
  summary: null,
  tags: [],
  importance: 0.5,
  context: null,
  confidence: 0.8,
  clientId: null,
  expiresAt: null,
};

export const deleteMemories = defineMove<Filter & { ids?: string[] | undefined; dryRun?: boolean | undefined }>({
  weight: 1,
  input(model, me, draw) {
    const graph = drawGraph(draw);
    const dryRun = draw.once(2) ? true : undefined;
    if (draw.once(2))
      return { graph, ids: [drawMemory(model, me, draw, graph), drawMemory(model, me, draw, graph)], dryRun };
    return { graph, types: [draw.one(TYPES)], tags: draw.some(TAGS), dryRun };
  },
  expect(model, me, { ids, dryRun = false, ...filter }) {
    const graph = graphOf(model, me, filter.graph);
    const chosen = ids
      ? ids.map((id) => memoryAt(model, me, { graph: filter.graph, id }))
      : model.memoriesIn(graph).filter((memory) => passes(model, memory, filter));
    const found = [...new Set(chosen)].sort(newestFirst).reverse();
    const links = model.links.filter(({ from, to }) => found.includes(from) || found.includes(to));
    const detail = `memories: ${found.length}, relationships: ${links.length}`;
    return {
      output: { memoryIds: found.map(({ id }) => id), relationships: links.length, remaining: 0 },
      audit: () => ({ teamId: graph.team?.id ?? null, subject: null, detail: dryRun ? `dry run, ${detail}` : detail }),
      effect: () => void (dryRun || found.forEach((memory) => model.forget(memory))),
    };
  },
});
