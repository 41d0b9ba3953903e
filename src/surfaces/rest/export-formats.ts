type Fields = Readonly<Record<string, unknown>>;

/** Writes records as text, one after the other. */
interface Writer {
  write(record: Fields): string;
  end(): string;
}

export interface ExportFormat {
  readonly contentType: string;
  begin(): Writer;
}

/** One record per line. The last one counts the others, so that readers notice if a file was cut off. */
const JSON_LINES: ExportFormat = {
  contentType: "application/jsonl; charset=utf-8",
  begin() {
    const counts = { memories: 0, relationships: 0 };
    return {
      write(record) {
        if (record["record"] === "memory") counts.memories++;
        if (record["record"] === "relationship") counts.relationships++;
        return `${JSON.stringify(record)}\n`;
      },
      end: () => `${JSON.stringify({ record: "end", ...counts })}\n`,
    };
  },
};

/** MemoryGraph's format: one object with two lists. Its end counts the records, as above. */
const MEMORY_GRAPH: ExportFormat = {
  contentType: "application/json; charset=utf-8",
  begin() {
    let list: "memories" | "relationships" = "memories";
    let isFirst = true;
    const counts = { memories: 0, relationships: 0 };
    const item = (fields: object): string => {
      const text = `${isFirst ? "" : ","}\n${JSON.stringify(fields)}`;
      isFirst = false;
      counts[list]++;
      return text;
    };
    const beginRelationships = (): string => {
      [list, isFirst] = ["relationships", true];
      return '\n],"relationships":[';
    };
    return {
      write({ record, ...fields }) {
        if (record === "graph") return describe(fields);
        if (record === "memory") return item(fields);
        return `${list === "memories" ? beginRelationships() : ""}${item(relationship(fields))}`;
      },
      end: () => `${list === "memories" ? beginRelationships() : ""}\n],"exported":${JSON.stringify(counts)}}\n`,
    };
  },
};

const describe = ({ exported_at, memories, relationships }: Fields): string => {
  const about = { format_version: "2.0", export_version: "1.0", export_date: exported_at };
  const counts = { memory_count: memories, relationship_count: relationships };
  return `${JSON.stringify({ ...about, ...counts }).slice(0, -1)},"memories":[`;
};

const relationship = ({ from, to, strength, confidence, context, ...fields }: Fields) => ({
  ...{ from_memory_id: from, to_memory_id: to, ...fields },
  properties: { strength, confidence, context },
});

export const EXPORT_FORMATS: ReadonlyMap<string, ExportFormat> = new Map([
  ["jsonl", JSON_LINES],
  ["memorygraph", MEMORY_GRAPH],
]);
