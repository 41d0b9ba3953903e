/**
 * The numbers behind ranking, in one place. What each does was measured by `npm run search-quality` on
 * the labelled queries, among 6,000 memories of others.
 */
export const TUNING = {
  /** What a match is worth by where it stands. */
  places: { title: 1, tags: 0.8, text: 0.7 },
  /** What a match is worth by how the word was understood. */
  ways: { word: 1, parts: 0.95, abbreviation: 0.9, spelling: 0.9, beginning: 0.7 },
  /** What it is worth, beside its parts, to have a name such as `src/app.ts` whole. */
  whole: 0.15,
  /**
   * A hit must match more than this share of what the best hit matches: for up to three words, for up to three words in
   * a graph whose words are not counted yet (so none is known to matter more), and for more words.
   */
  shareMin: { few: 0.5, uncounted: 0.7, many: 0.25 },
  /** How much of its points a title loses at most when it is much longer than the query. */
  brevity: 0.15,
  importance: 0.01,
  length: 0.02,
  /** What it is worth to have neighbouring words of the query side by side, for the best hits so far. */
  sideBySide: 0.2,
} as const;

/** From how many letters on a word may be misspelt, or the beginning of others. */
export const MISSPELT_LENGTH_MIN = 4;
export const BEGINNING_LENGTH_MIN = 3;
