import { built } from "./built.js";
import { type Figures, type Plan, type Result, median, ratios } from "./measure.js";
import { PEERS } from "./peers.js";
import { HEADINGS } from "./profile.js";

const { tableOf } = await built<typeof import("../../src/commands/table.js")>("commands/table.js");

export interface Report {
  readonly machine: {
    readonly cpu: string;
    readonly cores: number;
    readonly node: string;
    readonly postgres: string;
    /** The average number of runnable processes in the last minute. */
    readonly load: number;
    readonly shares: string;
    readonly data: { readonly memories: number; readonly relationships: number; readonly graphs: number };
  };
  readonly plan: Plan;
  readonly results: readonly Result[];
  /** The floor and the service once more, with other numbers of connections. */
  readonly again: ReadonlyArray<Pick<Report, "plan" | "results">>;
  /** Resident memory after the first results, by server name. */
  readonly memoryMb: Readonly<Record<string, number>>;
}

/** The names of servers as people read them. */
export const titleOf = (name: string): string =>
  ({ floor: "written by hand", service: "this service" })[name] ??
  PEERS.find((peer) => peer.name === name)?.title ??
  name;

/** The service's speed as a share of the floor's: the median of all rounds. */
export const sayRatio = ({ servers: { floor, service } }: Result): string =>
  floor && service ? median(ratios(service, floor)).toFixed(2) : "?";

const rangeOf = (values: readonly number[], digits: number): string =>
  `${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)}`;

/** The columns for each server of a case: the last ratio is the service's speed as a share of this server's. */
function rowsOf({ results }: Pick<Report, "results">): string[][] {
  return results.flatMap(({ name, target, servers }) =>
    Object.entries(servers).map(([server, figures]) => {
      const { requestsPerSecond: rates, p50Ms, p99Ms, nodeCpuMicroseconds, postgresCpuMicroseconds } = figures;
      const service = servers["service"];
      const to = service && server !== "service" ? ratios(service, figures) : [];
      const isMissed = server === "floor" && median(to) < target;
      return [
        name,
        titleOf(server),
        median(rates).toFixed(0),
        rangeOf(rates, 0),
        to.length === 0 ? "" : `${median(to).toFixed(2)}${isMissed ? ` (target ${target})` : ""}`,
        to.length === 0 ? "" : rangeOf(to, 2),
        p50Ms.toFixed(2),
        p99Ms.toFixed(2),
        nodeCpuMicroseconds.toFixed(0),
        postgresCpuMicroseconds?.toFixed(0) ?? "?",
        service && server !== "service" ? cpuRatio(service, figures) : "",
      ];
    }),
  );
}

const HEAD = [
  "case",
  "server",
  "requests/s",
  "range",
  "service by it",
  "range",
  "p50 ms",
  "p99 ms",
  "Node µs",
  "PostgreSQL µs",
  "CPU by service's",
];

/** This server's CPU time for a request divided by the service's: above 1 the service needs less. */
function cpuRatio(service: Figures, other: Figures): string {
  const used = [other, service].map((one) => one.nodeCpuMicroseconds + (one.postgresCpuMicroseconds ?? NaN));
  return used.every(Number.isFinite) ? ((used[0] ?? NaN) / (used[1] ?? NaN)).toFixed(2) : "?";
}

/** Where Node's CPU goes: for each case and server the microseconds of a request, by part. */
function profileRows({ results }: Report): string[][] {
  return results.flatMap(({ name, servers }) =>
    Object.entries(servers).flatMap(([server, { shares, nodeCpuMicroseconds: whole }]) => {
      if (!shares) return [];
      return [[name, titleOf(server), ...HEADINGS.map((part) => ((shares[part] ?? 0) * whole).toFixed(0))]];
    }),
  );
}
const PROFILE_HEAD = ["case", "server", ...HEADINGS];
const PROFILE_NOTES = [
  "Where Node's CPU goes: microseconds of a request, by the file of the function that ran, in one more turn of each",
  'server under a sampling profiler. "writing" is what sends to sockets, "Node" its other modules and native code;',
  '"doors" to "platform" are this service\'s folders, "own" is the code by hand, which the peers share a part of.',
];

const circumstances = ({ machine, plan }: Report): string[] => [
  `${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, PostgreSQL ${machine.postgres}, ` +
    `load ${machine.load.toFixed(1)} (processes that wanted to run, the measured ones among them).`,
  `${machine.data.memories} memories, ${machine.data.relationships} relationships, ${machine.data.graphs} graphs.`,
  `${plan.rounds} rounds of ${plan.turnMs / 1_000} s by turns, ${plan.connections} connections, ` +
    `after ${plan.warmUp.requests} requests of the case (or ${plan.warmUp.ms / 1_000} s of them).`,
  machine.shares,
];

/** The report for a terminal. */
export const reportOf = (report: Report): string =>
  [
    ...circumstances(report),
    "Medians of the rounds, with their ranges; µs of CPU for a request.",
    "",
    tableOf(HEAD, rowsOf(report)),
    "",
    `Memory (resident): ${memoryOf(report)}.`,
    ...againOf(report, (head, rows) => [tableOf(head, rows)]),
    ...profileOf(report, (head, rows) => [tableOf(head, rows)]),
  ].join("\n");

/** What was measured with other numbers of connections. */
const againOf = ({ again }: Report, tabulate: (head: string[], rows: string[][]) => string[]): string[] =>
  again.flatMap(({ plan: { connections, rounds }, results }) => {
    const said = `The same with ${connections} connections, in ${rounds} rounds:`;
    return ["", said, "", ...tabulate(HEAD, rowsOf({ results }))];
  });

/** The profile with its explanation; nothing if none was taken. */
function profileOf(report: Report, tabulate: (head: string[], rows: string[][]) => string[]): string[] {
  const rows = profileRows(report);
  return rows.length === 0 ? [] : ["", ...PROFILE_NOTES, "", ...tabulate(PROFILE_HEAD, rows)];
}

const memoryOf = ({ memoryMb }: Report): string =>
  Object.entries(memoryMb)
    .map(([name, used]) => `${titleOf(name)} ${used} MB`)
    .join(", ");

/** The report for `docs/`. */
export function documentOf(report: Report): string {
  const asRow = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const asTable = (head: string[], rows: string[][]) => [head, head.map(() => "---"), ...rows].map(asRow);
  const notes = PEERS.filter(({ name }) => name in report.memoryMb).flatMap(({ title, note }) =>
    note === undefined ? [] : inLines(`${title} ${note}`),
  );
  return [
    "# Speed",
    "",
    "Written by `npm run bench -- --peers`, which repeats it: every server in a process of its own, on the same database,",
    "with the same SQL, the same look at the API key in every request, and the same answers, which are compared first.",
    "Only this service also limits, charges and logs its requests, and bounds what an answer may take.",
    "",
    "![How fast each server answers, as a share of one that is written by hand](speed.svg)",
    "",
    ...circumstances(report).flatMap(asItem),
    "- Medians of the rounds, with their ranges. \"Service by it\" is this service's requests per second by that server's:",
    "  above 1 this service is faster. The times of CPU are for one request.",
    ...asItem(`Memory (resident) after it: ${memoryOf(report)}.`),
    "",
    ...asTable(HEAD, rowsOf(report)),
    ...againOf(report, asTable),
    ...profileOf(report, asTable),
    "",
    "What was tried, and what it gained, stands with the [decisions](../src/README.md#decisions).",
    "",
    ...notes,
    "",
  ]
    .join("\n")
    .replace(/\n+$/, "\n");
}

/** A list item. */
const asItem = (text: string): string[] => inLines(text).map((line, at) => `${at === 0 ? "-" : " "} ${line}`);

const COLUMNS = 115;

/** Wraps a text into lines. */
function inLines(text: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line === undefined || line.length + 1 + word.length > COLUMNS) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}
