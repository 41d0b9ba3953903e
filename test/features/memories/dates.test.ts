import { expect, it } from "vitest";
import { dateIn, dateOf } from "../../../src/features/memories/words/dates.js";

/** As digits with signs between: the year first, the day first, and the month first. */
const CHRISTMAS = ["20251225", "25122025", "12252025"];
/** Of a whole month, each day is one of its dates. */
const DAYS = Array.from({ length: 31 }, (_, index) => String(index + 1).padStart(2, "0"));
const DECEMBER = ["dec", "dez", "december", "dezember", "decembre", "diciembre", "dezembro", "dicembre"];
const without = (word: string): unknown[] => DECEMBER.filter((other) => other !== word).map(containing);
const containing = (word: string): unknown => expect.stringMatching(`^${word}$`);

it.each([
  ["25 december 2025", CHRISTMAS],
  ["december 25th 2025", CHRISTMAS],
  ["2025 dez 25", CHRISTMAS],
  ["2025 12 25", CHRISTMAS],
  ["25 12 2025", CHRISTMAS],
  ["12 25 2025", CHRISTMAS],
  ["1er mai 2025", ["20250501", "01052025", "152025", "05012025", "512025"]],
  ["2025 05 01", ["20250501", "01052025", "152025", "05012025", "512025"]],
  // Either may be the month.
  [
    "4 6 2025",
    ["20250604", "04062025", "462025", "06042025", "642025", "20250406", "06042025", "642025", "04062025", "462025"],
  ],
  ["december 2025", ["202512", "122025", ...DAYS.map((day) => `202512${day}`)]],
  ["25 december", ["1225"]],
  ["3rd may", ["0503"]],
])("knows %s in digits", (words, joined) => {
  expect([...(dateOf(words.split(" "))?.joined ?? [])].sort()).toEqual([...new Set(joined)].sort());
});

it.each([
  ["1 may 2025", 0, ["01", "1st"]],
  ["02 may 2025", 0, ["2", "2nd"]],
  ["may 3rd", 1, ["3", "03"]],
  ["11 may 2025", 0, ["11th"]],
  ["12 may 2025", 0, ["12th"]],
  ["13 may 2025", 0, ["13th"]],
  ["21 may 2025", 0, ["21st"]],
  ["30 may 2025", 0, ["30th"]],
  ["25 may 2025", 2, []],
])("knows other ways to write a day in %s", (words, place, others) => {
  expect(dateOf(words.split(" "))?.others[place]).toEqual(others);
});

it.each([
  ["25 dec 2025", 1, "dec"],
  ["12 25 2025", 0, "12"],
  ["2025 december", 1, "december"],
])("knows the names of the month in %s", (words, place, word) => {
  expect(dateOf(words.split(" "))?.others[place]).toEqual(expect.arrayContaining(without(word)));
  expect(dateOf(words.split(" "))?.others[place]).not.toContain(word);
});

it.each([
  "2025 13 45",
  "00 00 2000",
  "32 12 2025",
  "25 13 2025",
  "2025 00 10",
  "2025 12 0",
  "0 may",
  "1 2 3",
  "12 25",
  "2025 12",
  "may june",
  "1 2",
  "1 may 1",
  "may may 2025",
  "may 2025 2026",
  "2025 2025 2025",
  "1800 12 25",
  "2025 25 12",
])("takes %s for no date", (words) => {
  expect(dateOf(words.split(" "))).toBeUndefined();
});

it.each([
  ["27/3", "march"],
  ["3/27", "march"],
  ["(27.3.)", "march"],
  ["27.03.", "march"],
  ["4/11", "april"],
])("knows the day %s with the name of the month", (term, month) => {
  expect(dateIn(term)?.others.flat()).toContain(month);
});

it.each(["2.5", "1/2", "24/7", "22.04", "27.3", "32/5", "13/14", "5.12.1", "1/2/3", "10.20", "27", "a/b"])(
  "takes %s for no day",
  (term) => {
    expect(dateIn(term)).toBeUndefined();
  },
);
