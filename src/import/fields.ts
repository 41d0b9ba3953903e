import { isDeepStrictEqual } from "node:util";
import { DAY_MS, MINUTE_MS } from "../durations.js";
import { LIMITS } from "../limits.js";
import { countBrackets, parseStrictly } from "./json-text.js";
import { type JsonObject, isLonger, isObject, toNfc } from "./text.js";

/** A field of a record that is not read yet. */
export interface Field {
  /** Normalised for comparison: `entity_type`, `entityType` and `_EntityType` are the same name. */
  readonly name: string;
  /** As shown in messages and contents. */
  readonly label: string;
  readonly value: unknown;
  /** Whether it is in a nested object of the record, such as `metadata`. */
  readonly isInner: boolean;
  /** The name of that object. */
  readonly within?: string;
}

export const plainName = (label: string): string => label.replaceAll(/[\s_-]/g, "").toLowerCase();

/** Nested objects whose fields count as fields of the record itself. */
const MAPS = new Set(
  [
    "properties",
    "attributes",
    "metadata",
    "context",
    "props",
    "attrs",
    "meta",
    "content",
    "data",
    "payload",
    "source_payload",
  ].map(plainName),
);

type Read<Value> = (value: unknown) => Value | undefined;

interface TakeOptions {
  /** Whether to ignore fields of nested objects that describe the record, such as `metadata`. */
  readonly isOwn?: boolean;
}

/** Nested objects that describe a record; the other ones contain the record's own fields. */
const ABOUT = new Set(["metadata", "meta", "context"]);

/** Nested objects that tables of databases, and what is exported from them, have as JSON in a text. */
const ENCODED = new Set(["metadata", "meta"]);

function decodeMap(value: unknown): unknown {
  if (typeof value !== "string" || !value.startsWith("{")) return value;
  const map = countBrackets(value).deepest > LIMITS.importFile.depth ? undefined : parseStrictly(value);
  return isObject(map) ? map : value;
}

/**
 * The fields of a record. Each can be taken once; those left at the end are the rest, so that no field is lost. A field
 * that a nested object only repeats counts once.
 */
export class Fields {
  #left: Field[];

  constructor(object: JsonObject) {
    const outer = Object.entries(object).map(([label, value]) => {
      const name = plainName(label);
      return { name, label, value: ENCODED.has(name) ? decodeMap(value) : value, isInner: false };
    });
    const isMap = ({ name, value }: Field) => MAPS.has(name) && isObject(value);
    const labels = new Set(Object.keys(object));
    const inner = outer.filter(isMap).flatMap((map) =>
      Object.entries(map.value as JsonObject).flatMap(([key, value]) => {
        if (isDeepStrictEqual(object[key], value)) return [];
        const label = labels.has(key) ? `${map.label}.${key}` : key;
        labels.add(key);
        return [{ name: plainName(key), label, value, isInner: true, within: map.label }];
      }),
    );
    this.#left = [...outer.filter((field) => !isMap(field)), ...inner];
  }

  /** Takes the first field with one of these names that `read` accepts. The record's own fields come first. */
  take<Value>(names: readonly string[], read: Read<Value>, options?: TakeOptions): Value | undefined {
    return this.takeLabelled(names, read, options)?.value;
  }

  /** The same, with the field's name in the file. */
  takeLabelled<Value>(names: readonly string[], read: Read<Value>, { isOwn = false }: TakeOptions = {}) {
    const found = this.#find(names, read);
    if (isOwn && ABOUT.has(plainName(found?.field.within ?? ""))) return undefined;
    if (found) this.#left = this.#left.filter((field) => field !== found.field);
    return found && { label: found.field.label, value: found.value };
  }

  /** The same, without taking it. */
  first<Value>(names: readonly string[], read: Read<Value>): Value | undefined {
    return this.#find(names, read)?.value;
  }

  has(names: readonly string[], read: (value: unknown) => unknown): boolean {
    return this.#find(names, read)?.field.isInner === false;
  }

  /** Takes all fields for which `isMeant` is true. */
  takeAll(isMeant: (field: Field) => boolean): Field[] {
    const meant = this.#left.filter(isMeant);
    if (meant.length > 0) this.#left = this.#left.filter((field) => !isMeant(field));
    return meant;
  }

  /** Takes all fields of a nested object. */
  takeWithin(label: string): void {
    this.#left = this.#left.filter(({ within }) => within !== label);
  }

  /** The remaining fields that are not empty, as lines such as "status: open". */
  rest(): string[] {
    return this.#left.flatMap(({ label, value }) => {
      const text = showValue(value);
      return text === "" ? [] : [toNfc(`${label}: ${text}`)];
    });
  }

  /** The first of the record's texts that is not taken. */
  firstText(): string | undefined {
    return this.#left.map(({ value }) => asText(value)).find((text) => text !== undefined);
  }

  #find<Value>(names: readonly string[], read: (value: unknown) => Value | undefined) {
    const present = new Set(this.#left.map(({ name }) => name));
    const asked = names.filter((name) => present.has(name));
    for (const isInner of asked.length > 0 ? [false, true] : []) {
      for (const name of asked) {
        for (const field of this.#left) {
          if (field.name !== name || field.isInner !== isInner) continue;
          const value = read(field.value);
          if (value !== undefined) return { field, value };
        }
      }
    }
    return undefined;
  }
}

/** A value as text: lists with commas, objects in brackets. Empty for an empty value. */
export function showValue(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value.trim() === "" ? "" : value;
  if (Array.isArray(value)) return value.map(showValue).filter(Boolean).join(", ");
  if (!isObject(value)) return String(value);
  const parts = Object.entries(value).flatMap(([key, inner]) => {
    const text = showValue(inner);
    return text === "" ? [] : [`${key}: ${text}`];
  });
  return parts.length > 0 ? `(${parts.join("; ")})` : "";
}

/** A text that is not blank, in NFC. The service stores NFC, so only then a later import finds the text again. */
export function asText(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? toNfc(value) : undefined;
}

/** A text that fits into a summary; a longer one is a field like others. */
export function asSummary(value: unknown): string | undefined {
  const text = asText(value);
  return text === undefined || isLonger(text, LIMITS.memory.summary) ? undefined : text;
}

/** A name or id: a text or a number. */
export function asKey(value: unknown): string | undefined {
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  return asText(value);
}

/** A number from 0 to 1, such as a strength, confidence or importance. */
export function asShare(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && value <= 1 ? value : undefined;
}

/** The texts of a list without its empty items, or of one text with commas or a list in JSON; undefined for others. */
export function asTexts(value: unknown): string[] | undefined {
  if (typeof value === "string" && value.startsWith("[") && countBrackets(value).deepest <= LIMITS.importFile.depth) {
    const list = parseStrictly(value);
    if (Array.isArray(list)) return list.length === 0 ? [] : asTexts(list);
  }
  if (typeof value === "string" && value.trim() !== "") return value.split(",").map(toNfc);
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const texts = value.filter((item) => showValue(item) !== "").map(asKey);
  return texts.every((text) => text !== undefined) ? texts : undefined;
}

/** A time in its zone, or in UTC if it has none. A date alone is its first moment. */
const TIME = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?) ?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i;
/** As in e-mails and HTTP: `Wed, 20 Aug 2025 10:15:30 GMT`. */
const MAIL_TIME = /^[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} (?:GMT|UTC|[+-]\d{4})$/;
/** Seconds or milliseconds since 1970, as text. */
const NUMBER_TIME = /^\d{10}(?:\d{3})?(?:\.\d{1,9})?$/;
/** Smaller numbers count something else, such as changes. */
const SECONDS_MIN = 1e8;
/** Numbers up to here are seconds since 1970, larger ones milliseconds. */
const SECONDS_MAX = 1e11;

/** Clocks differ, so a newer time counts as this long ago. */
const NEW_MS = MINUTE_MS;
/** A time without a zone may be up to 14 hours ahead of UTC. */
const AHEAD_MS = DAY_MS;

/**
 * A time since 1970 that has passed. One of now and the next hours is taken, too: if it stayed in the text, a later
 * import would find another text.
 */
export function asPast(value: unknown): Date | undefined {
  const time = asTime(value)?.getTime();
  const now = Date.now();
  return time === undefined || time > now + AHEAD_MS ? undefined : new Date(Math.min(time, now - NEW_MS));
}

/** A time since 1970: text as in ISO 8601, databases and e-mails, or a number of seconds or milliseconds. */
export function asTime(value: unknown): Date | undefined {
  if (typeof value === "number") {
    if (value < SECONDS_MIN) return undefined;
    return timeOf(value > SECONDS_MAX ? value : value * 1_000);
  }
  if (typeof value !== "string") return undefined;
  const text = value.trim();
  if (NUMBER_TIME.test(text)) return asTime(Number(text));
  if (MAIL_TIME.test(text)) return timeOf(Date.parse(text));
  const [, day, time = "00:00", zone = "Z"] = TIME.exec(text) ?? [];
  // PostgreSQL writes only the hours of a zone.
  const whole = /^[+-]\d{2}$/.test(zone) ? `${zone}:00` : zone.toUpperCase();
  return day === undefined || !exists(day) ? undefined : timeOf(Date.parse(`${day}T${time}${whole}`));
}

/** Whether the calendar has a day: 30 February would be read as 2 March. */
function exists(day: string): boolean {
  const start = Date.parse(`${day}T00:00Z`);
  return Number.isFinite(start) && new Date(start).toISOString().startsWith(day);
}

const timeOf = (milliseconds: number): Date | undefined => {
  const time = new Date(milliseconds);
  return time.getTime() >= 0 ? time : undefined;
};
