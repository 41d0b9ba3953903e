import { type FinishOptions, GraphDraft } from "./draft.js";
import type { ImportedGraph } from "./graph.js";
import { readRecord } from "./recognise.js";
import { RecordReader, type Unread } from "./record-reader.js";
import { quote } from "./text.js";

/** Reads the graph of a file from its text, in chunks. */
export class GraphReader {
  readonly #draft = new GraphDraft();
  readonly #records = new RecordReader({
    onRecord: (record) => readRecord(record, this.#draft),
    onUnread: ({ place, text, reason }) => this.#draft.refuse("other", describeUnread({ place, text }), reason),
    onComment: ({ place, text, reason }) => this.#draft.ignore(describeUnread({ place, text }), reason),
  });

  push(text: string): void {
    this.#records.push(text);
  }

  /** Returns the graph of all chunks. Call it once, after the last `push`. */
  end(options?: FinishOptions): ImportedGraph {
    this.#records.end();
    return this.#draft.finish(options);
  }
}

const describeUnread = ({ place, text }: Pick<Unread, "place" | "text">) => `${place}: ${quote(text)}`;
