import { PIECE_LENGTH, paceBy, unitsOf } from "../operation/pieces.js";

/**
 * Returns the same text as `JSON.stringify`. Makes a long one over several turns of the event loop, so that other
 * requests are answered in between; `pause` waits for such a turn. Takes time linear in the answer's size, which the
 * answer's budget bounds.
 */
export async function stringify(answer: object, pause: () => Promise<void>): Promise<string> {
  if (!isLong(answer)) return JSON.stringify(answer);
  const pieces: string[] = [];
  const pace = paceBy(pause);
  const add = (piece: string): Promise<void> | undefined => {
    pieces.push(piece);
    return pace(piece.length);
  };
  const write = async (value: unknown): Promise<void> => {
    if (typeof value !== "object" || !isLong(value)) return add(JSON.stringify(value));
    if (Array.isArray(value)) {
      for (let start = 0, end = 0; start < value.length; start = end) {
        end = endOfPiece(value, start);
        pieces.push(start === 0 ? "[" : ",");
        if (end === start + 1) await write(value[start] ?? null);
        else await add(JSON.stringify(value.slice(start, end)).slice(1, -1));
      }
      return void pieces.push("]");
    }
    let before = "{";
    for (const [name, field] of Object.entries(value as object)) {
      if (field === undefined) continue;
      pieces.push(`${before}${JSON.stringify(name)}:`);
      await write(field);
      before = ",";
    }
    pieces.push("}");
  };
  await write(answer);
  return pieces.join("");
}

const isLong = (value: unknown): boolean => unitsOf(value, PIECE_LENGTH) >= PIECE_LENGTH;

/** Where the items end that are written together: behind a long one, or before it if there are others. */
function endOfPiece(list: readonly unknown[], start: number): number {
  for (let [end, units] = [start, 0]; end < list.length; end++) {
    const next = unitsOf(list[end], PIECE_LENGTH);
    if (end > start && units + next > PIECE_LENGTH) return end;
    units += next;
  }
  return list.length;
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
