import { Transform, type TransformCallback } from "node:stream";
import type { ExportFormat, ExportLine } from "./export-lines.js";
import { ImportStopped } from "./import-stopped.js";
import { quote } from "./text.js";

type Counts = Readonly<Record<"memories" | "relationships", unknown>>;

/** What has been read so far of an export, or of several that stand one after another in a file. */
export class RecordCount {
  readonly read = { memories: 0, relationships: 0 };
  #announced: Counts | undefined;
  /** What had been read when the present export began. */
  #before = { ...this.read };
  #isBroken = false;
  /** Whether the last line was read, and its counts are those of the lines before; the same of each earlier export. */
  isComplete = false;

  /** How many records were read. */
  get records(): number {
    return this.read.memories + this.read.relationships;
  }

  /** How many records its first line announces. */
  get announced(): number {
    return Number(this.#announced?.memories) + Number(this.#announced?.relationships);
  }

  add(line: ExportLine): void {
    if (line.kind === "start") {
      this.#isBroken ||= this.#announced !== undefined && !this.isComplete;
      this.#announced = line;
      this.#before = { ...this.read };
      this.isComplete = false;
    } else if (line.kind === "end") {
      const counted = { ...this.#announced, ...line };
      const isCounted = (["memories", "relationships"] as const).every(
        (list) => counted[list] === this.read[list] - this.#before[list],
      );
      this.isComplete = isCounted && !this.#isBroken;
    } else this.read[line.kind === "memory" ? "memories" : "relationships"]++;
  }
}

interface Counting {
  /** The address that sends it. */
  readonly url: string;
  readonly format: ExportFormat;
  readonly count: RecordCount;
  readonly onRecords: (records: number) => void;
}

/**
 * Passes an export through, and counts its records.
 * @throws ImportStopped for anything else, such as the page of a proxy.
 */
export function countRecords({ url, format, count, onRecords }: Counting): Transform {
  let [rest, isBegun] = ["", false];
  const take = (line: string) => {
    const said = isBegun || format.begins.test(line) ? format.read(line) : undefined;
    if (said === undefined) {
      throw new ImportStopped(
        `What ${url} sends is no export, so nothing was written: ${quote(Buffer.from(line, "latin1").toString())}. ` +
          "Check --url, and what is in front of the service.",
      );
    }
    isBegun = true;
    if (said !== "nothing") count.add(said);
  };
  const takeAll = (lines: readonly string[], done: TransformCallback, chunk?: Buffer) => {
    const before = count.records;
    try {
      for (const line of lines) take(line);
    } catch (error) {
      return done(error as Error);
    }
    if (isBegun) onRecords(count.records - before);
    done(null, chunk);
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      // Bytes as characters: a character of several bytes may be in two chunks.
      const lines = (rest + chunk.toString("latin1")).split("\n");
      rest = lines.pop() ?? "";
      takeAll(lines, done, chunk);
    },
    // The last line of an export has an end, a page may have none.
    flush: (done) => takeAll(isBegun || rest === "" ? [] : [rest], done),
  });
}
