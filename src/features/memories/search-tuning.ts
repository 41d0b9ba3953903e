/**
 * The numbers behind ranking, in one place. What each does was measured by `npm run search-quality` on the labelled
 * queries, among 6,000 memories of others: as they are, recall@5 0.842 and MRR@10 0.828 on the first set, 0.986 and
 * 0.979 on the open half of our own. A number without a measurement changes neither set; what it is for, it says.
 */
export const TUNING = {
  /**
   * What a match is worth by where it stands. With text 0.8 the first set's MRR is 0.819, with 0.6 its recall 0.837;
   * with tags 0.7 its MRR is 0.822, with 0.9 that of our own set 0.965.
   */
  places: { title: 1, tags: 0.8, text: 0.7 },
  /**
   * What a match is worth by how the word was understood. `name`: it begins a name of several parts, as `resolveTenant`
   * begins `resolveTenantFromHost`; `apart`: a graph that has such a name has its parts elsewhere, too, and one that
   * has `c++` has a `c` elsewhere. With apart 0.95 recall and MRR of our own set are 0.972 and 0.965; with name or
   * abbreviation 0.7 its MRR is 0.972. Between 0.7 and 1 for a misspelt word and 0.5 and 0.9 for a beginning, nothing
   * changes: what is written otherwise is worth less. `begun`: what an unknown word begins, which is likelier than that
   * it is misspelt. `initials`: other words may have the same by chance, such as "rollback deploy steps" and RDS.
   */
  ways: {
    ...{ word: 1, parts: 0.95, name: 0.95, apart: 0.6, abbreviation: 0.9, initials: 0.6 },
    ...{ spelling: 0.9, begun: 0.95, beginning: 0.7 },
  },
  /** What it is worth, beside its parts, to have a name such as `src/app.ts` whole: it decides among equals. */
  whole: 0.15,
  /**
   * A hit must match more than this share of what the best hit matches: for up to three words, for up to three words in
   * a graph whose words are not counted yet (so none is known to matter more), and for more words. With few 0.7 the
   * first set's recall is 0.832, with many 0.35 it is 0.839; less than these lets only more hits be counted.
   */
  shareMin: { few: 0.5, uncounted: 0.7, many: 0.25 },
  /**
   * How much of its points a title loses at most when it is much longer than the query. With 0 the first set's recall
   * is 0.837 and its MRR 0.822.
   */
  brevity: 0.25,
  /** What the least important memory, and the longest text, lose at most: so little that it decides among equals. */
  importance: 0.01,
  length: 0.02,
  /**
   * What it is worth to have neighbouring words of the query side by side, for the best hits so far. With 0 the first
   * set's MRR is 0.812, and that of whole titles 0.951; with 0.1 it is 0.823.
   */
  sideBySide: 0.2,
  /**
   * Search by meaning, measured with no model. From the relevance `exact` on, a hit has every word of the query; what
   * is less near than `nearness` means something else; `ranksBefore` is the usual constant of reciprocal rank fusion.
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
