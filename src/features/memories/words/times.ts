/** A time of day, with minutes or with "am" or "pm"; signs around it do not matter. */
const TIME = /^[^\p{L}\p{N}]*(\d{1,2})(?:([:.])(\d\d))?(?:\s*([ap])\.?m\.?)?[^\p{L}\p{N}]*$/iu;

const two = (number: number): string => String(number).padStart(2, "0");

/**
 * Other ways to write a time of day, each by the words that the index has it as: "17:00" is also "5pm", "5 pm" and
 * "5:00 pm", "2:30" also "02:30". The index has no "am".
 */
export function otherTimes(term: string): string[] {
  const [, digits = "", sign, minutes = "00", half] = TIME.exec(term.toLowerCase()) ?? [];
  // "3.11" and "12" may be anything.
  if (half === undefined && sign !== ":") return [];
  const given = Number(digits);
  if (Number(minutes) > 59 || (half === undefined ? given > 23 : given < 1 || given > 12)) return [];
  const hour = half === undefined ? given : (given % 12) + (half === "p" ? 12 : 0);
  const ofHalf = String(hour % 12 || 12);
  const shortened = minutes === "00" ? [ofHalf] : [];
  const early = [`${ofHalf} ${minutes}am`, ...shortened.map((time) => `${time}am`)];
  const late = [`${ofHalf} ${minutes}`, ...shortened].flatMap((time) => [`${time}pm`, `${time} pm`]);
  return [...new Set([`${two(hour)} ${minutes}`, `${hour} ${minutes}`, ...(hour < 12 ? early : late)])];
}
