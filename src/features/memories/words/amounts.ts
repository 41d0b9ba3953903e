/** A number with "k", "m" or "million", and one of thousands as it is or in groups; signs around it do not matter. */
const SHORT = /^[^\p{L}\p{N}]*(\d{1,6})(?:[.,](\d{1,2}))?(?:([km])|\s+million)[^\p{L}\p{N}]*$/u;
const WHOLE = /^[^\p{L}\p{N}]*(\d{1,3}(?:[.,'_]\d{3}){1,4}|\d+)[^\p{L}\p{N}]*$/u;

/** A number of thousands or millions, with at most two decimals. */
const SHORTENED = { k: /^(\d{1,6})(\d\d)0$/, m: /^(\d{1,6})(\d\d)0{4}$/ } as const;

/**
 * Other ways to write a number, each by the words that the index has it as: "5k" is also "5000" and "5 000", "2.3M" also
 * "2300000", "2300k" and "2.3 million", and vice versa.
 */
export function otherAmounts(term: string): string[] {
  const [, digits, decimals = "", unit = " million"] = SHORT.exec(term.toLowerCase()) ?? [];
  if (digits === undefined) {
    const [, written = ""] = WHOLE.exec(term) ?? [];
    const inOne = written.replace(/\D/g, "");
    return [...(inOne === written ? [] : [inOne]), ...shortFormsOf(inOne)];
  }
  // Without the zero of "0.5M".
  const whole = String(Number(digits + decimals.padEnd(unit === "k" ? 3 : 6, "0")));
  const groups = whole.split(/(?=(?:\d{3})+$)/);
  // The index does not tell how often a memory has a group: "5 000 000" would find 5,000.
  const isTold = new Set(groups).size === groups.length;
  const given = [digits, decimals].filter(Boolean).join(" ") + unit;
  const others = [...(isTold ? [groups.join(" ")] : []), ...shortFormsOf(whole)];
  return [...new Set([whole, ...others.filter((form) => form !== given)])];
}

const shortFormsOf = (whole: string): string[] =>
  (["k", "m"] as const).flatMap((unit) => {
    const [, digits, decimals = ""] = SHORTENED[unit].exec(whole) ?? [];
    if (digits === undefined) return [];
    const told = `${digits} ${decimals.replace(/0+$/, "")}`.trim();
    return [`${told}${unit}`, ...(unit === "m" ? [`${told} million`] : [])];
  });

const DURATION = /^[^\p{L}\p{N}]*(\d{1,6})(?:\s*|-)(\p{L}{1,12})[^\p{L}\p{N}]*$/u;
/** Units of time, each by its names. "m" is a million, and "d" is none: "3d" is mostly something else. */
export const DURATIONS = [
  ["ms", "millisecond", "milliseconds"],
  ["s", "sec", "secs", "second", "seconds"],
  ["min", "mins", "minute", "minutes"],
  ["h", "hr", "hrs", "hour", "hours"],
];

/** Other ways to write how long something takes: "30s" is also "30 seconds", "30-second" and "30 sec", and vice versa. */
export function otherDurations(term: string): string[] {
  const [, digits = "", unit = ""] = DURATION.exec(term.toLowerCase()) ?? [];
  const same = DURATIONS.find((names) => names.includes(unit)) ?? [];
  // The index has no "s" alone.
  const forms = same.flatMap((name) =>
    name.length > 4 ? [`${digits} ${name}`] : [digits + name, `${digits} ${name}`],
  );
  return forms.filter((form) => form !== term && !form.endsWith(" s"));
}
