/** How many characters of JSON are made in one turn of the event loop: about half a millisecond of work. */
const PIECE_LENGTH = 131_072;
/** How deep long lists are looked for: in GraphQL they are at `data.searchMemories.memories`. */
const LEVELS = 3;
/** From how many items on a list is long. Shorter ones are made at once: a memory has at most 50,000 characters. */
const LIST_LONG = 8;
/** How many items of a long list are made at once. */
const TOGETHER = 4;

/**
 * Returns the same text as `JSON.stringify`. Makes long lists over several turns of the event loop, so that other
 * requests are answered in between; `pause` waits for such a turn. Takes time linear in the answer's size, which the
 * answer's budget bounds.
 */
export async function stringify(answer: object, pause: () => Promise<void>): Promise<string> {
  if (!hasLongList(answer, LEVELS)) return JSON.stringify(answer);
  const pieces: string[] = [];
  let length = 0;
  const add = (piece: string): void => {
    pieces.push(piece);
    length += piece.length;
  };
  const write = async (value: unknown, levels: number): Promise<void> => {
    if (Array.isArray(value)) {
      for (let start = 0; start < value.length; start += TOGETHER) {
        if (length >= PIECE_LENGTH) {
          length = 0;
          await pause();
        }
        const items = JSON.stringify(value.slice(start, start + TOGETHER)).slice(1, -1);
        add(`${start === 0 ? "[" : ","}${items}`);
      }
      return add(value.length === 0 ? "[]" : "]");
    }
    if (!hasLongList(value, levels)) return add(JSON.stringify(value));
    let before = "{";
    for (const [name, field] of Object.entries(value as object)) {
      if (field === undefined) continue;
      add(`${before}${JSON.stringify(name)}:`);
      await write(field, levels - 1);
      before = ",";
    }
    add("}");
  };
  await write(answer, LEVELS);
  return pieces.join("");
}

/** Joins what `write` makes of each item, over several turns of the event loop, for which `pause` waits. */
export async function join<Item>(
  items: readonly Item[],
  write: (item: Item) => string,
  pause: () => Promise<void>,
): Promise<string> {
  let [text, length] = ["", 0];
  for (const item of items) {
    if (text.length - length >= PIECE_LENGTH) {
      length = text.length;
      await pause();
    }
    text += write(item);
  }
  return text;
}

function hasLongList(value: unknown, levels: number): boolean {
  if (Array.isArray(value)) return value.length >= LIST_LONG;
  if (levels === 0 || typeof value !== "object" || value === null || value instanceof Date) return false;
  for (const field of Object.values(value)) if (hasLongList(field, levels - 1)) return true;
  return false;
}

/**
 * Encodes a long text as UTF-8 over several turns of the event loop, for which `pause` waits. Returns a shorter one as
 * it is: Node encodes it together with the head of its answer.
 */
export function encode(text: string, pause: () => Promise<void>): string | Promise<Buffer> {
  return text.length > PIECE_LENGTH ? encodeInPieces(text, pause) : text;
}

async function encodeInPieces(text: string, pause: () => Promise<void>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let start = 0;
  while (start < text.length) {
    await pause();
    // Not between the halves of a surrogate pair.
    const end = start + PIECE_LENGTH - (/[\uD800-\uDBFF]/.test(text.charAt(start + PIECE_LENGTH - 1)) ? 1 : 0);
    pieces.push(Buffer.from(text.slice(start, end)));
    start = end;
  }
  return Buffer.concat(pieces);
}
