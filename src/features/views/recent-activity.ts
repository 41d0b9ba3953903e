import { ArgsType, Field, Int, ObjectType } from "type-graphql";
import { DAY_MS } from "../../durations.js";
import { LIMITS } from "../../limits.js";
import { Between } from "../../operation/bounds.js";
import { defineOperation } from "../../operation/operation.js";
import { withinPage } from "../../operation/page.js";
import type { RowOf } from "../../platform/database/statement.js";
import {
  CLOSING,
  GRAPH_FOR_AGENTS,
  GraphInput,
  MEMORY_EXAMPLE,
  Memory,
  NoTeamGraph,
  OPEN_TYPES,
  ProjectField,
  TypesField,
  IncludeExpiredField,
  expiryFor,
  chosenGraphId,
  setMakers,
  showsMakers,
  setSolving,
  setSuperseding,
} from "../memories/index.js";
import { type MemoryInJson, NEWEST_MAX, UNSOLVED_MAX, recentActivityOf } from "./recent-statement.js";
import { TypeCount } from "./type-count.js";

const DAYS_MAX = LIMITS.views.days;
const CHANGED_MAX = LIMITS.views.changed;
const PROBLEMS_MAX = LIMITS.views.problems;

@ArgsType()
export class RecentActivityInput extends GraphInput {
  @Field(() => Int, { defaultValue: 7, description: `How many days to look back, from 1 to ${DAYS_MAX}.` })
  @Between(1, DAYS_MAX)
  days!: number;

  @ProjectField("Only memories of this project: those whose `context` has exactly this `project_path`.")
  project?: string | null;

  @TypesField()
  types?: string[] | null;

  @Field(() => Int, {
    defaultValue: 0,
    description: `How many of the \`memories\` to leave out, from 0 to ${CHANGED_MAX.toLocaleString("en")}.`,
  })
  @Between(0, CHANGED_MAX)
  offset!: number;

  @Field(() => Int, {
    defaultValue: 0,
    description: `How many of the \`unresolvedProblems\` to leave out, from 0 to ${PROBLEMS_MAX.toLocaleString("en")}.`,
  })
  @Between(0, PROBLEMS_MAX)
  unresolvedOffset!: number;

  @IncludeExpiredField()
  includeExpired!: boolean;
}

@ObjectType({ description: "What was stored or changed in the last days." })
export class RecentActivity {
  @Field(() => Int, { description: "How many memories." })
  total!: number;

  @Field(() => Boolean, {
    description:
      `Whether there may be more than \`total\`: the last ${CHANGED_MAX.toLocaleString("en")} changes of a graph are ` +
      "looked at.",
  })
  totalIsCapped!: boolean;

  @Field(() => [TypeCount], { description: `How many of each type, the ${LIMITS.views.types} most common first.` })
  byType!: TypeCount[];

  @Field(() => [Memory], { description: `Up to ${NEWEST_MAX} of them, the last changed first.` })
  memories!: Memory[];

  @Field(() => [Memory], {
    description:
      `Those of type ${OPEN_TYPES.join(" or ")} that no relationship ${CLOSING.join(" or ")} leads to, the most ` +
      `important first, at most ${UNSOLVED_MAX}.`,
  })
  unresolvedProblems!: Memory[];

  @Field(() => Int, {
    description:
      `How many such problems there are, among the last changed ${PROBLEMS_MAX.toLocaleString("en")} problems and ` +
      `errors of the last changed ${CHANGED_MAX.toLocaleString("en")} memories.`,
  })
  unresolvedTotal!: number;

  @Field(() => Boolean, {
    description: "Whether there are more `unresolvedProblems`, or a list is shorter since its texts are long.",
  })
  truncated!: boolean;

  @Field(() => Int, { description: "How many days it looked back." })
  days!: number;
}

/** The fields of each memory; get_memory reads it whole. */
const SHOWN_TO_AGENTS = ["id", "type", "title", "summary", "tags", "updatedAt", "author", "editor", "supersededBy"];

export const recentActivity = defineOperation({
  name: "recentActivity",
  effect: "reads",
  summary: "What was stored or changed in a graph in the last days, and which of these problems are open.",
  notes: "Where texts are long, the lists may be shorter.",
  input: RecentActivityInput,
  output: RecentActivity,
  isLarge: true,
  permission: "memories:read",
  failures: [NoTeamGraph],
  rest: { method: "GET", path: "/v1/activity" },
  mcp: {
    name: "get_recent_activity",
    description:
      "What changed in the last days and by whom, newest first, and which problems among it are open. Call it to pick " +
      `up work where it was left, or with types and days ${DAYS_MAX} to list all of a kind.`,
    leftOut: ["includeExpired"],
    inputs: {
      days: "How many days to look back.",
      project: "Only with exactly this project_path in context.",
      types: "Only these types, such as preference.",
      offset: "How many to leave out.",
      unresolvedOffset: "How many problems to leave out.",
      graph: GRAPH_FOR_AGENTS,
    },
    outputs: [
      "total",
      "totalIsCapped",
      "byType",
      "unresolvedTotal",
      "days",
      "memories.solvedBy",
      ...["memories", "unresolvedProblems"].flatMap((list) => SHOWN_TO_AGENTS.map((name) => `${list}.${name}`)),
    ],
    ifCut:
      "For the next memories, add to offset how many came; for the next unresolved_problems, to unresolved_offset.",
    narrowing: ["project", "types"],
    whenEmpty({ days, project, types }) {
      const isNarrowed = Boolean(project || types);
      if (days !== DAYS_MAX) {
        const more = `Ask for more days, up to ${DAYS_MAX}. Or call search_memories.`;
        return isNarrowed ? more : `Nothing changed in these days, but older problems may be open. ${more}`;
      }
      // Imports keep the times of what they store, so there may be much that is older.
      const older = "search_memories also finds older ones.";
      return isNarrowed ? older : `Nothing was stored or changed in a year, except maybe what has expired. ${older}`;
    },
    hintOf({ memories, total, unresolved_total: open, days }, { types }) {
      const isEmpty = Array.isArray(memories) && memories.length === 0;
      if (isEmpty && Number(total) > 0)
        return `There is nothing after the first ${Number(total)}: give a smaller offset.`;
      // An agent would take it that no problem is left.
      return !isEmpty && open === 0 && days !== DAYS_MAX && !types
        ? `Only problems that changed in these days are looked at; days ${DAYS_MAX} shows older ones, which may be open.`
        : undefined;
    },
  },
  example: {
    input: { days: 7 },
    output: {
      total: 1,
      totalIsCapped: false,
      byType: [{ type: MEMORY_EXAMPLE.type, count: 1 }],
      memories: [MEMORY_EXAMPLE],
      unresolvedProblems: [],
      unresolvedTotal: 0,
      truncated: false,
      days: 7,
    },
  },
  async handle(context, input) {
    const { caller, database, now } = context;
    const { days, offset, unresolvedOffset } = input;
    const since = new Date(now().getTime() - days * DAY_MS);
    const values = {
      graphId: chosenGraphId(caller, input),
      since,
      project: input.project ?? null,
      types: input.types ?? null,
      expired: expiryFor(context, input),
      most: LIMITS.views.changed,
      offset,
      unresolvedOffset,
    };
    const [counts, ...rows] = await database.run(recentActivityOf, values);
    const [total, unresolvedTotal] = [counts?.total ?? 0, counts?.unresolvedTotal ?? 0];
    // Problems come first when the page is filled: somebody has to act on them.
    const open = memoriesOf("problems", rows);
    const wanted = [...open, ...memoriesOf("memories", rows)];
    const shown = await withinPage(context, wanted);
    const [unresolvedProblems, memories] = [shown.slice(0, open.length), shown.slice(open.length)];
    const isForAgents = context.door === "mcp";
    // So that an agent neither takes a decision of last week for one that still holds, nor takes up a task that is done.
    // GraphQL has relations for both.
    if (isForAgents) await setSuperseding(context, shown);
    if (isForAgents) await setSolving(context, memories);
    if (showsMakers(context, values.graphId)) await setMakers(context, shown, (one) => one);
    return {
      total,
      totalIsCapped: counts?.isCapped ?? false,
      byType: counts?.byType ?? [],
      memories,
      unresolvedProblems,
      unresolvedTotal,
      // The other doors have lists with pages: an agent has no other list, and has to know that this one ends early.
      truncated:
        unresolvedTotal > unresolvedOffset + open.length ||
        shown.length < wanted.length ||
        (isForAgents && total > offset + memories.length),
      days,
    };
  },
});

type Row = RowOf<typeof recentActivityOf>;

/** The memories of a list, in its order. */
const memoriesOf = (list: Row["list"], rows: readonly Row[]): Memory[] =>
  rows.flatMap((row) => (row.list === list && row.memory ? [toMemory(row.memory)] : []));

const toMemory = (memory: MemoryInJson): Memory => ({
  ...memory,
  createdAt: new Date(memory.createdAt),
  updatedAt: new Date(memory.updatedAt),
  expiresAt: memory.expiresAt === null ? null : new Date(memory.expiresAt),
});
