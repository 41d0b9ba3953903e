import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ImportedGraph } from "../../src/import/graph.js";
import { FROM, IDS, NAMES, RELATION_TYPES, TAGS, TEXTS, TO, TYPES } from "../../src/import/names.js";
import { entity, jsonLines, leftOut, readText } from "../support/imports.js";
import { roundsOf } from "../support/rounds.js";

type Lines = readonly object[];

/** How files combine their records. */
const CARRIERS: Readonly<Record<string, (lines: Lines) => string>> = {
  "JSON lines": (lines) => jsonLines(...lines),
  "lines with a mark in front, CR LF and blank lines": (lines) =>
    `\uFEFF${jsonLines(...lines).replaceAll("\n", "\r\n\r\n")}`,
  "lines with commas": (lines) => jsonLines(...lines).replaceAll("\n", ",\n"),
  "a list": (lines) => JSON.stringify(lines),
  "a list over lines, with a comma too many": (lines) => JSON.stringify(lines, undefined, 2).replace(/\n\]$/, ",\n]"),
  "objects over lines": (lines) => lines.map((line) => JSON.stringify(line, undefined, 2)).join("\n"),
  "objects over lines, with commas": (lines) => lines.map((line) => JSON.stringify(line, undefined, 2)).join(",\n"),
  "after a marker and a comment": (lines) => `{"type":"_aim","source":"x"}\n// a comment\n${jsonLines(...lines)}`,
};

/** The forms in which files write the fields of a memory. */
const SHAPES: ReadonlyArray<(leaf: () => string) => unknown> = [
  (leaf) => leaf(),
  (leaf) => [leaf(), leaf()],
  (leaf) => [{ text: leaf() }, { content: leaf(), timestamp: leaf() }],
  (leaf) => [{ observation: leaf(), metadata: { source: leaf(), tags: [leaf(), leaf()] } }],
  (leaf) => [{ other: leaf(), deep: { deeper: [leaf(), { deepest: leaf() }] } }],
  (leaf) => ({ [leaf()]: leaf(), text: leaf() }),
  (leaf) => [[leaf(), [leaf()]], 42, true, leaf()],
  (leaf) => `${leaf()}\n${leaf()}`,
];

/** Makes texts that occur only once each. */
function newLeaves() {
  const leaves: string[] = [];
  const leaf = () => {
    leaves.push(`leaf${1_000_000 + leaves.length}`);
    return leaves.at(-1) ?? "";
  };
  return { leaves, leaf };
}

/** Everything that is stored or reported, in lower case because types and tags are. */
const resultOf = ({ notes, links, notTaken, ignored, notCarried }: ImportedGraph) =>
  JSON.stringify([...notes.values(), ...links.values(), ...notTaken, ...ignored, ...notCarried.keys()]).toLowerCase();

/** The texts that were lost. For a field that the service replaces by its own, its reported name is enough. */
function lostIn(graph: ImportedGraph, leaves: readonly string[], value: unknown): string[] {
  const result = resultOf(graph);
  return leaves.filter((leaf) => !result.includes(leaf) && !isCounted(value, leaf, graph.notCarried));
}

const isCounted = (value: unknown, leaf: string, counted: ReadonlyMap<string, number>): boolean =>
  typeof value === "object" &&
  value !== null &&
  Object.entries(value).some(([name, inner]) =>
    counted.has(name) ? JSON.stringify(inner).includes(leaf) : isCounted(inner, leaf, counted),
  );

const pick = <Item>(items: readonly Item[], index: number): Item => items[index % items.length] as Item;
const countOf = (graph: ImportedGraph, kind: string) => graph.notTaken.filter((item) => item.kind === kind).length;

/** The numbers of stored, merged and reported items add up to the number read. */
function expectSums(graph: ImportedGraph): void {
  const { memories, relationships, others, notes, links, ignored } = graph;
  expect(memories.read).toBe(notes.size + memories.merged + countOf(graph, "memory"));
  expect(relationships.read).toBe(links.size + relationships.merged + countOf(graph, "relationship"));
  expect(others.read).toBe(ignored.length + countOf(graph, "other"));
}

const snakeCase = (name: string) =>
  name.replace(/(entity|relation|relationship|memory|from|to|source|target)(?=.)/g, "$1_");

const carriers = Object.values(CARRIERS);

describe("a file of any format", () => {
  it("keeps every text of memories, with any names of fields", () => {
    let turn = 0;
    for (const name of [...NAMES, ...IDS]) {
      for (const text of TEXTS) {
        turn++;
        const { leaves, leaf } = newLeaves();
        const record = {
          ...pick([{}, { type: "entity" }, { _type: "node" }], turn),
          [pick([name, snakeCase(name)], turn)]: leaf(),
          [pick(TYPES.slice(0, 4), turn)]: leaf(),
          [text]: pick(SHAPES, turn + Math.floor(turn / SHAPES.length))(leaf),
          [pick(TAGS, turn)]: [leaf(), leaf()],
          importance: pick([0.5, 7], turn),
          [pick(["attributes", "metadata", "properties", "whatever"], turn)]: { color: leaf(), deep: { er: leaf() } },
          weight: 3,
          summary: turn % 2 === 0 ? leaf() : `${leaf()}${"x".repeat(2_000)}`,
        };
        const graph = readText(pick(carriers, turn + Math.floor(turn / carriers.length))([record]));
        const what = JSON.stringify(record);

        expect(leftOut(graph), what).toEqual([]);
        expect(graph.notes.size, what).toBe(1);
        expect(lostIn(graph, leaves, record), what).toEqual([]);
        expect(resultOf(graph), what).toContain("weight: 3");
        expectSums(graph);
      }
    }
  });

  it("keeps every text of relationships, between memories and inside them", () => {
    let turn = 0;
    for (const from of FROM) {
      for (const to of TO) {
        turn++;
        const { leaves, leaf } = newLeaves();
        const type = pick(RELATION_TYPES, turn);
        const more = {
          [type]: leaf(),
          [pick(["weight", "strength"], turn)]: pick([0.5, 3, "much"], turn),
          [pick(["attributes", "properties", "evidence"], turn)]: { why: leaf(), list: [leaf(), { deep: leaf() }] },
        };
        const end = (name: string) => (turn % 2 === 0 ? name : { name, color: leaf() });
        const records = [
          entity("Ann", "person"),
          entity("Bob", "person"),
          { ...entity("Eve", "person"), [pick(["relations", "relationships"], turn)]: [{ [to]: end("Bob"), ...more }] },
          { [from]: end("Ann"), [to]: end("Bob"), ...more },
          { ...entity("Joe", "person"), relations: pick([["Ann"], { knows: ["Ann"] }, { knows: "Ann" }], turn) },
        ];
        const graph = readText(pick(carriers, turn)(records));
        const what = JSON.stringify(records);

        expect(leftOut(graph), what).toEqual([]);
        expect(graph.links.size, what).toBe(3);
        expect(lostIn(graph, leaves, records), what).toEqual([]);
        expectSums(graph);
      }
    }
  });
});

it.each(Object.entries(CARRIERS))("reads the same from %s", (_name, textOf) => {
  const lines = [
    entity("Ann", "person", 'a {[}] "quoted, // text"', "b,]"),
    { from: "Ann", to: "Bob" },
    entity("Bob", "x"),
  ];
  const graph = readText(textOf(lines));

  expect([...graph.notes.values()].map(({ content }) => content)).toEqual(['a {[}] "quoted, // text"\nb,]', "Bob"]);
  expect(graph.links.size).toBe(1);
  expect(graph.notTaken).toEqual([]);
});

const PLACE = /lines? (\d+)(?: to (\d+))?|\[(\d+)\]/g;

it("keeps or reports every text of any file", () => {
  const fields = [
    ...NAMES,
    ...TEXTS,
    ...TYPES,
    ...FROM,
    ...TO,
    "relations",
    "metadata",
    "entities",
    "other",
    "createdAt",
  ];
  const label = fc.constantFrom(...fields);
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      fc.constant("leaf"),
      fc.constant(1),
      fc.constantFrom("Ann", "Bob"),
      tie("list"),
      tie("map"),
    ),
    list: fc.array(tie("any"), { maxLength: 3 }),
    map: fc.dictionary(label, tie("any"), { maxKeys: 4 }),
  }));
  const record = fc.dictionary(label, value.any, { maxKeys: 5 });
  const property = fc.property(fc.array(record, { maxLength: 4 }), (made) => {
    const placesOf = new Map<string, number>();
    const known = [entity("Ann", "person"), entity("Bob", "person")];
    let next = 0;
    const marked = made.map((item, index) => {
      const text = JSON.stringify(item).replaceAll('"leaf"', () => {
        placesOf.set(`leaf${1_000_000 + next}`, known.length + index + 1);
        return `"leaf${1_000_000 + next++}"`;
      });
      return JSON.parse(text) as object;
    });
    const graph = readText(jsonLines(...known, ...marked));
    const reported = graph.notTaken.map(({ what }) => what).join(" ");
    const lines = new Set(Array.from(reported.matchAll(PLACE), ([, line]) => Number(line)));
    const lost = lostIn(graph, [...placesOf.keys()], marked).filter((leaf) => !lines.has(placesOf.get(leaf) ?? 0));
    expect(lost, jsonLines(...marked)).toEqual([]);
    expectSums(graph);
  });
  fc.assert(property, { numRuns: roundsOf(2_000), seed: 9 });
});
