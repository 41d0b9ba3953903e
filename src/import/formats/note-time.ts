import { asPast } from "../fields.js";

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const MONTH = `(?<month>${MONTHS.join("|")})[a-z]{0,6}\\.?`;
const DAY = "(?<day>\\d{1,2})(?:st|nd|rd|th)?";
const YEAR = "(?<year>\\d{4})";
const CLOCK = "(?:(?:,| at|T)? ?(?<hour>\\d{1,2}):(?<minute>\\d{2})(?::(?<second>\\d{2}))? ?(?<half>[ap]m)?)?";

/** The forms that tools and people write, besides ISO 8601. `3/6/2024` is none: it may be March or June. */
const FORMS = [
  `(?:[a-z]{3,9}\\.?,? )?${MONTH} ${DAY},? ${YEAR}${CLOCK}`,
  `(?:[a-z]{3,9}\\.?,? )?${DAY}\\.? ${MONTH},? ${YEAR}${CLOCK}`,
  `${YEAR}[-/.](?<month>\\d{1,2})[-/.]${DAY}${CLOCK}`,
  `${DAY}\\.(?<month>\\d{1,2})\\.${YEAR}${CLOCK}`,
  `${YEAR}(?<month>\\d{2})(?<day>\\d{2})(?:T?(?<hour>\\d{2})(?<minute>\\d{2})(?<second>\\d{2})?)?`,
].map((form) => new RegExp(`^${form}$`, "i"));

/** A time since 1970 that has passed, in any form that front matter has. Without a zone, it is read as UTC. */
export function asNoteTime(value: unknown): Date | undefined {
  if (typeof value !== "string") return undefined;
  const text = value.trim();
  // Ten digits are seconds since 1970, thirteen are milliseconds.
  if (/^(?:\d{10}|\d{13})$/.test(text)) return asPast(Number(text));
  return asPast(text) ?? asPast(isoOf(inEnglish(text)));
}

const CHINESE_MONTHS = ["一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二"];

/** A time as Notion and Obsidian's Linter write it in Chinese, Japanese and Korean, as they do in English. */
const inEnglish = (text: string): string =>
  text
    .replace(/^星期.,? /, "")
    .replace(/^(\d{4})[年년] ?(\d{1,2})[月월] ?(\d{1,2})[日일]/, "$1-$2-$3")
    .replace(/^([一二三四五六七八九十]{1,2})月 ?(\d{1,2})日/, (all, month: string, day) => {
      const name = MONTHS[CHINESE_MONTHS.indexOf(month)];
      return name === undefined ? all : `${name} ${day}`;
    })
    .replace(/(?<= 11:[\d:]{2,5} )中午|凌晨|早上|上午|午前|오전/, "am")
    .replace(/中午|下午|晚上|午後|오후/, "pm")
    .replace(/([ap]m) ?(\d{1,2}:[\d:]{2,5})$/, "$2 $1");

/** The name of a daily note, and the beginning of one in a Zettelkasten, which names notes by when they were made. */
const DAY_NAME = /^(\d{4})([-_.]?)(\d\d)\2(\d\d)$/;
const TIME_NAME = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)?(?=$|[ _-])/;

/**
 * When a note was made, by the name of its file. A day with a title behind it is not taken: it may be that of an event
 * long ago.
 */
export function timeOfName(name: string): Date | undefined {
  const [, year, , month, day] = DAY_NAME.exec(name) ?? [];
  if (year !== undefined) return asPast(`${year}-${month}-${day}`);
  const [time, years, months, days, hours, minutes, seconds = "00"] = TIME_NAME.exec(name) ?? [];
  return time === undefined ? undefined : asPast(`${years}-${months}-${days}T${hours}:${minutes}:${seconds}`);
}

function isoOf(text: string): string | undefined {
  const found = FORMS.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined);
  const { year, month = "", day = "", hour, minute, second = "00", half } = found ?? {};
  if (year === undefined) return undefined;
  const named = MONTHS.indexOf(month.toLowerCase()) + 1;
  const date = `${year}-${twoDigits(named || Number(month))}-${twoDigits(Number(day))}`;
  if (hour === undefined) return date;
  return `${date}T${twoDigits(hoursOf(Number(hour), half))}:${minute}:${second}`;
}

/** The hour of a day of 24 hours. `half` is "am" or "pm" in any case, for an hour from 1 to 12. */
function hoursOf(hour: number, half: string | undefined): number {
  if (half === undefined) return hour;
  return (hour % 12) + (half.toLowerCase() === "pm" ? 12 : 0);
}

export const twoDigits = (number: number): string => String(number).padStart(2, "0");
