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
  const groups = inGroups(whole);
  // The index does not tell how often a memory has a group: "5 000 000" would find 5,000.
  const isTold = new Set(groups).size === groups.length;
  const given = [digits, decimals].filter(Boolean).join(" ") + unit;
  const others = [...(isTold ? [groups.join(" ")] : []), ...shortFormsOf(whole)];
  return [...new Set([whole, ...others.filter((form) => form !== given)])];
}

/** The groups of thousands of a number. */
const inGroups = (digits: string): string[] => digits.split(/(?=(?:\d{3})+$)/);

const shortFormsOf = (whole: string): string[] =>
  (["k", "m"] as const).flatMap((unit) => {
    const [, digits, decimals = ""] = SHORTENED[unit].exec(whole) ?? [];
    if (digits === undefined) return [];
    const told = `${digits} ${decimals.replace(/0+$/, "")}`.trim();
    return [`${told}${unit}`, ...(unit === "m" ? [`${told} million`] : [])];
  });

const WITH_UNIT = /^[^\p{L}\p{N}]*(\d{1,6}(?:[.,]\d{1,2})?)(?:\s*|-)(\p{L}{1,12})[^\p{L}\p{N}]*$/u;
/** Units, each by its names. "5m" is also five million. Only days need two digits: "3d" is mostly something else. */
export const UNITS = [
  ["us", "μs", "microsecond", "microseconds"],
  ["ms", "millisecond", "milliseconds"],
  ["s", "sec", "secs", "second", "seconds"],
  ["min", "mins", "minute", "minutes"],
  ["h", "hr", "hrs", "hour", "hours"],
  ["d", "day", "days"],
  ["wk", "wks", "week", "weeks"],
  ["yr", "yrs", "year", "years"],
  ["mm", "millimeter", "millimeters", "millimetre", "millimetres"],
  ["cm", "centimeter", "centimeters", "centimetre", "centimetres"],
  ["m", "meter", "meters", "metre", "metres"],
  ["km", "kilometer", "kilometers", "kilometre", "kilometres"],
  ["um", "μm", "micron", "microns", "micrometer", "micrometers", "micrometre", "micrometres"],
  ["ug", "μg", "mcg", "microgram", "micrograms"],
  ["mg", "milligram", "milligrams"],
  ["g", "gram", "grams"],
  ["kg", "kilo", "kilos", "kilogram", "kilograms"],
  ["t", "ton", "tons", "tonne", "tonnes"],
  ["ul", "μl", "microliter", "microliters", "microlitre", "microlitres"],
  ["ml", "milliliter", "milliliters", "millilitre", "millilitres"],
  ["c", "celsius", "degree", "degrees"],
  ["l", "liter", "liters", "litre", "litres"],
  ["ua", "μa", "microamp", "microamps"],
  // People hardly tell 1,000 bytes from 1,024; "Gi" is how Kubernetes writes "GiB".
  ["kb", "kib", "ki", "kilobyte", "kilobytes"],
  ["mb", "mib", "mi", "megabyte", "megabytes"],
  ["gb", "gib", "gi", "gigabyte", "gigabytes"],
  ["tb", "tib", "ti", "terabyte", "terabytes"],
];

/** Other ways to write a number with its unit: "30s" is also "30 seconds", "30-second" and "30 sec", and vice versa. */
export function otherUnits(term: string): string[] {
  const [, written = "", unit = ""] = WITH_UNIT.exec(term.toLowerCase()) ?? [];
  const digits = written.replace(/\D/, " ");
  if (unit === "d" && digits.length < 2) return [];
  const same = UNITS.find((names) => names.includes(unit)) ?? [];
  const grouped = /^\d+$/.test(digits) ? inGroups(digits).join(" ") : digits;
  const forms = same.flatMap((name) => [
    ...(name.length > 4 ? [] : [digits + name]),
    ...new Set([`${digits} ${name}`, `${grouped} ${name}`]),
  ]);
  return forms.filter((form) => form !== term);
}

/** Whether the index tells such a form: it has no "s" and no "t" alone, and other single letters for many reasons. */
export const isIndexed = (form: string): boolean => !/ [dglmst]$/.test(form);

/** Units that have a sign as well, as a regular expression of PostgreSQL, and their names. */
const SIGNED_UNITS = [
  { sign: "€", names: ["eur", "euro", "euros"] },
  { sign: "£", names: ["gbp", "pound", "pounds"] },
  { sign: "[$]", names: ["usd", "dollar", "dollars"] },
  { sign: "%", names: ["percent", "pct"] },
  { sign: "°", names: ["degree", "degrees"] },
];
export const SIGNED_UNIT_NAMES = SIGNED_UNITS.flatMap(({ names }) => names);
const AMOUNT =
  /^[^\p{L}\p{N}]*(?:([a-z]{3,7})\s+)?(\d{1,3}(?:[.,]\d{3})+|\d{1,6})(?:[.,](\d{1,2}))?(?:\s+([a-z]{3,7}))?[^\p{L}\p{N}]*$/u;

/** A pattern for an amount in a unit that has a sign: "15 GBP" is also "£15" and "15 pounds"; undefined for others. */
export function patternOfAmount(term: string): string | undefined {
  const [, before, digits = "", decimals, after] = AMOUNT.exec(term.toLowerCase()) ?? [];
  const unit = SIGNED_UNITS.find(({ names }) => names.includes(after ?? before ?? ""));
  if (!unit) return undefined;
  const grouped = inGroups(digits.replace(/\D/g, "")).join("[.,' ]?");
  const number = grouped + (decimals ? `[.,]${decimals}` : "(?:[.,]00)?");
  const anyUnit = `(?:${[unit.sign, ...unit.names].join("|")})`;
  return `${anyUnit} ?${number}(?![0-9]|[.,][0-9])|(?:^|[^a-z0-9.,])${number} ?${anyUnit}`;
}
