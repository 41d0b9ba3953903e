/** Something to look up: a word to be stemmed, or one to be taken as it is written. */
export interface Piece {
  readonly text: string;
  readonly asWritten: boolean;
}

export const pieceToStem = (text: string): Piece => ({ text: text.toLowerCase(), asWritten: false });
export const pieceAsWritten = (text: string): Piece => ({ text: text.toLowerCase(), asWritten: true });
