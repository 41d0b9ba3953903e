import { Transform } from "node:stream";

/** What has been read of an export so far. */
export interface ExportCounts {
  memories: number;
  relationships: number;
  /** How many records its first line announces. */
  expected: number | undefined;
  /** Whether the last line was read, and its counts are those of the lines before. */
  isComplete: boolean;
}

/** Passes an export in lines through, and counts its records. Only the first and the last line are parsed. */
export function countRecords(counts: ExportCounts, onRecords: (records: number) => void): Transform {
  let rest = "";
  const take = (line: string) => {
    if (line.startsWith('{"record":"memory"')) counts.memories++;
    else if (line.startsWith('{"record":"relationship"')) counts.relationships++;
    else readAround(line, counts);
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const lines = (rest + chunk.toString("latin1")).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) take(line);
      onRecords(lines.length);
      done(null, chunk);
    },
  });
}

function readAround(line: string, counts: ExportCounts): void {
  const { record, memories, relationships } = JSON.parse(line) as Readonly<Record<string, unknown>>;
  if (record === "graph") counts.expected = Number(memories) + Number(relationships);
  if (record === "end") counts.isComplete = memories === counts.memories && relationships === counts.relationships;
}
