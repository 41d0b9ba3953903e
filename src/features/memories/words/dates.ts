import { fold } from "./fold.js";

/** The months in English, with abbreviations, German, French, Spanish, Portuguese and Russian: each by its names. */
const MONTHS: ReadonlyMap<string, number> = new Map(
  [
    "jan january januar janvier enero janeiro январь января",
    "feb february februar fevrier febrero fevereiro февраль февраля",
    "mar march marz maerz mars marzo marco март марта",
    "apr april avril abril апрель апреля",
    "may mai mayo maio май мая",
    "jun june juni juin junio junho июнь июня",
    "jul july juli juillet julio julho июль июля",
    "aug august aout agosto август августа",
    "sep sept september septembre septiembre setembro сентябрь сентября",
    "oct october oktober octobre octubre outubro октябрь октября",
    "nov november novembre noviembre novembro ноябрь ноября",
    "dec december dezember decembre diciembre dezembro декабрь декабря",
  ].flatMap((names, index) =>
    fold(names)
      .split(" ")
      .map((name) => [name, index + 1]),
  ),
);

const YEAR = /^(?:19|20)\d\d$/;
const DAY = /^(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th|er)?$/;

/**
 * The date that three words are, as the index has "2025-12-01"; undefined for others. Any order: "1 December 2025",
 * "December 1st, 2025".
 */
export function dateOf(words: readonly string[]): string | undefined {
  const year = words.find((word) => YEAR.test(word));
  const day = words.find((word) => DAY.test(word));
  const month = words.map((word) => MONTHS.get(word)).find(Boolean);
  if (year === undefined || day === undefined || month === undefined) return undefined;
  return [year, month, parseInt(day, 10)].map((part) => String(part).padStart(2, "0")).join("");
}
