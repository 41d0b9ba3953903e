import { LIMITS } from "../../limits.js";
import { TextsRefused } from "./embeddings.js";

const { pieceSize, pieceSizeMin } = LIMITS.embeddings;

/**
 * The size of a UTF-16 unit for a model: about five times its tokens. English has nearly five letters and spaces a
 * token; digits, signs and other alphabets two or three; Chinese, Japanese, Korean and most other scripts one.
 */
function sizeOfUnit(unit: number): number {
  const letter = unit | 32;
  if (unit === 32 || (letter >= 97 && letter <= 122)) return 1;
  return unit < 0x600 ? 2 : 5;
}

export function sizeOf(text: string): number {
  let size = 0;
  for (let place = 0; place < text.length; place++) size += sizeOfUnit(text.charCodeAt(place));
  return size;
}

/** The next place before which no character is split. */
export const wholeAt = (text: string, place: number): number =>
  (text.charCodeAt(place) & 0xfc_00) === 0xdc_00 ? place - 1 : place;

/** Where a part of a text that begins at `start` ends if it has at most this size. Characters are not split. */
export function endWithin(text: string, start: number, size: number): number {
  let [end, left] = [start, size];
  while (end < text.length && (left -= sizeOfUnit(text.charCodeAt(end))) >= 0) end++;
  return wholeAt(text, end);
}

export const beginningOf = (text: string, size: number): string => text.slice(0, endWithin(text, 0, size));

/**
 * Tries with half of the size, and again, while the server refuses the texts: servers refuse texts that are longer than
 * a model's context, each in its own words.
 */
export async function withFittingSize<Result>(
  attempt: (size: number) => Promise<Result>,
  size: number = pieceSize,
): Promise<Result> {
  try {
    return await attempt(size);
  } catch (error) {
    if (!(error instanceof TextsRefused) || size <= pieceSizeMin) throw error;
    return withFittingSize(attempt, size / 2);
  }
}
