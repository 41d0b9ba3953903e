import type { Note } from "./graph.js";
import type { StoredMemory } from "./graph-store.js";

/**
 * Stored memories, found by the notes that they may come from. Many may have one title, so they are not compared with
 * each other.
 */
export class StoredAlike {
  readonly #byTitle = new Map<string, WithTitle>();

  /** @param notes only memories with their titles are kept. */
  constructor(notes: Iterable<Note>) {
    for (const { title } of notes) this.#byTitle.set(title, new WithTitle());
  }

  add(memory: StoredMemory): void {
    this.#byTitle.get(memory.title)?.add(memory);
  }

  /**
   * The stored memory that came from this note. A note that grows is identified by its title; if that was cut, by the
   * full title at the start of the content. Any other note is identified by its whole content.
   */
  find({ key, type, title, content, lines }: Note): StoredMemory | undefined {
    const found = this.#byTitle.get(title);
    if (!lines) return found?.byContent.get(content)?.get(type);
    if (title === key) return found?.first;
    const begins = (memory: StoredMemory) => memory.content === key || memory.content.startsWith(`${key}\n`);
    return found?.byFirstLine.get(firstLineOf(key))?.find(begins);
  }
}

/** The stored memories of one title. Where several are alike, the first one counts. */
class WithTitle {
  first: StoredMemory | undefined;
  readonly byContent = new Map<string, Map<string, StoredMemory>>();
  readonly byFirstLine = new Map<string, StoredMemory[]>();

  add(memory: StoredMemory): void {
    const { type, content } = memory;
    this.first ??= memory;
    const byType = this.byContent.get(content) ?? new Map<string, StoredMemory>();
    if (!byType.has(type)) this.byContent.set(content, byType.set(type, memory));
    const line = firstLineOf(content);
    const same = this.byFirstLine.get(line);
    if (same) same.push(memory);
    else this.byFirstLine.set(line, [memory]);
  }
}

const firstLineOf = (text: string): string => text.split("\n", 1)[0] ?? "";
