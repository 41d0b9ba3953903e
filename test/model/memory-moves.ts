import {
  type Choice,
  type Filter,
  IMPORTANCES,
  type Place,
  TAGS,
  TYPES,
  type Wanted,
  defined,
  drawClientId,
  drawFilter,
  drawFurther,
  drawPlace,
  likelyGraph,
  memoryAt,
  normal,
  passes,
  refuseTaken,
  shown,
} from "./memory-drawing.js";
import { ANY, type Link, type Memory, type Said, presentOf, versionOf } from "./model.js";
import { defineMove, drawGraph, drawId, graphOf, refuse } from "./move.js";

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
    const { context = null, confidence = 0.8, clientId = null } = input;
    const further = { context, confidence, clientId, expiresAt: null };
    const said = { type, title, content, summary, tags: normal(input.tags ?? []), importance, ...further };
    refuseTaken(model, graph, clientId);
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

/** Creates the memory, or replaces the one with this client id or id. */
export const putMemory = defineMove<Choice & Wanted & { clientId: string }>({
  weight: 5,
  input: (model, _me, draw) => ({
    graph: drawGraph(draw),
    type: draw.one(TYPES),
    title: `${model.newWord()} put`,
    content: `About ${model.newWord()}.`,
    ...drawFurther(model, draw),
    clientId: (draw.once(6) ? draw.one(model.memories)?.id : undefined) ?? drawClientId(model, draw),
  }),
  expect(model, me, { graph: choice, ...input }) {
    const graph = graphOf(model, me, choice);
    const defaults = { type: "", title: "", content: "", summary: null, tags: [], importance: 0.5 };
    const said = { ...defaults, context: null, confidence: 0.8, ...defined(input) } as Said;
    const there = model.memoryCalled(graph, input.clientId);
    const next = { ...said, clientId: there ? presentOf(there).clientId : said.clientId, by: me.user };
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
  const { id, from, to, type, strength, confidence, context } = link;
  const other = from === memory ? to : from;
  const direction = from === memory ? "out" : "in";
  const { type: otherType, title } = presentOf(other);
  const end = { id: other.id, type: otherType, title };
  const said = { type, strength, confidence, context };
  return { relationshipId: id, ...said, from: from.id, to: to.id, direction, memory: end };
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
      ...(draw.once(6) ? draw.one([{ context: null }, { clientId: null }]) : {}),
      expectedVersion: draw.once(3) ? draw.one([version, version + 1, Math.max(1, version - 1)]) : undefined,
    };
  },
  check({ graph: _graph, id: _id, expectedVersion: _version, ...wanted }) {
    if (Object.values(wanted).every((value) => value === undefined)) refuse("bad_request");
  },
  expect(model, me, { graph, id, expectedVersion, ...wanted }) {
    const changes = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined));
    const found = memoryAt(model, me, { graph, id });
    if (expectedVersion !== undefined && expectedVersion !== versionOf(found)) refuse("conflict", "version_mismatch");
    refuseTaken(model, found.graph, changes["clientId"], found);
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
  check({ ids, all = false }) {
    if (all === (ids !== undefined)) refuse("bad_request");
  },
  expect(model, { user }, { ids, all = false, dropRelationships = false }) {
    const team = model.teamOf(user) ?? refuse("not_found", "no_team");
    const own = model.memoriesIn(user.personal);
    const meant = (ids ?? []).map((id) => model.memoryCalled(user.personal, id) ?? refuse("not_found"));
    const moved = all ? own : own.filter((each) => meant.includes(each));
    const touched = model.linksIn(user.personal);
    const ends = ({ from, to }: Link) => [from, to].filter((end) => moved.includes(end)).length;
    const cut = touched.filter((link) => ends(link) === 1);
    const along = touched.filter((link) => ends(link) === 2);
    const dropped = moved.reduce((count, { versions }) => count + versions.length - 1, 0);
    if (cut.length > 0 && !dropRelationships) refuse("conflict", "relationships_would_be_lost");
    const there = model.memoriesIn(team.graph);
    if (moved.some(({ id }) => there.some((known) => known.id === id))) refuse("conflict", "memory_exists");
    for (const each of moved) refuseTaken(model, team.graph, presentOf(each).clientId);
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
          // Earlier versions remain with their author, so sharing drops them.
          each.versions.splice(0, each.versions.length - 1);
        }
      },
    };
  },
});
