import { GraphQLJSONObject } from "graphql-scalars";
import { ArgsType, Field, ObjectType } from "type-graphql";
import { NIL_ID, UUID } from "../../operation/id.js";
import { EXPORT_VERSION } from "../../export-version.js";
import type { Context } from "../../operation/context.js";
import { snakeCase } from "../../operation/names.js";
import { LIMITS } from "../../limits.js";
import { defineOperation } from "../../operation/operation.js";
import { NEXT_CURSOR, Paged, cursorOf, pageOf, placeOf, readForPage } from "../../operation/page.js";
import {
  GraphInput,
  MEMORY_EXAMPLE,
  NoTeamGraph,
  chargeForCounting,
  costOfCounting,
  graphOfPage,
} from "../memories/index.js";
import { memoriesBetween, relationshipsBetween } from "./export-statement.js";
import { RELATIONSHIP_EXAMPLE } from "../relationships/index.js";

const ID = UUID.source.slice(1, -1);
/** How a `Place` is written in a cursor. */
const PLACE = new RegExp(`^${ID}/[mr]/${ID}/${ID}$`);

@ArgsType()
export class ExportGraphInput extends Paged("exportGraph", GraphInput, PLACE) {}

@ObjectType({ description: "A page of all that a graph holds now." })
export class GraphRecords {
  @Field(() => [GraphQLJSONObject], {
    description:
      "The records, oldest first: one that says how many there are (`record` is graph; counting relationships ends at " +
      `${LIMITS.views.counted.toLocaleString("en")}), then the memories (memory), ` +
      "then the relationships (relationship), with all their fields in snake_case, their authors and times.",
  })
  records!: GraphRecord[];

  @Field(() => String, { nullable: true, description: NEXT_CURSOR })
  nextCursor!: string | null;
}

/** A record, with its fields named as in REST. */
export type GraphRecord = Readonly<Record<string, unknown>> & {
  readonly record: "graph" | "memory" | "relationship";
};

/** The fields of the first record that name the format. */
const FORMAT = { record: "graph", format: "memory-graph", format_version: EXPORT_VERSION } as const;

const { graphId: _of, ...MEMORY } = MEMORY_EXAMPLE;
const { graphId: _at, ...RELATIONSHIP } = RELATIONSHIP_EXAMPLE;

export const exportGraph = defineOperation({
  name: "exportGraph",
  effect: "reads",
  summary: "Everything that a graph holds, page by page, in records from which `restoreMemories` makes the same graph.",
  notes:
    "Earlier versions of memories, and records stored after the first page was read, are left out. The first page " +
    `${costOfCounting(LIMITS.views.counted)}. ` +
    "By REST `GET /v1/export` streams all pages at once, one record a line.",
  input: ExportGraphInput,
  output: GraphRecords,
  isLarge: true,
  permission: "memories:read",
  failures: [NoTeamGraph],
  rest: { method: "GET", path: "/v1/export/records" },
  example: {
    input: { limit: 100 },
    output: {
      records: [
        { ...FORMAT, exported_at: "2026-03-02T10:00:00.000Z", memories: 1, relationships: 1 },
        recordOf("memory", { ...MEMORY, updatedBy: MEMORY.createdBy }),
        recordOf("relationship", { ...RELATIONSHIP, createdBy: MEMORY.createdBy }),
      ],
      nextCursor: null,
    },
  },
  async handle(context, input) {
    const { limit, cursor, list } = input;
    const begun = readPlace(placeOf(cursor));
    const graphId = graphOfPage(context.caller, input, begun?.graphId);
    const place = begun ?? ({ graphId, list: "m", until: context.newId(), after: NIL_ID } as const);
    const beginning = cursor == null ? [await describeGraph(context, graphId)] : [];
    const rows = await readForPage<StoredRecord>(limit, (last, take) =>
      readRecords(context, { ...place, after: last?.id ?? place.after }, take),
    );
    const { items, nextCursor } = await pageOf(context, rows, input, ({ id }) => writePlace({ ...place, after: id }));
    const isLast = nextCursor === null && place.list === "r";
    const next = cursorOf(list, writePlace({ ...place, list: "r", after: NIL_ID }));
    return { records: [...beginning, ...items], nextCursor: isLast ? null : (nextCursor ?? next) };
  },
});

/**
 * How far a graph's records are read: which list, after which id, and the last id to export, made for the first page.
 */
interface Place {
  readonly graphId: string;
  readonly list: "m" | "r";
  readonly until: string;
  readonly after: string;
}

const writePlace = ({ graphId, list, until, after }: Place): string => `${graphId}/${list}/${until}/${after}`;

function readPlace(text: string | null): Place | undefined {
  const [graphId = "", list, until = "", after = ""] = text?.split("/") ?? [];
  return list === "m" || list === "r" ? { graphId, list, until, after } : undefined;
}

type StoredRecord = GraphRecord & { readonly id: string };

/** Ids are in the order of time, so memories come before the relationships that lead to them. */
async function readRecords({ database }: Context, { list, ...place }: Place, take: number): Promise<StoredRecord[]> {
  const page = { ...place, take };
  if (list === "m") return (await database.run(memoriesBetween, page)).map((row) => recordOf("memory", row));
  return (await database.run(relationshipsBetween, page)).map((row) => recordOf("relationship", row));
}

async function describeGraph(context: Context, graphId: string): Promise<GraphRecord> {
  const { database, now } = context;
  const { counted } = LIMITS.views;
  const memories = await chargeForCounting(context, graphId, counted);
  const relationships = await database.models.relationship.count({ where: { graphId }, take: counted });
  return { ...FORMAT, exported_at: now().toISOString(), memories, relationships };
}

/**
 * Assigns the fields one by one: V8 takes literals and copies of a whole page for objects that live long, and allocates
 * them where only a full garbage collection finds them. So an export grew the process by 100 MB.
 */
function recordOf(record: GraphRecord["record"], row: object): StoredRecord {
  const made: { record: GraphRecord["record"]; [field: string]: unknown } = { record };
  for (const [name, value] of Object.entries(row) as [string, unknown][]) {
    made[snakeCase(name)] = value instanceof Date ? value.toISOString() : value;
  }
  return made as StoredRecord;
}
