import { explainStatements, hearReports } from "./explained.js";

const IN_DETAIL = {
  "auto_explain.log_analyze": "on",
  "auto_explain.log_timing": "off",
  "auto_explain.log_format": "json",
};

/** A node of a plan, as PostgreSQL describes it in JSON. */
interface PlanNode {
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Join Filter"?: number;
  readonly Plans?: readonly PlanNode[];
}

/** The largest number of rows that a node of each statement has looked at, by the text of the statement. */
export interface Comparisons extends Disposable {
  readonly rows: Map<string, number>;
}

/** Counts, for each statement of connections that this process opens from here on, what its plan has looked at. */
export async function hearComparisons(url: string): Promise<Comparisons> {
  await explainStatements(url, IN_DETAIL);
  const rows = new Map<string, number>();
  const reports = hearReports(new URL(url), (message) => {
    const at = message.indexOf("{");
    if (at < 0 || !message.includes('"Plan":')) return;
    const { "Query Text": text, Plan } = JSON.parse(message.slice(at)) as { "Query Text": string; Plan: PlanNode };
    rows.set(text.trim(), Math.max(rows.get(text.trim()) ?? 0, lookedAt(Plan)));
  });
  return { rows, [Symbol.dispose]: () => reports[Symbol.dispose]() };
}

/** The rows that one node has read or compared in all its loops. */
function lookedAt(node: PlanNode): number {
  const removed = (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Join Filter"] ?? 0);
  return Math.max((node["Actual Rows"] + removed) * node["Actual Loops"], ...(node.Plans ?? []).map(lookedAt));
}
