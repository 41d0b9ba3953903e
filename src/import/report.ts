import type { Kind, NotTaken } from "./graph.js";
import type { ImportReport } from "./run-import.js";
import { printable } from "./text.js";

const SHOWN_MAX = 20;

/** How many items were left out, by kind. */
function countNotTaken({ notTaken }: ImportReport): Readonly<Record<Kind, number>> {
  const counts = { memory: 0, relationship: 0, part: 0, other: 0 };
  for (const { kind } of notTaken) counts[kind]++;
  return counts;
}

/** The report for programs, with names as in REST. */
export function plainReport(report: ImportReport, { isComplete }: { readonly isComplete: boolean }) {
  const { memories, relationships, others, notTaken, ignored, notCarried } = report;
  const counts = countNotTaken(report);
  return {
    complete: isComplete,
    memories: { ...memories, not_taken: counts.memory },
    relationships: { ...relationships, not_taken: counts.relationship },
    others: { read: others.read, ignored: ignored.length, not_taken: counts.other },
    parts_not_taken: counts.part,
    not_taken: notTaken,
    ignored: ignored.map(({ what, reason }) => ({ what, reason })),
    not_carried: Object.fromEntries(notCarried),
  };
}

/** The report for people. The sum of each row is the number that was read. */
export function textReport(report: ImportReport): string {
  const { memories, relationships, others, notTaken, ignored, notCarried } = report;
  const counts = countNotTaken(report);
  const lines = [
    `  Memories       ${memories.read} read = ${memories.created} made + ${memories.updated} updated + ` +
      `${memories.existing} already there + ${memories.merged} merged as repeats + ${counts.memory} left out`,
    `  Relationships  ${relationships.read} read = ${relationships.created} made + ` +
      `${relationships.existing} already there + ${relationships.merged} merged as repeats + ` +
      `${counts.relationship} left out`,
  ];
  if (others.read > 0) {
    lines.push(`  Other          ${others.read} read = ${ignored.length} skipped + ${counts.other} left out`);
  }
  if (counts.part > 0) lines.push(`  Parts          ${counts.part} left out of imported memories and relationships`);
  if (notCarried.size > 0) {
    const fields = Array.from(notCarried, ([field, times]) => `${field} (${times})`).join(", ");
    lines.push("", `Not imported, as the service sets its own, or as it is no memory: ${fields}`);
  }
  lines.push(...listOf("Skipped", ignored), ...listOf("Left out", notTaken));
  return lines.map(printable).join("\n");
}

function listOf(title: string, items: readonly NotTaken[]): string[] {
  if (items.length === 0) return [];
  const shown = items.slice(0, SHOWN_MAX).map(({ what, reason }) => `  ${what}: ${reason}`);
  const more = items.length > SHOWN_MAX ? ["  … --json lists all of them."] : [];
  return ["", `${title}: ${items.length}`, ...shown, ...more];
}
