import { difference } from "./agree.js";
import type { Draw } from "./draw.js";
import {
  ANY,
  type Graph,
  type Link,
  type Memory,
  type Model,
  type Said,
  newestFirst,
  presentOf,
  versionOf,
} from "./model.js";
import { type Caller, type GraphChoice, defineMove, drawGraph, drawId, graphOf, refuse } from "./move.js";
import { type Walk, relatedTo } from "./related.js";

interface Choice {
  readonly graph?: GraphChoice;
}
interface Place extends Choice {
  readonly id: string;
}
interface Filter extends Choice {
  readonly types?: readonly string[] | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly tagsMatch?: "all" | "any" | undefined;
  readonly minImportance?: number | undefined;
  readonly project?: string | undefined;
  readonly createdAfter?: string | undefined;
  readonly createdBefore?: string | undefined;
}
type Wanted = { readonly [Field in keyof Said]?: Said[Field] | undefined };

const TYPES = ["general", "problem", "solution", "x9"] as const;
const TAGS = ["red", "green", "blue"] as const;
const CONTEXTS = [{ project_path: "/a" }, {}, { role: "tester", deep: [{ n: 1e21 }, null, "\u00e9"] }] as const;
const IMPORTANCES = [0.5, 0, 0.25, 0.75, 1] as const;

/** Where this caller's memories would be; for drawing, so a team that is not there does not matter. */
const likelyGraph = (model: Model, { user }: Caller, choice: GraphChoice): Graph =>
  choice === "personal" ? user.personal : (model.teamOf(user)?.graph ?? user.personal);

/** What a memory is called: by its id, or at times by the one that a client has given it. */
export function drawMemory(model: Model, me: Caller, draw: Draw, choice: GraphChoice): string {
  const id = drawId(model, draw, model.memoriesIn(likelyGraph(model, me, choice)), model.memories);
  const known = draw.once(3) ? model.memories.find((memory) => memory.id === id) : undefined;
  return (known && presentOf(known).externalId) ?? id;
}

/** What a client keeps beside its texts. */
const drawFurther = (model: Model, draw: Draw) => ({
  context: draw.once(3) ? draw.one(CONTEXTS) : undefined,
  confidence: draw.once(4) ? draw.one(IMPORTANCES) : undefined,
  externalId: draw.once(3) ? drawExternalId(model, draw) : undefined,
});

/** A new one, or at times one that a memory has. */
function drawExternalId(model: Model, draw: Draw): string {
  const known = draw.once(4) ? draw.one(model.memories) : undefined;
  return (known && presentOf(known).externalId) ?? `m-${model.newWord()}`;
}

/** An id that a client gives is that of one memory of its graph. */
function refuseTaken(model: Model, graph: Graph, externalId: unknown, self?: Memory): void {
  const others = model.memoriesIn(graph).filter((memory) => memory !== self);
  const isTaken = others.some((memory) => presentOf(memory).externalId === externalId);
  if (externalId != null && isTaken) refuse("conflict", "external_id_exists");
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
    tagsMatch: draw.once(4) ? draw.one(["all", "any"]) : undefined,
    project: draw.once(6) ? "/a" : undefined,
    minImportance: draw.once(5) ? draw.one(IMPORTANCES) : undefined,
    createdAfter: draw.once(6) && after ? model.toService(after.createdAt) : undefined,
    createdBefore: draw.once(6) && before ? model.toService(before.createdAt) : undefined,
  };
}

function passes(model: Model, memory: Memory, filter: Filter): boolean {
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

/** @throws Refused when there is none of this id in the graph that is meant. */
export function memoryAt(model: Model, me: Caller, { graph, id }: Place): Memory {
  const place = graphOf(model, me, graph);
  return model.memoryCalled(place, id) ?? refuse("not_found");
}

export const shown = (memory: Memory) => {
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
      ...drawFurther(model, draw),
    };
  },
  expect(model, me, input) {
    const graph = graphOf(model, me, input.graph);
    const { type = "", title = "", content = "", summary = null, importance = 0.5 } = input;
    const { context = null, confidence = 0.8, externalId = null } = input;
    const further = { context, confidence, externalId, expiresAt: null };
    const said = { type, title, content, summary, tags: normal(input.tags ?? []), importance, ...further };
    refuseTaken(model, graph, externalId);
    return {
      output: { ...said, version: 1, createdBy: me.user.id, relationships: [], relationshipsTotal: 0 },
      effect({ id, createdAt }) {
        const versions = [{ ...said, by: me.user }];
        const time = model.fromService(createdAt);
        const made = { id: String(id), graph, versions, firstVersion: 1, createdBy: me.user };
        model.memories.push({ ...made, createdAt: time, changedAt: time });
      },
    };
  },
});

/** The same id again replaces, and so does the memory's own. */
export const putMemory = defineMove<Choice & Wanted & { externalId: string }>({
  weight: 5,
  input: (model, _me, draw) => ({
    graph: drawGraph(draw),
    type: draw.one(TYPES),
    title: `${model.newWord()} put`,
    content: `About ${model.newWord()}.`,
    ...drawFurther(model, draw),
    externalId: (draw.once(6) ? draw.one(model.memories)?.id : undefined) ?? drawExternalId(model, draw),
  }),
  expect(model, me, { graph: choice, ...input }) {
    const graph = graphOf(model, me, choice);
    const defaults = { type: "", title: "", content: "", summary: null, tags: [], importance: 0.5 };
    const said = { ...defaults, context: null, confidence: 0.8, ...defined(input) } as Said;
    const there = model.memoryCalled(graph, input.externalId);
    const next = { ...said, externalId: there ? presentOf(there).externalId : said.externalId, by: me.user };
    if (there) {
      const { by: _by, ...now } = next;
      const output = { ...now, id: there.id, version: versionOf(there) + 1, createdBy: there.createdBy.id };
      return {
        output,
        effect({ updatedAt }) {
          there.versions.push(next);
          there.changedAt = model.fromService(updatedAt);
        },
      };
    }
    return {
      output: { ...said, version: 1, createdBy: me.user.id },
      effect({ id, createdAt }) {
        const time = model.fromService(createdAt);
        const made = { id: String(id), graph, versions: [next], firstVersion: 1 };
        model.memories.push({ ...made, createdBy: me.user, createdAt: time, changedAt: time });
      },
    };
  },
});

const defined = <Input extends object>(input: Input): Input =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as Input;

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

export const memories = defineMove<Filter & { limit: number; offset?: number | undefined }>({
  weight: 4,
  input(model, _me, draw) {
    const offset = draw.once(6) ? draw.one([0, 1, 2, 1_000_000]) : undefined;
    return { ...drawFilter(model, draw), limit: draw.one([20, 3, 1, 100]), offset };
  },
  expect(model, me, input) {
    const all = model.memoriesIn(graphOf(model, me, input.graph));
    const found = all.filter((known) => passes(model, known, input)).slice(input.offset ?? 0);
    return { list: { field: "memories", items: found.map(shown) } };
  },
});

interface Bulk extends Choice {
  readonly memories: readonly (Wanted & { readonly ref: string })[];
  readonly relationships: readonly { fromMemoryId: string; toMemoryId: string; relationshipType: string }[];
}

export const createMemories = defineMove<Bulk>({
  weight: 3,
  input(model, me, draw) {
    const graph = drawGraph(draw);
    const memories = ["one", "two"].map((ref) => ({
      ...{ ref, type: draw.one(TYPES), title: `${model.newWord()} of many`, content: `About ${model.newWord()}.` },
      ...(draw.once(4) ? { externalId: drawExternalId(model, draw) } : {}),
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
    const names = given.flatMap(({ externalId }) => externalId ?? []);
    const taken = model.memoriesIn(graph).some((known) => names.includes(presentOf(known).externalId ?? ""));
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
        ...{ id: model.newId(), type: draw.one(TYPES), title: `${model.newWord()} again`, content: "Of an export." },
        ...{ createdAt: "2020-01-01T00:00:00.000Z", updatedAt: "2020-01-02T00:00:00.000Z" },
      },
    ],
  }),
  expect(model, me, { graph: choice, memories: given }) {
    const graph = graphOf(model, me, choice);
    // The same again, once its first result is forgotten, restores what is gone and leaves what is there.
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
  externalId: null,
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

export const updateMemory = defineMove<Place & Wanted & { expectedVersion?: number | undefined }>({
  weight: 8,
  input(model, me, draw) {
    const place = drawPlace(model, me, draw);
    const known = model.memoryCalled(likelyGraph(model, me, place.graph), place.id);
    const version = known ? versionOf(known) : 1;
    return {
      ...place,
      title: draw.once(2) ? `${model.newWord()} renamed` : undefined,
      content: draw.once(3) ? `Now about ${model.newWord()}.` : undefined,
      type: draw.once(6) ? draw.one(TYPES) : undefined,
      summary: draw.once(4) ? draw.one([null, `Shorter ${model.newWord()}`]) : undefined,
      tags: draw.once(4) ? draw.some(TAGS) : undefined,
      importance: draw.once(4) ? draw.one(IMPORTANCES) : undefined,
      ...drawFurther(model, draw),
      ...(draw.once(6) ? draw.one([{ context: null }, { externalId: null }]) : {}),
      expectedVersion: draw.once(3) ? draw.one([version, version + 1, Math.max(1, version - 1)]) : undefined,
    };
  },
  expect(model, me, { graph, id, expectedVersion, ...wanted }) {
    const changes = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined));
    if (Object.keys(changes).length === 0) refuse("bad_request");
    const found = memoryAt(model, me, { graph, id });
    if (expectedVersion !== undefined && expectedVersion !== versionOf(found)) refuse("conflict", "version_mismatch");
    refuseTaken(model, found.graph, changes["externalId"], found);
    const next = { ...presentOf(found), ...changes, by: me.user };
    const { by: _by, ...said } = next;
    return {
      output: { ...said, id: found.id, version: versionOf(found) + 1, createdBy: found.createdBy.id },
      effect({ updatedAt }) {
        found.versions.push(next);
        found.changedAt = model.fromService(updatedAt);
      },
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

interface Search extends Filter {
  readonly query: string;
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly explain: boolean;
  readonly full?: boolean;
}

export const searchMemories = defineMove<Search>({
  weight: 6,
  input(model, me, draw) {
    const filter = drawFilter(model, draw);
    const near = model.memoriesIn(likelyGraph(model, me, filter.graph));
    const wanted = draw.one(draw.once(5) || near.length === 0 ? model.memories : near);
    const said = wanted && draw.one([presentOf(wanted), ...wanted.versions]);
    const words = said ? wordsOf(said).filter((word) => word.length === UNIQUE_LENGTH) : [];
    const explain = draw.once(6);
    const offset = draw.once(6) ? draw.one([0, 1, 2, 1_000]) : undefined;
    const [query, limit] = [draw.one(words) ?? model.newWord(), explain ? 50 : 800];
    return { ...filter, query, limit, offset, explain, full: draw.once(6) };
  },
  expect(model, me, input) {
    const all = model.memoriesIn(graphOf(model, me, input.graph));
    const found = all.filter((known) => wordsOf(presentOf(known)).includes(input.query));
    const ids = found.filter((known) => passes(model, known, input)).map(({ id }) => id);
    return {
      output: { total: ids.length, totalIsCapped: false, truncated: false },
      check({ memories: hits }) {
        const hitIds = (hits as { memoryId: string }[]).map(({ memoryId }) => memoryId);
        const most = Math.max(0, Math.min(input.limit, ids.length - (input.offset ?? 0)));
        const same = hitIds.length === most && hitIds.every((id) => ids.includes(id));
        if (!same) return `it found [${hitIds.join()}], not [${ids.join()}]`;
        const whole = found.map((known) => ({ memoryId: known.id, memory: shown(known) }));
        const known = (hits as Whole[]).map(({ memoryId }) => whole.find((one) => one.memoryId === memoryId));
        return wholeDiffers(me, input, known, hits);
      },
    };
  },
});

const UNIQUE_LENGTH = 14;
const wordsOf = ({ title, content, summary }: Said): string[] =>
  `${title} ${content} ${summary ?? ""}`.match(/\w+/g) ?? [];

interface Whole {
  readonly memoryId: string;
  readonly memory?: unknown;
}

/** By REST whole memories come where they are asked for, and only there; by GraphQL they are followed. */
function wholeDiffers({ door }: Caller, { full }: { full?: boolean }, known: unknown, answered: unknown) {
  if (door === "graphql") return undefined;
  if (full) return difference(known, answered);
  return (answered as Whole[]).some(({ memory: whole }) => whole !== undefined) ? "it answered whole" : undefined;
}

type Related = Place & Walk & { full?: boolean };

export const relatedMemories = defineMove<Related>({
  weight: 6,
  input(model, me, draw) {
    return {
      ...drawPlace(model, me, draw),
      maxDepth: draw.one([1, 2, 3, 4, 5]),
      direction: draw.one(["any", "any", "out", "in"]),
      types: draw.once(4) ? draw.some(["CAUSES", "SOLVES", "FOLLOWS"]) : undefined,
      limit: draw.one([100, 20, 3, 1]),
      eachRelationship: draw.once(4),
      full: draw.once(6),
    };
  },
  expect(model, me, input) {
    const start = memoryAt(model, me, input);
    const reached = relatedTo(start, model.links, { ...input, limit: input.limit + 1 });
    const related = reached.slice(0, input.limit);
    const whole = related.map(({ memoryId }) => {
      const known = model.memories.find(({ id }) => id === memoryId);
      return { memoryId, memory: known && shown(known) };
    });
    return {
      output: { memories: related, truncated: reached.length > related.length },
      check: ({ memories: answered }) => wholeDiffers(me, input, whole, answered),
    };
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
    const meant = (ids ?? []).map((id) => model.memoryCalled(user.personal, id) ?? refuse("not_found"));
    const moved = all ? own : own.filter((each) => meant.includes(each));
    const touched = model.linksIn(user.personal);
    const ends = ({ from, to }: Link) => [from, to].filter((end) => moved.includes(end)).length;
    const cut = touched.filter((link) => ends(link) === 1);
    const along = touched.filter((link) => ends(link) === 2);
    const dropped = moved.reduce((count, { versions }) => count + versions.length - 1, 0);
    if (cut.length > 0 && !dropRelationships) refuse("conflict", "relationships_would_be_lost");
    for (const each of moved) refuseTaken(model, team.graph, presentOf(each).externalId);
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
