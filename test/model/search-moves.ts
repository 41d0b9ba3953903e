import { difference } from "./agree.js";
import {
  type Filter,
  type Place,
  drawFilter,
  drawPlace,
  likelyGraph,
  memoryAt,
  passes,
  shown,
} from "./memory-drawing.js";
import { type Said, presentOf } from "./model.js";
import { type Caller, defineMove, graphOf } from "./move.js";
import { type Walk, relatedTo } from "./related.js";

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
    const [query, limit] = [draw.one(words) ?? model.newWord(), explain ? 50 : 700];
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

/** REST returns whole memories only if requested; GraphQL follows them as relations. */
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
