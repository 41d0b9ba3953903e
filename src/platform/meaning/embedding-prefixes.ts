/** What a model was trained to find before texts, so that it tells questions from what answers them. */
export interface Prefixes {
  readonly query: string;
  readonly document: string;
}

const PASSAGES = "Represent this sentence for searching relevant passages: ";
const INSTRUCTION = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:";

/** As the models' cards say, by a part of their names; the first that fits counts. */
const KNOWN: ReadonlyArray<readonly [name: RegExp, query: string, document: string]> = [
  [/nomic-embed-text/, "search_query: ", "search_document: "],
  [/\be5-.*instruct/, `${INSTRUCTION} `, ""],
  [/\be5-(small|base|large)/, "query: ", "passage: "],
  [/qwen3-embedding/, INSTRUCTION, ""],
  [/embedding-?gemma/, "task: search result | query: ", "title: none | text: "],
  [/mxbai-embed-(2d-)?large/, PASSAGES, ""],
  [/arctic-embed(2|.*v2)/, "query: ", ""],
  [/arctic-embed/, PASSAGES, ""],
];

/**
 * The prefixes of a model by its name. Operators hardly know that a model needs some, and without them, or with
 * another model's, it finds less without saying so. None if the name is not known.
 */
export function prefixesOf(model: string): Prefixes {
  const [, query, document] = KNOWN.find(([name]) => name.test(model.toLowerCase())) ?? [null, "", ""];
  return { query, document };
}
