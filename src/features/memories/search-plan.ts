import { LIMITS } from "../../limits.js";
import { type Concept, type Concepts, type Variant, sum } from "./search-concepts.js";
import { TUNING } from "./search-tuning.js";

/** What a search is narrowed to, as words of the index. */
export interface Narrowing {
  readonly types: readonly string[] | null;
  readonly tags: readonly string[] | null;
}

/** What is looked up in the index: where the candidates come from, and what each of them is worth. */
export interface Plan {
  /** The first finds what matches in full. */
  readonly gates: readonly Gate[];
  readonly scans: readonly Scan[];
  /** Neighbouring words of the query, side by side or with one word between. */
  readonly pairs: readonly string[];
  /** A hit must match more than this share of what the best hit matches. */
  readonly shareMin: number;
}

interface Gate {
  readonly query: string;
  readonly limit: number;
}

/** The points that candidates of a gate get for a concept in a place. Without a query, all candidates get them. */
interface Scan {
  /** From 1, as SQL counts. */
  readonly gate: number;
  readonly concept: number;
  readonly query: string | null;
  readonly points: number;
  readonly share: number;
  readonly inTitle: boolean;
}

const TITLE = "^";
const TAG = "#";
const TEXT = "";
type Mark = typeof TITLE | typeof TAG | typeof TEXT;
const placeOf = (mark: Mark): number =>
  mark === TITLE ? TUNING.places.title : mark === TAG ? TUNING.places.tags : TUNING.places.text;

const quote = (lexeme: string): string => `'${lexeme.replace(/['\\]/g, "$&$&")}'`;
const all = (queries: readonly string[]): string =>
  queries.length === 1 ? (queries[0] ?? "") : `(${queries.join(" & ")})`;
const any = (queries: readonly string[]): string =>
  queries.length === 1 ? (queries[0] ?? "") : `(${queries.join(" | ")})`;

const variantQuery = ({ lexemes }: Variant, mark = ""): string => all(lexemes.map((lexeme) => quote(mark + lexeme)));
const variantsQuery = (variants: readonly Variant[], mark = ""): string =>
  any([...new Set(variants.map((variant) => variantQuery(variant, mark)))]);
const conceptQuery = ({ variants }: Concept, mark = ""): string => variantsQuery(variants, mark);

const documentsOf = ({ variants }: Concept): number => sum(variants.map(({ documents }) => documents));

/**
 * Candidates are the memories that match all of the query, and those with any of its rare concepts: the rarest first,
 * as many concepts as there is room for. Where all concepts are common: those with the rarest one instead, and those
 * that match all of the query and have some of it in the title.
 */
export function planSearch({ concepts, memories }: Concepts, narrowing: Narrowing, isPhrase: boolean): Plan {
  const rarest = concepts
    .toSorted((one, other) => Number(other.isKnown) - Number(one.isKnown) || documentsOf(one) - documentsOf(other))
    .slice(0, LIMITS.search.concepts);
  const required = concepts.filter(({ isExtra }) => !isExtra);
  const everything = sum(required.map(({ weight }) => weight));
  const scored = rarest.map((concept) => ({ ...concept, worth: concept.weight / everything }));
  const whole = all(required.map((concept) => variantsQuery(sureVariants(concept))));
  const narrow = (query: string): Gate => ({
    query: all([query, ...narrowingQueries(narrowing)]),
    limit: LIMITS.search.candidates,
  });
  const given = (gate: number) =>
    scored.flatMap((concept, place) => (concept.isExtra ? [] : [givenBy(concept, { gate, place })]));
  const rare = rareAmong(rarest);
  const { few, uncounted, many } = TUNING.shareMin;
  const [pairs, shareMin] = [pairsOf(required), required.length > 3 ? many : memories > 0 ? few : uncounted];
  const scans = (gate: number, of: Scored[], marks: readonly Mark[]) =>
    of.flatMap((concept) => scansOf(concept, { gate, place: scored.indexOf(concept) }, marks));
  if (isPhrase)
    return { pairs, shareMin, gates: [narrow(whole)], scans: [...given(1), ...scans(1, scored, [TITLE, TAG])] };
  if (rare.length > 0) {
    const gates = [narrow(whole), narrow(any(rare.map((concept) => conceptQuery(concept))))];
    return { pairs, shareMin, gates, scans: [...given(1), ...scans(2, scored, [TITLE, TAG, TEXT])] };
  }
  const telling = scored.filter(({ isExtra }) => !isExtra).slice(0, LIMITS.search.commonConcepts);
  const placeIn = (concept: Scored) => scored.indexOf(concept);
  const [first] = telling;
  if (!first) return { pairs, shareMin, gates: [narrow(whole)], scans: given(1) };
  if (required.length === 1) {
    const gates = [whole, conceptQuery(first, TITLE), conceptQuery(first, TAG)];
    const marks: readonly Mark[] = [TITLE, TAG];
    const places = marks.map((mark, index) => givenBy(first, { gate: index + 2, place: placeIn(first) }, mark));
    return { pairs, shareMin, gates: gates.map(narrow), scans: [...given(1), ...places] };
  }
  const titled = any(telling.map((concept) => conceptQuery(concept, TITLE)));
  const plainly = (gate: number, marks: readonly Mark[]) =>
    telling.flatMap((concept) => marks.map((mark) => scanAnyWay(concept, { gate, place: placeIn(concept) }, mark)));
  const some = (query: string): Gate => ({ ...narrow(query), limit: LIMITS.search.commonCandidates });
  const rarestOnes = some(conceptQuery(first));
  // One memory hardly ever has so many words, and it is costly to look for them all in titles too.
  if (required.length > telling.length)
    return { pairs, shareMin, gates: [narrow(whole), rarestOnes], scans: [...given(1), ...plainly(2, [TITLE, TEXT])] };
  return {
    pairs,
    shareMin,
    gates: [narrow(whole), some(all([whole, titled])), rarestOnes],
    scans: [...given(1), ...given(2), ...plainly(2, [TITLE]), ...plainly(3, [TITLE, TEXT])],
  };
}

type Scored = Concept & { readonly worth: number };

function rareAmong(rarest: readonly Concept[]): Concept[] {
  const rare: Concept[] = [];
  let expected = 0;
  for (const concept of rarest) {
    expected += documentsOf(concept);
    if (expected > LIMITS.search.candidates) break;
    rare.push(concept);
  }
  return rare;
}

/** Without the words that it begins, for a word that is known: the first gate asks for what was written. */
function sureVariants({ variants }: Concept): readonly Variant[] {
  const known = variants.filter(({ way }) => way !== "beginning");
  return known.some(({ way, documents }) => way !== "word" || documents > 1) ? known : variants;
}

function narrowingQueries({ types, tags }: Narrowing): string[] {
  return [
    ...(types ? [any(types.map((type) => quote(`:${type}`)))] : []),
    ...(tags ?? []).map((tag) => quote(`=${tag}`)),
  ];
}

function pairsOf(concepts: readonly Concept[]): string[] {
  const words = concepts.map(
    ({ variants }) => variants.find(({ lexemes, documents }) => lexemes.length === 1 && documents > 0)?.lexemes[0],
  );
  return words
    .slice(1)
    .flatMap((next, place) => {
      const word = words[place];
      if (word === undefined || next === undefined) return [];
      return [`${quote(word)} <-> ${quote(next)} | ${quote(word)} <2> ${quote(next)}`];
    })
    .slice(0, LIMITS.search.pairs);
}

interface Place {
  readonly gate: number;
  readonly place: number;
}

/** What a concept is worth to all that a gate finds. */
function givenBy({ variants, worth }: Scored, { gate, place }: Place, mark: Mark = TEXT): Scan {
  const way = Math.max(...variants.map((variant) => TUNING.ways[variant.way]));
  return {
    gate,
    concept: place,
    query: null,
    points: worth * way * placeOf(mark),
    share: worth * way,
    inTitle: mark === TITLE,
  };
}

/** The same for those that have it in a place, whichever variant it is: one look-up instead of one for each way. */
const scanAnyWay = (concept: Scored, place: Place, mark: Mark): Scan => ({
  ...givenBy(concept, place, mark),
  query: conceptQuery(concept, mark),
});

function scansOf({ variants, worth, isExtra }: Scored, { gate, place }: Place, marks: readonly Mark[]): Scan[] {
  const ways = [...new Set(variants.map(({ way }) => way))];
  return ways.flatMap((way) =>
    marks.map((mark) => ({
      gate,
      concept: place,
      query: variantsQuery(
        variants.filter((variant) => variant.way === way),
        mark,
      ),
      points: worth * TUNING.ways[way] * placeOf(mark) * (isExtra ? TUNING.whole : 1),
      share: isExtra ? 0 : worth * TUNING.ways[way],
      inTitle: mark === TITLE && !isExtra,
    })),
  );
}

/** For a query without words: memories with all of its signs. For one of stop words alone: titles with all of them. */
export function planLiterally(lexemes: readonly string[], narrowing: Narrowing): Plan {
  const query = all([all(lexemes.map(quote)), ...narrowingQueries(narrowing)]);
  const points = { concept: 0, points: TUNING.places.text, share: 1, inTitle: false };
  return {
    pairs: [],
    shareMin: TUNING.shareMin.few,
    gates: [{ query, limit: LIMITS.search.candidates }],
    scans: [{ ...points, gate: 1, query: null }],
  };
}
