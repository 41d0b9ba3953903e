import { chanceOf, oneOf, prose, rareWords, subjectWords, whole } from "./text.js";
import { OLD_WORD, RARE_WORD, WIDESPREAD_WORD, memoryAt } from "./dataset.js";

/** A query and the options of the search. */
export interface SearchQuestion {
  readonly name: string;
  readonly query: string;
  readonly minImportance?: number;
  readonly createdAfter?: Date;
  readonly types?: string[];
  readonly tags?: string[];
  readonly limit?: number;
}

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
const COMMON = "request server cache query client error retry timeout index connection table token release build test";

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
  { name: "a common word, 1,000 hits", query: "request", limit: 1_000 },
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
  { name: "a common word with a rare tag", query: "request", tags: [seldom()] },
  { name: "a word of 93 in 100, filtered to few", query: WIDESPREAD_WORD, minImportance: 1 },
  { name: "a word of the older half, filtered to newer", query: OLD_WORD, createdAfter: new Date("2029-12-31") },
  { name: "15 quoted common words", query: `"${COMMON}"` },
  { name: "three words in one", query: words(3).join("") },
  { name: "six times three words in one", query: Array.from({ length: 6 }, () => words(3).join("")).join(" ") },
];
