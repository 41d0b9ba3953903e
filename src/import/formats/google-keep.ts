import { showValue } from "../fields.js";
import { words } from "../names.js";
import { type JsonObject, isObject } from "../text.js";
import type { ToolFormat } from "./tool-format.js";

/** A note of Google Keep, as `readKeepNote` makes it. */
export const GOOGLE_KEEP: ToolFormat = {
  recognises: (names) => names.has("usereditedtimestampusec"),
  derived: new Set(
    words("createdtimestampusec usereditedtimestampusec textcontenthtml color ispinned isarchived istrashed"),
  ),
};

/**
 * A file of Google Takeout: `{"title", "textContent" or "listContent": [{"text", "isChecked"}], "labels": [{"name"}],
 * "isTrashed", "createdTimestampUsec", "userEditedTimestampUsec", …}`. Undefined for any other record.
 */
export function readKeepNote(value: JsonObject): JsonObject | undefined {
  if (!("userEditedTimestampUsec" in value)) return undefined;
  const { title, textContent, listContent, labels, ...others } = value;
  const items = objectsIn(listContent);
  const lines = items.map(({ text, isChecked }) => `- [${isChecked === true ? "x" : " "}] ${showValue(text)}`);
  return {
    ...others,
    title: showValue(title) || (showValue(textContent) === "" ? items[0]?.["text"] : undefined),
    content: [showValue(textContent), ...lines].filter(Boolean).join("\n"),
    tags: objectsIn(labels).map(({ name }) => name),
    created_at: timeOf(value["createdTimestampUsec"]),
    updated_at: timeOf(value["userEditedTimestampUsec"]),
    is_deleted: value["isTrashed"] === true ? true : undefined,
  };
}

/** Milliseconds of a time in microseconds. */
const timeOf = (value: unknown) => Number(value) / 1_000 || undefined;

const objectsIn = (list: unknown): readonly JsonObject[] => (Array.isArray(list) ? list.filter(isObject) : []);
