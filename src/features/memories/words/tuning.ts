/**
 * The numbers behind ranking, in one place. Each was measured by `npm run search-quality`, by labelled queries among
 * 6,000 unrelated memories. With these values, recall@5 is 0.842 and MRR@10 0.831 on the first set, 0.986 and 0.979 on
 * the open half of our own set, 0.924 and 0.876 on the themes. A number without a measurement changes neither of the
 * first two; its comment says what it is for.
 */
export const TUNING = {
  /**
   * What a match is worth by where it stands. With text 0.8 the first set's MRR is 0.818, with 0.6 its recall 0.837;
   * with tags 0.7 its MRR is 0.828, with 0.9 that of our own set 0.965.
   */
  places: { title: 1, tags: 0.8, text: 0.7 },
  /**
   * What a match is worth by how the word was understood. `name`: the word begins a name of several parts, as
   * `resolveTenant` begins `resolveTenantFromHost`. `apart`: the parts of a name elsewhere, in a graph that also has
   * the whole name, such as a `c` in one that has `c++`. `begun`: words that an unknown word begins, which is likelier
   * than a misspelling. `form`: a form with another stem, such as "froze" of "freeze"; mostly the form itself is meant.
   * `type`: the memory is of a type that the word names, which ranks below the word in a text. With 0.6, "react errors"
   * finds an error of something else first: of 73 ordinary queries with types, 4 have another first hit.
   * `rest`: what the index has of a name with stop words, such as "log" of "log in".
   * `initials`: other words may have the same by chance, such as "rollback deploy steps" and RDS; with 0.6, that one
   * word can be worth more than two of the three. With form 0.75, the MRR of the first set is 0.828. With apart 0.95,
   * recall and MRR of the themes are 0.920 and 0.868; with abbreviation 0.7, the MRR of our own set is 0.972. Nothing
   * changes there with name 0.7, from 0.7 to 1 for a spelling and from 0.5 to 0.9 for a beginning; all are below 1 since
   * the memory has another word.
   */
  ways: {
    word: 1,
    form: 0.6,
    parts: 0.95,
    name: 0.95,
    apart: 0.6,
    abbreviation: 0.9,
    initials: 0.5,
    rest: 0.9,
    spelling: 0.9,
    begun: 0.95,
    beginning: 0.7,
    type: 0.8,
  },
  /**
   * The share of the weight that is left at least for the rest of a name, such as "memory" of "out of memory", and for a
   * type: with less than 0.28 and 0.32, `shareMin.single` drops all that has the name so where most memories have the
   * word, and all of the type where one memory has the word.
   */
  besideLeast: { rest: 0.3, type: 0.35 },
  /** What a whole name such as `src/app.ts` is worth in addition to its parts: it decides among equals. */
  whole: 0.15,
  /**
   * A hit must match more than this share of what the best hit matches: for up to three words, for up to three words in
   * a graph whose words are not counted yet (so none is known to matter more), and for more words; `single`: if no hit
   * has more than one of the words. With few 0.7 the first set's recall is 0.832, with many 0.35 it is 0.839; lower
   * values only count more hits. With single 0.5, a word that one memory has hides a name that a sixth of all have.
   */
  shareMin: { few: 0.5, uncounted: 0.7, many: 0.25, single: 0.25 },
  /**
   * How much of its points a title loses at most when it is much longer than the query. With 0 the first set's recall
   * is 0.837 and its MRR 0.829.
   */
  brevity: 0.25,
  /** What the least important memory, and the longest text, lose at most: so little that it decides among equals. */
  importance: 0.01,
  length: 0.02,
  /**
   * What it is worth to have neighbouring words of the query side by side, for the best hits so far. With 0 the first
   * set's MRR is 0.817, and that of whole titles 0.951; with 0.1 the recall of the themes is 0.923.
   */
  sideBySide: 0.2,
  /**
   * Search by meaning, measured with the Universal Sentence Encoder (lite) and with the averages of its word vectors.
   * A hit with a relevance of `exact` or more has every word of the query. A memory less near than `nearness` means
   * something else: with 0.35, recall of paraphrases is 0.147 instead of 0.176; of 25 queries about other topics, 1
   * finds anything as near as 0.3. From `likely` on, words count `likelyShare` times as much as meaning, as does the
   * first hit if it has `clear` times the relevance of the second. Without both, the MRR of misspelt queries is 0.907
   * instead of 0.962 and that of pasted errors 0.819 instead of 1; without `clear`, that of pasted errors 0.944 and of
   * questions 0.833 instead of 0.875. From 0.3 to 0.5, 1.5 to 3, and 1.05 to 1.3, only single queries change.
   * `ranksBefore` is the constant of reciprocal rank fusion. With the usual 60, a place in both lists is worth more
   * than the first place in one: by averages, recall of several facts is 0.912 instead of 0.956; by sentences, only
   * single queries change.
   */
  meaning: { clear: 1.15, exact: 0.65, likely: 0.4, likelyShare: 2, nearness: 0.3, ranksBefore: 10, superseded: 0.6 },
  /**
   * How near two memories must be to count as similar. By the sentence encoder, 0.75 finds 11 of 16 restated memories
   * and calls 33 of 394 others similar; 0.8 finds 8 and calls 2. By averaged word vectors, 0.75 finds 0.81 of 36 and
   * calls none similar; 0.8 finds 0.53. By vectors that are all near each other, 0.75 finds 0.97 and calls 0.10 of the
   * others similar; a cosine of 0.8 called 0.89.
   */
  similarNearness: 0.75,
  /** The share of its relevance that a superseded memory keeps. */
  superseded: 0.6,
} as const;

/** The least number of letters of a word that may be misspelt. */
export const MISSPELT_LENGTH_MIN = 4;
/** The least number of letters of a stem that has kin: "parti" (party) has nothing to do with "part". */
export const KIN_LENGTH_MIN = 5;
/** The least number of letters of a word that may be the beginning of others. */
export const BEGINNING_LENGTH_MIN = 3;
