import { PIECE_LENGTH, paceBy } from "../operation/pieces.js";

/** How deep long lists are looked for: in GraphQL one may be in each item of another one. */
const LEVELS = 8;
/** From how many objects on a list is long. Shorter ones are made at once: a memory has at most 50,000 characters. */
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
  const pace = paceBy(pause);
  const add = (piece: string): Promise<void> | undefined => {
    pieces.push(piece);
    return pace(piece.length);
  };
  const write = async (value: unknown, levels: number): Promise<void> => {
    if (!hasLongList(value, levels)) return add(JSON.stringify(value));
    if (Array.isArray(value)) {
      for (let start = 0; start < value.length;) {
        pieces.push(start === 0 ? "[" : ",");
        const next: unknown[] = value.slice(start, start + TOGETHER);
        const withList = next.findIndex((item) => hasLongList(item, levels - 1));
        const together = withList < 0 ? next : next.slice(0, withList);
        if (together.length > 0) await add(JSON.stringify(together).slice(1, -1));
        else await write(next[0], levels - 1);
        start += Math.max(together.length, 1);
      }
      return void pieces.push("]");
    }
    let before = "{";
    for (const [name, field] of Object.entries(value as object)) {
      if (field === undefined) continue;
      pieces.push(`${before}${JSON.stringify(name)}:`);
      await write(field, levels - 1);
      before = ",";
    }
    pieces.push("}");
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
  const pace = paceBy(pause);
  let text = "";
  for (const item of items) {
    const written = write(item);
    text += written;
    const turn = pace(written.length);
    if (turn) await turn;
  }
  return text;
}

function hasLongList(value: unknown, levels: number): boolean {
  if (levels <= 0 || typeof value !== "object" || value === null || value instanceof Date) return false;
  if (Array.isArray(value)) {
    if (typeof value[0] !== "object") return false;
    return value.length >= LIST_LONG || value.some((item) => hasLongList(item, levels - 1));
  }
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
