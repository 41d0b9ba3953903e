import type { Draw } from "./draw.js";
import { ANY, type Graph, type Link, type Memory, type Model, type Said, presentOf, versionOf } from "./model.js";
import { type Caller, type GraphChoice, defineMove, drawGraph, drawId, graphOf, refuse } from "./move.js";
import { relatedTo } from "./related.js";

interface Choice {
  readonly graph?: GraphChoice;
}
interface Place extends Choice {
  readonly id: string;
}
interface Filter extends Choice {
  readonly types?: readonly string[] | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly minImportance?: number | undefined;
  readonly createdAfter?: string | undefined;
  readonly createdBefore?: string | undefined;
}
type Wanted = { readonly [Field in keyof Said]?: Said[Field] | undefined };

const TYPES = ["general", "problem", "solution", "x9"] as const;
const TAGS = ["red", "green", "blue"] as const;
const IMPORTANCES = [0.5, 0, 0.25, 0.75, 1] as const;

/** Where this caller's memories would be; for drawing, so a team that is not there does not matter. */
const likelyGraph = (model: Model, { user }: Caller, choice: GraphChoice): Graph =>
  choice === "personal" ? user.personal : (model.teamOf(user)?.graph ?? user.personal);

export function drawMemory(model: Model, me: Caller, draw: Draw, choice: GraphChoice): string {
  return drawId(model, draw, model.memoriesIn(likelyGraph(model, me, choice)), model.memories);
}

function drawPlace(model: Model, me: Caller, draw: Draw): Place {
  const graph = drawGraph(draw);
  return { graph, id: drawMemory(model, me, draw, graph) };
}

function drawFilter(model: Model, draw: Draw): Filter {
  const [after, before] = [draw.one(model.memories), draw.one(model.memories)];
  return {
    graph: drawGraph(draw),
    types: draw.once(4) ? draw.some(TYPES) : undefined,
    tags: draw.once(4) ? draw.some(TAGS.slice(0, 2)) : undefined,
    minImportance: draw.once(5) ? draw.one(IMPORTANCES) : undefined,
    createdAfter: draw.once(6) && after ? model.toService(after.createdAt) : undefined,
    createdBefore: draw.once(6) && before ? model.toService(before.createdAt) : undefined,
  };
}

function passes(model: Model, memory: Memory, filter: Filter): boolean {
  const { type, tags, importance } = presentOf(memory);
  const { createdAt } = memory;
  const from = filter.createdAfter === undefined ? -Infinity : model.fromService(filter.createdAfter);
  const until = filter.createdBefore === undefined ? Infinity : model.fromService(filter.createdBefore);
  return (
    (filter.types ?? [type]).includes(type) &&
    (filter.tags ?? []).every((tag) => tags.includes(tag)) &&
    importance >= (filter.minImportance ?? 0) &&
    createdAt >= from &&
    createdAt < until
  );
}

/** @throws Refused when there is none of this id in the graph that is meant. */
export function memoryAt(model: Model, me: Caller, { graph, id }: Place): Memory {
  const place = graphOf(model, me, graph);
  return model.memoriesIn(place).find((memory) => memory.id === id) ?? refuse("not_found");
}

const shown = (memory: Memory) => {
  const { by: _by, ...said } = presentOf(memory);
  return { ...said, id: memory.id, version: versionOf(memory), createdBy: memory.createdBy.id };
};

export const createMemory = defineMove<Choice & Omit<Wanted, "summary"> & { summary?: string | undefined }>({
  weight: 12,
  input(model, _me, draw) {
    return {
      graph: drawGraph(draw),
      type: draw.one(TYPES),
      title: `${model.newWord()} note`,
      content: `About ${model.newWord()}.`,
      summary: draw.once(3) ? `In short ${model.newWord()}` : undefined,
      tags: draw.once(2) ? draw.some([...TAGS, " RED "]) : undefined,
      importance: draw.once(2) ? draw.one(IMPORTANCES) : undefined,
    };
  },
  expect(model, me, input) {
    const graph = graphOf(model, me, input.graph);
    const { type = "", title = "", content = "", summary = null, importance = 0.5 } = input;
    const said = { type, title, content, summary, tags: normal(input.tags ?? []), importance };
    return {
      output: { ...said, version: 1, createdBy: me.user.id, relationships: [], relationshipsTotal: 0 },
      effect({ id, createdAt }) {
        const versions = [{ ...said, by: me.user }];
        const time = model.fromService(createdAt);
        model.memories.push({ id: String(id), graph, versions, firstVersion: 1, createdBy: me.user, createdAt: time });
      },
    };
  },
});

const normal = (tags: readonly string[]) => [...new Set(tags.map((tag) => tag.trim().toLowerCase()))];

export const memory = defineMove<Place>({
  weight: 5,
  input: drawPlace,
  expect(model, me, input) {
    const found = memoryAt(model, me, input);
    const links = model.linksOf(found);
    return { output: { ...shown(found), relationshipsTotal: links.length, relationships: links.map(seenFrom(found)) } };
  },
});

const seenFrom = (memory: Memory) => (link: Link) => {
  const { id, from, to, type, strength, confidence } = link;
  const other = from === memory ? to : from;
  const direction = from === memory ? "out" : "in";
  const { type: otherType, title } = presentOf(other);
  const end = { id: other.id, type: otherType, title };
  return { relationshipId: id, type, strength, confidence, from: from.id, to: to.id, direction, memory: end };
};

export const memories = defineMove<Filter & { limit: number }>({
  weight: 4,
  input: (model, _me, draw) => ({ ...drawFilter(model, draw), limit: draw.one([20, 3, 1, 100]) }),
  expect(model, me, input) {
    const all = model.memoriesIn(graphOf(model, me, input.graph));
    const found = all.filter((known) => passes(model, known, input));
    return { list: { field: "memories", items: found.map(shown) } };
  },
});

export const updateMemory = defineMove<Place & Wanted & { expectedVersion?: number | undefined }>({
  weight: 8,
  input(model, me, draw) {
    const place = drawPlace(model, me, draw);
    const known = model.memories.find(({ id }) => id === place.id);
    const version = known ? versionOf(known) : 1;
    return {
      ...place,
      title: draw.once(2) ? `${model.newWord()} renamed` : undefined,
      content: draw.once(3) ? `Now about ${model.newWord()}.` : undefined,
      type: draw.once(6) ? draw.one(TYPES) : undefined,
      summary: draw.once(4) ? draw.one([null, `Shorter ${model.newWord()}`]) : undefined,
      tags: draw.once(4) ? draw.some(TAGS) : undefined,
      importance: draw.once(4) ? draw.one(IMPORTANCES) : undefined,
      expectedVersion: draw.once(3) ? draw.one([version, version + 1, Math.max(1, version - 1)]) : undefined,
    };
  },
  expect(model, me, { graph, id, expectedVersion, ...wanted }) {
    const changes = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined));
    if (Object.keys(changes).length === 0) refuse("bad_request");
    const found = memoryAt(model, me, { graph, id });
    if (expectedVersion !== undefined && expectedVersion !== versionOf(found)) refuse("conflict", "version_mismatch");
    const next = { ...presentOf(found), ...changes, by: me.user };
    const { by: _by, ...said } = next;
    return {
      output: { ...said, id, version: versionOf(found) + 1, createdBy: found.createdBy.id },
      effect: () => void found.versions.push(next),
    };
  },
});

export const deleteMemory = defineMove<Place>({
  weight: 3,
  input: drawPlace,
  expect(model, me, input) {
    const found = memoryAt(model, me, input);
    return {
      output: { id: found.id },
      audit: () => ({ teamId: found.graph.team?.id ?? null, subject: found.id, detail: null }),
      effect: () => model.forget(found),
    };
  },
});

export const memoryVersions = defineMove<Place & { limit: number }>({
  weight: 4,
  input: (model, me, draw) => ({ ...drawPlace(model, me, draw), limit: draw.one([20, 2, 1]) }),
  expect(model, me, input) {
    const { versions, firstVersion } = memoryAt(model, me, input);
    const items = versions.map(({ by, ...said }, index) => {
      return { ...said, changedBy: by.id, version: firstVersion + index };
    });
    return { list: { field: "versions", items: items.reverse() } };
  },
});

export const searchMemories = defineMove<Filter & { query: string; limit: number }>({
  weight: 6,
  input(model, me, draw) {
    const filter = drawFilter(model, draw);
    const near = model.memoriesIn(likelyGraph(model, me, filter.graph));
    const wanted = draw.one(draw.once(5) || near.length === 0 ? model.memories : near);
    const said = wanted && draw.one([presentOf(wanted), ...wanted.versions]);
    const words = said ? wordsOf(said).filter((word) => word.length === UNIQUE_LENGTH) : [];
    return { ...filter, query: draw.one(words) ?? model.newWord(), limit: 1_000 };
  },
  expect(model, me, input) {
    const all = model.memoriesIn(graphOf(model, me, input.graph));
    const found = all.filter((known) => wordsOf(presentOf(known)).includes(input.query));
    const ids = found.filter((known) => passes(model, known, input)).map(({ id }) => id);
    return {
      output: { total: ids.length, totalIsCapped: false },
      check({ memories: hits }) {
        const hitIds = (hits as { memoryId: string }[]).map(({ memoryId }) => memoryId);
        const same = hitIds.length === ids.length && ids.every((id) => hitIds.includes(id));
        return same ? undefined : `it found [${hitIds.join()}], not [${ids.join()}]`;
      },
    };
  },
});

const UNIQUE_LENGTH = 14;
const wordsOf = ({ title, content, summary }: Said): string[] =>
  `${title} ${content} ${summary ?? ""}`.match(/\w+/g) ?? [];

export const relatedMemories = defineMove<
  Place & { types?: string[] | undefined; maxDepth: number; direction: "any" | "out" | "in"; limit: number }
>({
  weight: 6,
  input(model, me, draw) {
    return {
      ...drawPlace(model, me, draw),
      maxDepth: draw.one([1, 2, 3, 4, 5]),
      direction: draw.one(["any", "any", "out", "in"]),
      types: draw.once(4) ? draw.some(["CAUSES", "SOLVES", "FOLLOWS"]) : undefined,
      limit: draw.one([100, 20, 3, 1]),
    };
  },
  expect(model, me, input) {
    const start = memoryAt(model, me, input);
    return { output: { memories: relatedTo(start, model.links, input) } };
  },
});

export const shareMemories = defineMove<{ ids?: string[] | undefined; all?: boolean; dropRelationships?: boolean }>({
  weight: 3,
  input(model, me, draw) {
    const own = model.memoriesIn(me.user.personal);
    const all = draw.once(3);
    const ids = [
      drawId(model, draw, own, model.memories),
      ...(draw.once(2) ? [drawId(model, draw, own, model.memories)] : []),
    ];
    return {
      ids: all && !draw.once(6) ? undefined : ids,
      ...(all ? { all } : {}),
      ...(draw.once(2) ? { dropRelationships: true } : {}),
    };
  },
  expect(model, { user }, { ids, all = false, dropRelationships = false }) {
    const team = model.teamOf(user) ?? refuse("not_found", "no_team");
    if (all === (ids !== undefined)) refuse("bad_request");
    const own = model.memoriesIn(user.personal);
    const moved = all ? own : own.filter(({ id }) => ids?.includes(id));
    if (ids && moved.length < new Set(ids).size) refuse("not_found");
    const touched = model.linksIn(user.personal);
    const ends = ({ from, to }: Link) => [from, to].filter((end) => moved.includes(end)).length;
    const cut = touched.filter((link) => ends(link) === 1);
    const along = touched.filter((link) => ends(link) === 2);
    const dropped = moved.reduce((count, { versions }) => count + versions.length - 1, 0);
    if (cut.length > 0 && !dropRelationships) refuse("conflict", "relationships_would_be_lost");
    return {
      output: {
        memories: moved.length,
        relationships: along.length,
        droppedRelationships: cut.length,
        droppedVersions: dropped,
      },
      audit: () => {
        const detail = `memories: ${moved.length}, relationships: ${along.length}, dropped versions: ${dropped}`;
        return { teamId: team.id, subject: ANY, detail };
      },
      effect() {
        for (const link of cut) model.forgetLink(link);
        for (const each of moved) {
          each.graph = team.graph;
          each.firstVersion = versionOf(each);
          // A draft is its author's own.
          each.versions.splice(0, each.versions.length - 1);
        }
      },
    };
  },
});
