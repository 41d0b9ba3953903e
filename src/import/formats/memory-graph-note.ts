import { asSummary } from "../fields.js";
import type { FrontValue } from "./front-matter.js";

const FIELDS = ["id", "type", "importance", "confidence", "created_at", "updated_at"];
const SUMMARY = "## Summary\n\n";
const CONTENT = "## Content\n\n";
const RELATIONSHIPS = "\n\n## Relationships\n\n";

/** Reads the parts of a note of MemoryGraph; undefined for any other note. Its relationships are links of the body. */
export function partsOf(fields: ReadonlyMap<string, FrontValue>, body: string) {
  if (!FIELDS.every((name) => fields.has(name))) return undefined;
  const text = body.replace(/^\n/, "");
  const start = text.startsWith(SUMMARY) ? text.indexOf(`\n\n${CONTENT}`) + 2 : 0;
  if (!text.startsWith(CONTENT, start)) return undefined;
  const summary = start > 0 ? asSummary(text.slice(SUMMARY.length, start - 2)) : undefined;
  if (start > 0 && summary === undefined) return undefined;
  return { summary, content: withoutRelationships(text.slice(start + CONTENT.length)) };
}

function withoutRelationships(text: string): string {
  const end = text.lastIndexOf(RELATIONSHIPS);
  const lines = text.slice(end + RELATIONSHIPS.length).trimEnd();
  return end >= 0 && lines.split("\n").every(isRelationship) ? text.slice(0, end) : text;
}

const isRelationship = (line: string): boolean => /^- \*\*\w{1,50}\*\* (?:→|->) \[/.test(line) && line.endsWith(")");

/** In Python it writes titles as they are, also those that mean something else in YAML, such as `Fix #12` or `[Draft]`. */
const PLAIN_TITLE = /^---\ntitle: (\S.*)\nid: (?!")\S.*\ntype: \w+\nimportance: /;
export const plainTitleOf = (text: string): string | undefined => PLAIN_TITLE.exec(text)?.[1]?.trimEnd();
