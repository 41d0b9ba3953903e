/**
 * The numbers behind ranking, in one place. What each does was measured by `npm run search-quality` on
 * the labelled queries, among 6,000 memories of others.
 */
export const TUNING = {
  /** What a match is worth by where it stands. */
  places: { title: 1, tags: 0.8, text: 0.7 },
  /**
   * What a match is worth by how the word was understood. `name`: it begins a name of several parts, as `resolveTenant`
   * begins `resolveTenantFromHost`; `apart`: a graph that has such a name has its parts elsewhere, too.
   */
  ways: {
    ...{ word: 1, parts: 0.95, name: 0.95, apart: 0.6, abbreviation: 0.9 },
    ...{ spelling: 0.9, beginning: 0.7 },
  },
  /** What it is worth, beside its parts, to have a name such as `src/app.ts` whole. */
  whole: 0.15,
  /**
   * A hit must match more than this share of what the best hit matches: for up to three words, for up to three words in
   * a graph whose words are not counted yet (so none is known to matter more), and for more words.
   */
  shareMin: { few: 0.5, uncounted: 0.7, many: 0.25 },
  /** How much of its points a title loses at most when it is much longer than the query. */
  brevity: 0.25,
  importance: 0.01,
  length: 0.02,
  /** What it is worth to have neighbouring words of the query side by side, for the best hits so far. */
  sideBySide: 0.2,
  /**
   * Search by meaning, measured with no model. From the relevance `exact` on, a hit has every word of the query; what is
   * less near than `nearness` means something else; `ranksBefore` is the usual constant of reciprocal rank fusion.
   */
  meaning: { exact: 0.65, nearness: 0.3, ranksBefore: 60, superseded: 0.6 },
  /** From which nearness on two memories are called similar, measured with no model. */
  similarNearness: 0.8,
  /** What is left of the relevance of a memory whose place another one has taken. */
  superseded: 0.6,
} as const;

/** From how many letters on a word may be misspelt, or the beginning of others. */
export const MISSPELT_LENGTH_MIN = 4;
/** From how many letters on a stem has kin: "parti" (party) has nothing to do with "part". */
export const KIN_LENGTH_MIN = 5;
export const BEGINNING_LENGTH_MIN = 3;
