import { asText, showValue } from "../fields.js";
import { type JsonObject, isObject } from "../text.js";
import type { ToolFormat } from "./tool-format.js";

/** An issue as `readIssue` makes it. Beads counts what it has, also in the issue itself. */
export const BEADS_ISSUE: ToolFormat = {
  recognises: (names) => ["issue", "memorytype", "relations"].every((name) => names.has(name)),
  derived: new Set(["dependencycount", "dependentcount", "commentcount", "compactionlevel", "originalsize"]),
};

/** What a dependency says of the issue that has it. Beads names some from the other issue's side. */
const SAID: ReadonlyMap<unknown, string> = new Map([
  ["blocks", "depends on"],
  ["conditional-blocks", "depends on"],
  ["parent-child", "part of"],
  ["supersedes", "superseded by"],
]);

/**
 * An issue of Beads, as `bd export` writes it, with the names that others use: `{"id", "title", "description", "status",
 * "issue_type", "labels", "dependencies": [{"issue_id", "depends_on_id", "type", …}], …}`. Undefined for any other record.
 */
export function readIssue(value: JsonObject): JsonObject | undefined {
  const { _type: kind = "issue", issue_type: type, dependencies, description, ...issue } = value;
  const { id, title, status } = issue;
  const isIssue = kind === "issue" && [id, title, type, status].every((field) => asText(field));
  const isOther = ["issue", "type", "memory_type", "relations"].some((name) => name in issue);
  if (!isIssue || isOther) return undefined;
  // People, commits and other issues call it by its id, so that stays in the text. Many have only a title besides.
  const text = { issue: id, description: showValue(description) === "" ? title : description };
  // In `type`, some of its types would mark a relationship.
  const found = { ...text, ...issue, memory_type: type };
  // `bd show` has whole issues there instead.
  const isLinked = Array.isArray(dependencies) && dependencies.every(isDependency);
  return isLinked ? { ...found, relations: dependencies.map(linkOf) } : { ...found, relations: [], dependencies };
}

const isDependency = (value: unknown): value is JsonObject => isObject(value) && "depends_on_id" in value;

function linkOf({ issue_id: from, depends_on_id: to, type, metadata, ...others }: JsonObject): JsonObject {
  return {
    from,
    to,
    type: SAID.get(type) ?? type,
    ...(type === "conditional-blocks" && { dependency: type }),
    ...(metadata !== "{}" && { metadata }),
    ...others,
  };
}
