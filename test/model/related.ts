import { type Link, type Memory, presentOf } from "./model.js";

export interface Walk {
  readonly types?: readonly string[] | undefined;
  readonly maxDepth: number;
  readonly direction: "any" | "out" | "in";
  readonly limit: number;
  readonly eachRelationship?: boolean;
}

interface Step {
  readonly memory: Memory;
  readonly link: Link;
  readonly direction: "out" | "in";
}

/** Level by level: each memory once, by the strongest way to it. A level is walked only while the answer has room. */
export function relatedTo(start: Memory, links: readonly Link[], walk: Walk) {
  const { types, maxDepth, direction, limit, eachRelationship = false } = walk;
  const seen = new Set([start]);
  const found: { step: Step; depth: number }[] = [];
  const reached = () => new Set(found.map(({ step }) => step.memory)).size;
  let level: Memory[] = [start];
  for (let depth = 1; depth <= maxDepth && reached() < limit; depth++) {
    const steps = links
      .filter(({ type }) => types?.includes(type) ?? true)
      .flatMap((link): Step[] => [
        ...(direction !== "in" && level.includes(link.from)
          ? [{ memory: link.to, link, direction: "out" as const }]
          : []),
        ...(direction !== "out" && level.includes(link.to)
          ? [{ memory: link.from, link, direction: "in" as const }]
          : []),
      ]);
    level = [...new Set(steps.map(({ memory }) => memory))].filter((memory) => !seen.has(memory));
    for (const memory of level) {
      const ways = steps.filter((step) => step.memory === memory).sort(strongestFirst);
      found.push(...(eachRelationship ? ways : ways.slice(0, 1)).map((step) => ({ step, depth })));
      seen.add(memory);
    }
  }
  return found
    .sort((one, other) => one.depth - other.depth || bestFirst(one.step, other.step))
    .slice(0, limit)
    .map(({ step: { memory, link, direction: way }, depth }) => {
      const { type, title } = presentOf(memory);
      const { id: relationshipId, confidence, context } = link;
      const said = eachRelationship && { link: { relationshipId, confidence, context } };
      const viaMemoryId = depth === 1 ? null : (way === "out" ? link.from : link.to).id;
      const how = { relationship: link.type, strength: link.strength, direction: way, viaMemoryId, ...said };
      return { memoryId: memory.id, type, title, depth, ...how };
    });
}

const strongestFirst = (one: Step, other: Step): number =>
  other.link.strength - one.link.strength ||
  compare(one.link.type, other.link.type) ||
  compare(one.link.id, other.link.id);

const bestFirst = (one: Step, other: Step): number =>
  other.link.strength - one.link.strength ||
  presentOf(other.memory).importance - presentOf(one.memory).importance ||
  compare(one.memory.id, other.memory.id) ||
  compare(one.link.id, other.link.id);

const compare = (one: string, other: string): number => Number(one > other) - Number(one < other);
