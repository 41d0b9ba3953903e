import { decoded } from "./note-links.js";
import { twoDigits } from "./note-time.js";

const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/**
 * In names of files, Logseq writes `/` as `___`, and other signs, in earlier versions `/` too, as `%2F`. It adds a `___`
 * to names that Windows does not allow, such as those with a dot at their end.
 */
export const pageTitle = (name: string): string =>
  name
    .replace(/(?<=.)___$/, "")
    .replaceAll("___", "/")
    .replaceAll(/(?:%[\da-f]{2})+/gi, decoded);

/**
 * Reads Logseq's settings, and returns a function from the path of a note to its title. The title of a journal, such as
 * `journals/2024_03_05.md`, is its date in the format of the settings, as links write it; undefined for other notes.
 */
export function journalTitles(config: string): (path: string) => string | undefined {
  const settings = config.replaceAll(/^[ \t]*;.*$/gm, "");
  const format = /:journal\/page-title-format\s+"([^"]{1,100})"/.exec(settings)?.[1] ?? "MMM do, yyyy";
  return (path) => {
    const [, year, month, day] = /^journals\/(\d{4})\D?(\d\d)\D?(\d\d)\.[a-z]+$/i.exec(path) ?? [];
    const date = new Date(`${year}-${month}-${day}T00:00:00Z`);
    return year === undefined || Number.isNaN(date.getTime()) ? undefined : showDay(date, format);
  };
}

/** The parts of a date format in Logseq's settings, as in Java's and Google's date formats. */
const PARTS = /yyyy|yy|MMMM|MMM|MM|M|do|dd|d|EEEE|E{1,3}/g;

function showDay(date: Date, format: string): string {
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  const [monthName = "", dayName = ""] = [MONTHS[month], DAYS[date.getUTCDay()]];
  const parts: Readonly<Record<string, string>> = {
    yyyy: String(year),
    yy: String(year).slice(-2),
    MMMM: monthName,
    MMM: monthName.slice(0, 3),
    MM: twoDigits(month + 1),
    M: String(month + 1),
    do: `${day}${ordinalEnd(day)}`,
    dd: twoDigits(day),
    d: String(day),
    EEEE: dayName,
  };
  // The other parts, E to EEE, are the short name of the day.
  return format.replaceAll(PARTS, (part) => parts[part] ?? dayName.slice(0, 3));
}

function ordinalEnd(day: number): string {
  if (day >= 11 && day <= 13) return "th";
  return ["th", "st", "nd", "rd"][day % 10] ?? "th";
}
