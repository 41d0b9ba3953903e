import { LIMITS } from "../../../limits.js";
import { beginningOf, endWithin, sizeOf, wholeAt } from "../../../platform/meaning/text-size.js";

const { embeddedCharacters, pieceSize, pieceSizeMin, pieces: piecesMax } = LIMITS.embeddings;
/** The share of a piece that the next one repeats. */
const REPEATED = 0.1;

/** What is embedded of a memory. */
export interface MemoryText {
  readonly title: string;
  readonly summary?: string | null;
  readonly content: string;
}

/**
 * Splits a memory's text into pieces of this size, each with the title. Each repeats the end of the one before. Of a
 * very long text, only the beginning is used.
 */
export function piecesOf(memory: MemoryText, size: number = pieceSize): string[] {
  const { title, text, places } = cutText(memory, size);
  return places.map(({ start, end }) => `${title}\n${text.slice(start, end)}`.toWellFormed());
}

/**
 * Where in a memory's content one of its pieces begins and ends. Its size is not stored, but is one of those whose
 * pieces are as many. Undefined if none is, or if the piece has nothing of the content.
 */
export function placeOfPiece(
  memory: MemoryText,
  { piece, pieces }: { readonly piece: number; readonly pieces: number },
): { readonly start: number; readonly end: number } | undefined {
  for (let size = pieceSize; size >= pieceSizeMin; size /= 2) {
    const { places, ahead } = cutText(memory, size);
    const place = places.length === pieces ? places[piece] : undefined;
    if (place && place.end > ahead) return { start: Math.max(0, place.start - ahead), end: place.end - ahead };
  }
  return undefined;
}

function cutText(memory: MemoryText, size: number) {
  const title = beginningOf(memory.title, size / 2);
  const parts = [memory.title.slice(title.length), memory.summary, memory.content];
  const whole = parts.filter(Boolean).join("\n");
  const text = whole.slice(0, wholeAt(whole, embeddedCharacters));
  const places: Array<{ readonly start: number; readonly end: number }> = [];
  let [start, end] = [0, 0];
  do {
    start = wholeAt(text, end - Math.floor((end - start) * REPEATED));
    end = endWithin(text, start, size - sizeOf(title));
    places.push({ start, end });
  } while (end < text.length && places.length < piecesMax);
  return { title, text, places, ahead: whole.length - memory.content.length };
}
