import { drawMemory, memoryAt, shown } from "./memory-drawing.js";
import { type Link, type Memory, presentOf } from "./model.js";
import { type GraphChoice, Unasked, defineMove, drawGraph, graphOf } from "./move.js";

interface Choice {
  readonly graph?: GraphChoice;
}

const DAY_MS = 86_400_000;
/** This close to the limit of the days it is unclear whether the service ran before or after it. */
const UNSURE_MS = 15_000;

interface Recent extends Choice {
  readonly days: number;
  readonly offset: number;
  readonly unresolvedOffset: number;
  readonly project?: string | undefined;
}

export const recentActivity = defineMove<Recent>({
  weight: 4,
  input(model, _me, draw) {
    const days = draw.one([7, 5, 365]);
    const from = model.now() - days * DAY_MS;
    if (model.memories.some(({ changedAt }) => Math.abs(changedAt - from) < UNSURE_MS)) throw new Unasked();
    const offsets = { offset: draw.one([0, 0, 3]), unresolvedOffset: draw.one([0, 0, 1]) };
    return { graph: drawGraph(draw), days, ...offsets, project: draw.once(4) ? "/a" : undefined };
  },
  expect(model, me, { graph, days, offset, unresolvedOffset: left, project }) {
    const everything = model.memoriesIn(graphOf(model, me, graph));
    const all = everything.filter((memory) => project === undefined || projectOf(memory) === project);
    const changed = all.filter(({ changedAt }) => changedAt >= model.now() - days * DAY_MS).sort(lastFirst);
    const isSolved = (memory: Memory) =>
      model.links.some(({ to, type }) => to === memory && ["SOLVES", "ADDRESSES"].includes(type));
    const open = changed.filter((memory) => ["problem", "error"].includes(presentOf(memory).type) && !isSolved(memory));
    return {
      output: {
        total: changed.length,
        totalIsCapped: false,
        days,
        byType: countsOf(changed.map((memory) => presentOf(memory).type)),
        memories: changed.slice(offset, offset + 20).map(shown),
        unresolvedProblems: open
          .sort(mostImportantFirst)
          .slice(left, left + 10)
          .map(shown),
        unresolvedTotal: open.length,
        truncated: open.length > left + 10,
      },
    };
  },
});

const projectOf = (memory: Memory): unknown =>
  ((presentOf(memory).context ?? {}) as { readonly project_path?: unknown }).project_path;

const lastFirst = (one: Memory, other: Memory): number =>
  other.changedAt - one.changedAt || (one.id < other.id ? 1 : -1);

const mostImportantFirst = (one: Memory, other: Memory): number =>
  presentOf(other).importance - presentOf(one).importance || lastFirst(one, other);

/** Counts by type, the most common first. */
function countsOf(types: readonly string[]) {
  const counts = [...new Set(types)].map((type) => ({ type, count: types.filter((each) => each === type).length }));
  return counts.sort((one, other) => other.count - one.count || (one.type < other.type ? -1 : 1));
}

type Way = "any" | "out" | "in";
type PathWish = Choice & { fromMemoryId: string; toMemoryId: string; maxDepth: number; direction: Way };

export const memoryPath = defineMove<PathWish & { types?: string[] | undefined }>({
  weight: 6,
  input(model, me, draw) {
    const graph = drawGraph(draw);
    return {
      graph,
      fromMemoryId: drawMemory(model, me, draw, graph),
      toMemoryId: drawMemory(model, me, draw, graph),
      maxDepth: draw.one([6, 1, 2, 3, 10]),
      direction: draw.one(["any", "any", "out", "in"]),
      types: draw.once(4) ? draw.some(["CAUSES", "SOLVES", "FOLLOWS"]) : undefined,
    };
  },
  expect(model, me, { graph, fromMemoryId, toMemoryId, types, maxDepth, direction }) {
    const [from, to] = [
      memoryAt(model, me, { graph, id: fromMemoryId }),
      memoryAt(model, me, { graph, id: toMemoryId }),
    ];
    const links = model.linksIn(from.graph).filter(({ type }) => types?.includes(type) ?? true);
    const distance = distanceOf(from, to, links, direction);
    const length = distance !== undefined && distance <= maxDepth ? distance : null;
    return {
      output: { length, isCapped: false },
      // There may be several shortest paths.
      check: ({ steps }) => brokenOfPath(steps as Step[], { from, to, length, links, direction }),
    };
  },
});

interface Step {
  readonly memoryId: string;
  readonly title: string;
  readonly relationshipId?: string | null;
  readonly relationship: string | null;
  readonly direction: "out" | "in" | null;
}

interface Wanted {
  readonly from: Memory;
  readonly to: Memory;
  readonly length: number | null;
  readonly links: readonly Link[];
  readonly direction: Way;
}

function brokenOfPath(steps: readonly Step[], { from, to, length, links, direction }: Wanted): string | undefined {
  if (length === null) return steps.length === 0 ? undefined : "there are steps, but no path";
  if (steps.length !== length + 1) return `it has ${steps.length} steps for a length of ${length}`;
  if (steps[0]?.memoryId !== from.id || steps.at(-1)?.memoryId !== to.id) return "its ends are others";
  for (const [index, step] of steps.slice(1).entries()) {
    const here = steps[index]?.memoryId;
    const link = links.find(({ id, from: start, to: end, type }) => {
      const [near, far] = step.direction === "out" ? [start, end] : [end, start];
      const isThere = near.id === here && far.id === step.memoryId && presentOf(far).title === step.title;
      // Agents do not get its id.
      return isThere && type === step.relationship && (step.relationshipId === undefined || id === step.relationshipId);
    });
    if (!link || (direction !== "any" && direction !== step.direction)) {
      return `step ${index + 1} does not lead from the one before: ${JSON.stringify(step)}`;
    }
  }
  return undefined;
}

/** The number of relationships between them; undefined if they are not connected. */
function distanceOf(from: Memory, to: Memory, links: readonly Link[], direction: Way): number | undefined {
  const seen = new Set([from]);
  for (let level = [from], depth = 0; level.length > 0; depth++) {
    if (level.includes(to)) return depth;
    level = nextLevel(level, links, direction).filter((memory) => !seen.has(memory));
    for (const memory of level) seen.add(memory);
  }
  return undefined;
}

const nextLevel = (level: readonly Memory[], links: readonly Link[], direction: Way): Memory[] => [
  ...new Set(
    links.flatMap(({ from, to }) => [
      ...(direction !== "in" && level.includes(from) ? [to] : []),
      ...(direction !== "out" && level.includes(to) ? [from] : []),
    ]),
  ),
];

export const memoryGraph = defineMove<Choice & { memoryId?: string | undefined; maxDepth: number; limit: number }>({
  weight: 3,
  input(model, me, draw) {
    const graph = drawGraph(draw);
    const memoryId = draw.once(2) ? drawMemory(model, me, draw, graph) : undefined;
    // Around a memory, all are drawn: otherwise their strengths would decide which ones are left out.
    return { graph, memoryId, maxDepth: draw.one([2, 1, 3]), limit: memoryId ? 500 : draw.one([100, 3, 1]) };
  },
  expect(model, me, { graph, memoryId, maxDepth, limit }) {
    const all = model.memoriesIn(graphOf(model, me, graph));
    const found = memoryId === undefined ? all : around(memoryAt(model, me, { graph, id: memoryId }), maxDepth);
    const drawn = all.filter((memory) => found.includes(memory)).slice(0, limit);
    const edges = model.links.filter(({ from, to }) => drawn.includes(from) && drawn.includes(to));
    return {
      output: {
        nodes: drawn.map((memory) => {
          const { type, title, importance } = presentOf(memory);
          return { memoryId: memory.id, type, title, importance };
        }),
        edges: edges.sort(strongestFirst).map(({ id, from, to, type, strength }) => {
          return { relationshipId: id, from: from.id, to: to.id, type, strength };
        }),
        isCapped: found.length > limit,
      },
    };

    function around(start: Memory, depth: number): Memory[] {
      const reached = new Set([start]);
      for (let step = 0, level = [start]; step < depth; step++) {
        level = nextLevel(level, model.links, "any").filter((memory) => !reached.has(memory));
        for (const memory of level) reached.add(memory);
      }
      return [...reached];
    }
  },
});

const strongestFirst = (one: Link, other: Link): number =>
  other.strength - one.strength || (one.id < other.id ? -1 : 1);

export const graphStatistics = defineMove<Choice>({
  weight: 3,
  input: (_model, _me, draw) => ({ graph: drawGraph(draw) }),
  expect(model, me, { graph }) {
    const place = graphOf(model, me, graph);
    const memories = model.memoriesIn(place).map(presentOf);
    const links = model.linksIn(place);
    const average = (field: "importance" | "confidence") =>
      memories.length > 0 ? memories.reduce((sum, memory) => sum + memory[field], 0) / memories.length : null;
    return {
      output: {
        memoriesTotal: memories.length,
        memoriesByType: countsOf(memories.map(({ type }) => type)),
        relationshipsTotal: links.length,
        relationshipsByType: countsOf(links.map(({ type }) => type)),
        isCapped: false,
      },
      // Averages are rounded to six decimals.
      check({ averageImportance, averageConfidence }) {
        for (const [told, known] of [
          [averageImportance, average("importance")],
          [averageConfidence, average("confidence")],
        ]) {
          const isSame = known === null ? told === null : Math.abs(Number(told) - Number(known)) < 0.000_000_501;
          if (!isSame) return `an average is ${String(told)}, not ${String(known)}`;
        }
        return undefined;
      },
    };
  },
});
