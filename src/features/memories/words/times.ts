/** A time of day, with minutes, with "h", or with "am" or "pm"; signs around it do not matter. */
const TIME = /^[^\p{L}\p{N}]*(\d{1,2})(?:([:.h])(?:(\d\d)|(?<=h)))?(?:\s*([ap])\.?m\.?)?[^\p{L}\p{N}]*$/u;

const twoDigits = (number: number): string => String(number).padStart(2, "0");

/**
 * Other ways to write a time of day, each by the words that the index has it as: "17:00" is also "5pm", "5 pm",
 * "5:00 pm", "17h00" and "17h", "2:30" also "02:30". The index has no "am", has "9 a.m." as "9" and "m", and of the ISO
 * time "2026-03-04T17:00:00Z" it has "t17" and "00".
 */
export function otherTimes(term: string): string[] {
  const [, digits = "", sign, said, half] = TIME.exec(term.toLowerCase()) ?? [];
  // "3.11" and "12" may be anything.
  if (half === undefined && sign !== ":" && sign !== "h") return [];
  const [given, minutes] = [Number(digits), said ?? "00"];
  // "2h" is how long something takes.
  if (sign === "h" && said === undefined && given <= 12) return [];
  if (Number(minutes) > 59 || (half === undefined ? given > 23 : given < 1 || given > 12)) return [];
  const hour = half === undefined ? given : (given % 12) + (half === "p" ? 12 : 0);
  const ofHalf = String(hour % 12 || 12);
  const shortened = minutes === "00" ? [ofHalf] : [];
  const early = [`${ofHalf} ${minutes}am`, ...shortened.flatMap((time) => [`${time}am`, `${time} a m`])];
  const late = [`${ofHalf} ${minutes}`, ...shortened].flatMap((time) => [`${time}pm`, `${time} pm`]);
  const hours = [twoDigits(hour), String(hour)];
  return [
    ...new Set([
      ...hours.map((of) => `${of} ${minutes}`),
      ...(hour < 12 ? early : late),
      `t${twoDigits(hour)} ${minutes}`,
      ...hours.flatMap((of) => [`${of}h${minutes}`, ...(minutes === "00" ? [`${of}h`, `${of} h`] : [])]),
    ]),
  ];
}
