import type { Statement } from "../../platform/database.js";

/**
 * What the pieces of a query stand for in the index; see the migration `search` for this and the others. SQL, since no
 * model searches this index.
 */
export const searchWords: Statement = {
  name: "search_words",
  text: "SELECT * FROM search_words($1, $2, $3)",
};

export interface KnownPiece {
  /** From 1, as SQL counts. */
  readonly place: number;
  readonly lexemes: string[];
  readonly documents: number;
  readonly known: boolean;
  readonly memories: number;
}

/** Words of the graph for misspelt ones. SQL, since no model compares words. */
export const wordsAlike: Statement = {
  name: "search_words_alike",
  text: "SELECT * FROM words_alike($1, $2, $3, $4, $5)",
};

export interface AlikeWord {
  /** The word or beginning that was asked for; empty for a spelling. */
  readonly asked: string;
  readonly word: string;
  readonly stem: string[];
  readonly documents: number;
  readonly begins: boolean;
}

/** The best hits. SQL, since no model ranks by this index. */
export const searchHits: Statement = {
  name: "search_hits",
  text: `SELECT * FROM search_hits($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
    $20, $21)`,
};

export interface HitRow {
  readonly id: string;
  readonly type: string;
  readonly title: string;
  readonly relevance: number;
  readonly total: number;
}
