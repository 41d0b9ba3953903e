import { fold } from "./fold.js";

/** The months in English and German, with abbreviations, and in eight more languages: each by its names. */
const MONTHS: ReadonlyArray<readonly string[]> = [
  "jan january januar janvier enero janeiro gennaio januari stycznia январь января",
  "feb february februar fevrier febrero fevereiro febbraio februari lutego февраль февраля",
  "mar march marz maerz mars marzo marco maart marca март марта",
  "apr april avril abril aprile kwietnia апрель апреля",
  "may mai mayo maio maggio mei maja май мая",
  "jun june juni juin junio junho giugno czerwca июнь июня",
  "jul july juli juillet julio julho luglio lipca июль июля",
  "aug august aout agosto augustus sierpnia август августа",
  "sep sept september septembre septiembre setembro settembre wrzesnia сентябрь сентября",
  "oct okt october oktober octobre octubre outubro ottobre pazdziernika октябрь октября",
  "nov november novembre noviembre novembro listopada ноябрь ноября",
  "dec dez december dezember decembre diciembre dezembro dicembre grudnia декабрь декабря",
].map((names) => fold(names).split(" "));
const MONTH_OF: ReadonlyMap<string, number> = new Map(
  MONTHS.flatMap((names, index) => names.map((name) => [name, index + 1] as const)),
);

const YEAR = /^(?:19|20)\d\d$/;
const DAY = /^(0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th|er)?$/;
const MONTH = /^(?:0?[1-9]|1[0-2])$/;

/** What two or three words of a query may be as a date. */
export interface AsDate {
  /** As the index has the date, or the end of one, where it is written in digits with signs between. */
  readonly joined: readonly string[];
  /** For each of the words, how else the day or the month is written. */
  readonly others: readonly (readonly string[])[];
}

const two = (number: number): string => String(number).padStart(2, "0");
/** The days of a month: of a whole one, each is asked for, as longer numbers may begin like it. */
const DAYS = Array.from({ length: 31 }, (_, index) => two(index + 1));

const ENDINGS = ["th", "st", "nd", "rd"];
const ordinal = (day: number): string => `${day}${(day < 11 || day > 13 ? ENDINGS[day % 10] : undefined) ?? "th"}`;

/**
 * The date that two or three words are: "1 December 2025", "December 1st, 2025", "2025-12-01", "1.12.2025" (also as the
 * twelfth of January), or without the day or the year. Undefined for others.
 */
export function dateOf(words: readonly string[]): AsDate | undefined {
  const readings = readingsOf(words);
  if (readings.length === 0) return undefined;
  return { joined: [...new Set(readings.flatMap(joinedOf))], others: othersOfEach(words, readings) };
}

/** A day and a month in digits: "27/3", "3/27" and "27.3."; no "2.5", no "22.04", which is a version, no "1/2" and "24/7". */
const IN_DIGITS = /^[^\p{L}\p{N}]*(?!\d\/\d(?!\d)|24\/7(?!\d))(\d{1,2})(?:\/(\d{1,2})|\.(\d{1,2})\.)[^\p{L}\p{N}]*$/u;

/**
 * Other words for a day and a month in digits, and how both are written side by side: see `patternOfForms`. None are
 * joined: four digits are mostly something else.
 */
export function dateIn(term: string): (Pick<AsDate, "others"> & { readonly written: readonly string[] }) | undefined {
  const [, first = "", afterSlash, beforeDot] = IN_DIGITS.exec(term) ?? [];
  const last = afterSlash ?? beforeDot ?? "";
  const orders = [[first, last], ...(afterSlash === undefined ? [] : [[last, first]])];
  const readings = orders.flatMap(([day, month]) => readingOf(day, month));
  if (readings.length === 0) return undefined;
  return { others: othersOfEach([first, last], readings), written: readings.flatMap(writtenOf) };
}

const othersOfEach = (words: readonly string[], readings: readonly Reading[]): AsDate["others"] =>
  words.map((word) => readings.flatMap((reading) => othersOf(word, reading)).filter((other) => other !== word));

function readingOf(given = "", month = "", year?: string): Reading[] {
  const day = dayOf(given);
  return MONTH.test(month) && day ? [{ year, month: { word: month, number: Number(month) }, day }] : [];
}

function dayOf(word: string): Reading["day"] {
  const digits = DAY.exec(word)?.[1];
  return digits === undefined ? undefined : { word, number: Number(digits) };
}

interface Reading {
  readonly year?: string | undefined;
  readonly month: { readonly word: string; readonly number: number };
  readonly day?: { readonly word: string; readonly number: number } | undefined;
}

function readingsOf(words: readonly string[]): Reading[] {
  const year = words.find((word) => YEAR.test(word));
  const named = words.find((word) => MONTH_OF.has(word));
  if (named !== undefined) {
    const day = words.map(dayOf).find(Boolean);
    const isDate = [year, named, day].filter(Boolean).length === words.length;
    return isDate ? [{ year, month: { word: named, number: MONTH_OF.get(named) ?? 0 }, day }] : [];
  }
  // Month and day; of "4/6/2025" either may be the month.
  const [first = "", second = "", third = ""] = words;
  const yearLast = YEAR.test(third)
    ? [
        [second, first],
        [first, second],
      ]
    : [];
  const orders = YEAR.test(first) ? [[second, third]] : yearLast;
  return orders.flatMap(([month, day]) => (year === undefined ? [] : readingOf(day, month, year)));
}

function joinedOf({ year, month, day }: Reading): string[] {
  const ofMonth = two(month.number);
  if (day === undefined)
    return [`${year}${ofMonth}`, `${ofMonth}${year}`, ...DAYS.map((one) => `${year}${ofMonth}${one}`)];
  const ofDay = two(day.number);
  if (year === undefined) return [ofMonth + ofDay];
  const dayFirst = [ofDay + ofMonth + year, `${day.number}${month.number}${year}`];
  return [year + ofMonth + ofDay, ...dayFirst, ofMonth + ofDay + year, `${month.number}${day.number}${year}`];
}

function writtenOf({ month, day }: Reading): string[] {
  const [ofDay, ofMonth] = [`0?${day?.number}`, `0?${month.number}`];
  const [named, counted] = [`(?:${MONTHS[month.number - 1]?.slice(0, 4).join("|")})`, `${ofDay}(?:st|nd|rd|th)?`];
  return [`${ofDay} ${ofMonth}`, `${ofMonth} ${ofDay}`, `${counted} ${named}`, `${named} ${counted}`];
}

function othersOf(word: string, { month, day }: Reading): readonly string[] {
  if (word === month.word) return MONTHS[month.number - 1] ?? [];
  return word === day?.word ? [String(day.number), two(day.number), ordinal(day.number)] : [];
}
