import type { SearchWishes } from "../../src/features/memories/words/find-memories.js";
import { chanceOf, oneOf, prose, rareWords, subjectWords, whole, wordsByFrequency } from "./text.js";
import { LONG_TEXT_WORDS, OLD_WORD, RARE_WORD, WIDESPREAD_WORD, memoryAt, projectAt } from "./dataset.js";

/** A query and the options of the search. */
export interface SearchQuestion extends Partial<SearchWishes> {
  readonly name: string;
  readonly query: string;
  /** Only memories of these shares of the graph by age: from 0 for the oldest to 1 for the newest. */
  readonly aged?: readonly [number, number];
  /** Whether to search the graph of long texts. */
  readonly inLongTexts?: boolean;
}

/** What a search may cost in graphs of up to so many memories: milliseconds of PostgreSQL's CPU. */
export const GATES = [
  { memories: 100_000, median: 30, worst: 60 },
  { memories: 1_000_000, median: 120, worst: 250 },
] as const;
/** The same for a rare word in a graph of any size. */
export const RARE_GATE = { median: 2, worst: 60 };

const chance = chanceOf(11, 0);
const words = (count: number): string[] => subjectWords(chance, count);
/** The word with two letters swapped. */
const misspell = (word: string): string => {
  const at = 1 + whole(chance, Math.max(1, word.length - 2));
  return `${word.slice(0, at)}${word.charAt(at + 1)}${word.charAt(at)}${word.slice(at + 2)}`;
};
const longWords = (count: number): string[] =>
  Array.from({ length: 40 * count }, () => words(1)[0] ?? "")
    .filter((word) => word.length > 6)
    .slice(0, count);
const sentence = (): string => prose(chance, 9).replace(".", "").split(".")[0] ?? "";
const seldom = (): string => oneOf(chance, rareWords(memoryAt(1_234).content, 2_000));
/** The most common words of the texts, which hardly anybody searches for alone. */
const COMMON = wordsByFrequency(15).join(" ");
const THREE = wordsByFrequency(3).join(" ");
/** Each common word is denied; of these, a search reads the texts for the first two. */
const DENIED = `not ${wordsByFrequency(4).join(" without ")}`;

type TagsMatch = NonNullable<SearchWishes["tagsMatch"]>;
const anyOf = (tags: string[]) => ({ tags, tagsMatch: "any" as TagsMatch });

/** What many memories match, each with every filter. */
const WIDE_QUERIES: Readonly<Record<string, string>> = {
  "a common word": "request",
  "the three most common words": THREE,
  "the same as a phrase": `"${THREE}"`,
  "15 common words": COMMON,
  "15 quoted common words": `"${COMMON}"`,
  "a word of 93 in 100": WIDESPREAD_WORD,
  "a sign": ".",
  "60 words": words(60).join(" "),
};

/** Filters that pass few, some and most memories, near to each other and far apart. */
const FILTERS: Readonly<Record<string, Partial<SearchQuestion>>> = {
  "importance of 1 in 100": { minImportance: 0.99 },
  "importance of 3 in 100": { minImportance: 0.97 },
  "importance of 1 in 10": { minImportance: 0.9 },
  "importance of 1 in 3": { minImportance: 0.67 },
  "a project of 1 in 25": { project: projectAt(3) },
  "the oldest 5 in 100": { aged: [0, 0.05] },
  "5 in 100 in the middle": { aged: [0.5, 0.55] },
  "the newest 5 in 100": { aged: [0.95, 1] },
  "a type of 1 in 8": { types: ["task"] },
  "two types": { types: ["task", "fix"] },
  "50 types": { types: [...wordsByFrequency(46), "task", "fix", "error", "problem"] },
  "any of 50 common tags": anyOf(wordsByFrequency(50)),
  "any of 50 other tags": anyOf(wordsByFrequency(50, 100)),
  "any of 50 tags, importance of 1 in 20": { ...anyOf(wordsByFrequency(50)), minImportance: 0.95 },
  "a type, importance of 1 in 10": { types: ["task"], minImportance: 0.9 },
  "a project, a type": { project: projectAt(3), types: ["task"] },
};

const filtered: readonly SearchQuestion[] = Object.entries(WIDE_QUERIES).flatMap(([name, query]) =>
  Object.entries(FILTERS).map(([filter, wishes]) => ({ name: `${name}; ${filter}`, query, ...wishes })),
);

const LONG_PHRASE = `"${LONG_TEXT_WORDS.join(" ")}"`;
const LONG_TEXT_FILTERS: Readonly<Record<string, Partial<SearchQuestion>>> = {
  "no filter": {},
  "a type of 1 in 8": { types: ["task"] },
  "any importance": { minImportance: 0 },
  "importance of 1 in 10": { minImportance: 0.9 },
  "any date": { createdAfter: new Date("2020-01-01") },
};
const inLongTexts: readonly SearchQuestion[] = Object.entries({
  "a phrase of half of the long texts": LONG_PHRASE,
  "words of long texts": LONG_TEXT_WORDS.join(" "),
  "denied words of long texts": `not ${LONG_TEXT_WORDS.join(" without ")}`,
}).flatMap(([name, query]) =>
  Object.entries(LONG_TEXT_FILTERS).map(([filter, wishes]) => ({
    name: `${name}; ${filter}`,
    query,
    inLongTexts: true,
    ...wishes,
  })),
);

/** Likely queries, then hostile ones. */
export const SEARCH_QUESTIONS: readonly SearchQuestion[] = [
  { name: "a rare word", query: RARE_WORD },
  { name: "a word of 1 memory in 600", query: seldom() },
  { name: "two words", query: words(2).join(" ") },
  { name: "four words", query: words(4).join(" ") },
  { name: "a question", query: `how do we ${words(3).join(" the ")}?` },
  { name: "a misspelt word", query: misspell(longWords(1)[0] ?? "") },
  { name: "the beginning of a word", query: "conn" },
  { name: "a name of three parts", query: "requestServerCache" },
  { name: "names with signs", query: "--request server=cache $query client.error()" },
  { name: "a common word", query: "request" },
  { name: "a word of 93 memories in 100", query: WIDESPREAD_WORD },
  { name: "a word of the older half", query: OLD_WORD },
  { name: "both", query: `${WIDESPREAD_WORD} ${OLD_WORD}` },
  { name: "two common words", query: "request server" },
  { name: "the three most common words", query: THREE },
  { name: "the same as a phrase", query: `"${THREE}"` },
  { name: "the four most common words, denied", query: DENIED },
  { name: "the same, explained", query: THREE, explain: true, limit: 50 },
  { name: "the same, expired ones too", query: THREE, expired: null },
  { name: "a common word, 1,000 hits", query: "request", limit: 1_000 },
  { name: "a common word, the last page", query: "request", offset: 980 },
  { name: "a word of 93 in 100, 1,000 hits", query: WIDESPREAD_WORD, limit: 1_000 },
  { name: "15 common words", query: COMMON },
  { name: "60 words", query: words(60).join(" ") },
  { name: "60 words of sentences", query: prose(chance, 60) },
  { name: "6 misspelt words", query: longWords(6).map(misspell).join(" ") },
  { name: "16 misspelt words", query: longWords(16).map(misspell).join(" ") },
  { name: "a quoted sentence", query: `"${sentence()}"` },
  { name: "six quoted sentences", query: Array.from({ length: 6 }, () => `"${sentence()}"`).join(" ") },
  { name: "a quoted pair of common words", query: '"request server" "cache query" "client error"' },
  { name: "a sign", query: "." },
  { name: "signs", query: "%$#@!-_=+" },
  { name: "one letter", query: "a" },
  { name: "two letters", query: "re" },
  { name: "1,000 characters without a space", query: "ab".repeat(500) },
  { name: "500 Chinese characters", query: "服务器无法建立连接池".repeat(50) },
  { name: "a common word, filtered to few", query: "request", minImportance: 1, createdAfter: new Date("2026-01-02") },
  { name: "four words, filtered to none", query: words(4).join(" "), createdAfter: new Date("2126-01-01") },
  { name: "a common word of a type that is not there", query: "request", types: ["nothing"] },
  { name: "a word for a type", query: "problems" },
  { name: "a common word and one for a type", query: "request problems" },
  { name: "words for six types", query: "problems errors solutions decisions tasks commands" },
  { name: "a common word with a rare tag", query: "request", tags: [seldom()] },
  { name: "a word of 93 in 100, filtered to few", query: WIDESPREAD_WORD, minImportance: 1 },
  { name: "a word of the older half, filtered to newer", query: OLD_WORD, createdAfter: new Date("2029-12-31") },
  { name: "15 quoted common words", query: `"${COMMON}"` },
  { name: "negated words", query: "-request -server" },
  { name: "500 Chinese characters, filtered", query: "服务器无法建立连接池".repeat(50), minImportance: 0.95 },
  { name: "three words in one", query: words(3).join("") },
  { name: "six times three words in one", query: Array.from({ length: 6 }, () => words(3).join("")).join(" ") },
  ...filtered,
  ...inLongTexts,
];
