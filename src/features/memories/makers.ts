/** Who stored a memory, and who changed it last if that is another. */
export interface Makers {
  readonly author: string | null;
  readonly editor: string | null;
}

export const AUTHOR =
  "Who stored it, in the graph of the caller's team: a member's e-mail address, without its domain if that is the " +
  "caller's, with `(you)` for the caller, or `a former member`; null in a personal graph";
export const EDITOR = "Who changed it last, likewise, if that is not who stored it; else null";
