import { printable } from "../import/text.js";
import { countInWords } from "../wording.js";

type Row = readonly string[];

/** A table with headings; each column is as wide as its longest cell. */
export const tableOf = (head: Row, rows: readonly Row[]): string => alignColumns([head, ...rows]);

/** Names and values, one pair per line. */
export const listOf = (entries: Readonly<Record<string, string>>): string => alignColumns(Object.entries(entries));

function alignColumns(given: readonly Row[]): string {
  const rows = given.map((row) => row.map(printable));
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  }
  const lineOf = (row: Row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
  return rows.map((row) => lineOf(row).trimEnd()).join("\n");
}

/** "1 memory and 2 relationships". */
export const graphInWords = (memories: number, relationships: number): string =>
  `${countInWords(memories, "memory", "memories")} and ${countInWords(relationships, "relationship", "relationships")}`;
