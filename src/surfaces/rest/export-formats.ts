type Fields = Readonly<Record<string, unknown>>;

/** Turns the records of one export into text: the graph first, then its memories, then its relationships. */
interface Writer {
  /** The text of the next record. */
  write(record: Fields): string;
  /** The text after the last record. */
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

/** MemoryGraph's format: one object with two lists. Its end counts the records, to notice a file that was cut off. */
const MEMORY_GRAPH: ExportFormat = {
  contentType: "application/json; charset=utf-8",
  begin() {
    let list: "memories" | "relationships" = "memories";
    let isFirst = true;
    const counts = { memories: 0, relationships: 0 };
    const writeItem = (fields: object): string => {
      const text = `${isFirst ? "" : ","}\n${JSON.stringify(fields)}`;
      isFirst = false;
      counts[list]++;
      return text;
    };
    /** The text between the lists; empty if the second one has begun. */
    const beginRelationships = (): string => {
      if (list === "relationships") return "";
      list = "relationships";
      isFirst = true;
      return '\n],"relationships":[';
    };
    return {
      write({ record, ...fields }) {
        if (record === "graph") return beginMemories(fields);
        if (record === "memory") return writeItem(fields);
        return beginRelationships() + writeItem(relationshipOf(fields));
      },
      end: () => `${beginRelationships()}\n],"exported":${JSON.stringify(counts)}}\n`,
    };
  },
};

/** The beginning of the object, which stays open: the two lists follow. */
const beginMemories = ({ exported_at, memories, relationships }: Fields): string => {
  const about = { format_version: "2.0", export_version: "1.0", export_date: exported_at };
  const counts = { memory_count: memories, relationship_count: relationships };
  return `${JSON.stringify({ ...about, ...counts }).slice(0, -1)},"memories":[`;
};

/** A relationship as MemoryGraph writes it. */
const relationshipOf = ({ from, to, strength, confidence, context, ...fields }: Fields) => ({
  from_memory_id: from,
  to_memory_id: to,
  ...fields,
  properties: { strength, confidence, context },
});

export const EXPORT_FORMATS: ReadonlyMap<string, ExportFormat> = new Map([
  ["jsonl", JSON_LINES],
  ["memorygraph", MEMORY_GRAPH],
]);
