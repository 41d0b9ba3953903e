/** How many characters of texts or of JSON are worked on in one piece: about half a millisecond of work. */
export const PIECE_LENGTH = 131_072;

/** Notes that work on so many characters is done. Returns a promise to wait for when the piece is complete. */
export type Pace = (characters: number) => Promise<void> | undefined;

/** Splits work on long texts into pieces, between which other requests get their turn; `pause` waits for the next. */
export function paceBy(pause: () => Promise<void>): Pace {
  let length = 0;
  return (characters) => {
    length += characters;
    if (length < PIECE_LENGTH) return undefined;
    length = 0;
    return pause();
  };
}
