import { type JsonObject, isObject } from "./text.js";

/** A field of a record that nothing has taken yet. */
export interface Field {
  /** As it is compared: `entity_type`, `entityType` and `_EntityType` are one name. */
  readonly name: string;
  /** As messages and contents show it. */
  readonly label: string;
  readonly value: unknown;
  /** Whether it stands in a map of the record, such as `metadata`. */
  readonly isInner: boolean;
}

export const plainName = (label: string): string => label.replaceAll(/[\s_-]/g, "").toLowerCase();

/** Objects whose fields are those of the record itself. */
const MAPS = new Set(
  ["properties", "attributes", "metadata", "context", "props", "attrs", "meta", "content", "data"].map(plainName),
);

/**
 * The fields of a record, each of which is taken once: what nobody has taken at the end is the rest, so that nothing can
 * be forgotten.
 */
export class Fields {
  #left: Field[];

  constructor(object: JsonObject) {
    const outer = Object.entries(object).map(([label, value]) => {
      return { name: plainName(label), label, value, isInner: false };
    });
    const isMap = ({ name, value }: Field) => MAPS.has(name) && isObject(value);
    const labels = new Set(Object.keys(object));
    const inner = outer.filter(isMap).flatMap((map) =>
      Object.entries(map.value as JsonObject).map(([key, value]) => {
        const label = labels.has(key) ? `${map.label}.${key}` : key;
        labels.add(key);
        return { name: plainName(key), label, value, isInner: true };
      }),
    );
    this.#left = [...outer.filter((field) => !isMap(field)), ...inner];
  }

  /** The first field of these names that can be read as what is asked for; those of the record itself come first. */
  take<Value>(names: readonly string[], read: (value: unknown) => Value | undefined): Value | undefined {
    return this.takeLabelled(names, read)?.value;
  }

  /** The same, with what the file calls the field. */
  takeLabelled<Value>(names: readonly string[], read: (value: unknown) => Value | undefined) {
    const found = this.#find(names, read);
    if (found) this.#left = this.#left.filter((field) => field !== found.field);
    return found && { label: found.field.label, value: found.value };
  }

  has(names: readonly string[], read: (value: unknown) => unknown): boolean {
    return this.#find(names, read)?.field.isInner === false;
  }

  /** Takes all fields that are meant. */
  takeAll(isMeant: (field: Field) => boolean): Field[] {
    const meant = this.#left.filter(isMeant);
    if (meant.length > 0) this.#left = this.#left.filter((field) => !isMeant(field));
    return meant;
  }

  /** What is left and says something, as lines such as "status: open". */
  rest(): string[] {
    return this.#left.flatMap(({ label, value }) => {
      const text = showValue(value);
      return text === "" ? [] : [`${label}: ${text}`.normalize("NFC")];
    });
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

/** A value in words: lists with commas, objects in brackets. Empty where it says nothing. */
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

/** A text that says something, in NFC, as the service stores it, or else what was stored would not be found again. */
export function asText(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.normalize("NFC") : undefined;
}

/** What something is called: a text or a number, or an object that has one. */
export function asKey(value: unknown): string | undefined {
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  return asText(value);
}

/** A share of one, as strengths, confidences and importances are. */
export function asShare(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && value <= 1 ? value : undefined;
}

/** The texts of a list, or of one text with commas; undefined where it has anything else. */
export function asTexts(value: unknown): string[] | undefined {
  if (typeof value === "string" && value.trim() !== "") return value.split(",").map((text) => text.normalize("NFC"));
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const texts = value.map(asKey);
  return texts.every((text) => text !== undefined) ? texts : undefined;
}
