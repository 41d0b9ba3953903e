import { createHash } from "node:crypto";
import type { Note } from "./graph.js";

/** The beginning of the client ids that imports give. */
export const IMPORTED = "import:";

/** 132 bits, so no two notes have the same. */
const HASH_LENGTH = 22;

/** Gives each note without an id of its own one that another import of the same note gives it, too. */
export function nameNotes(notes: ReadonlyMap<string, Note>): Map<string, Note> {
  return new Map(
    Array.from(notes, ([key, note]) => {
      const clientId = note.kept?.clientId ?? IMPORTED + hashOf(note);
      return [key, { ...note, kept: { ...note.kept, clientId } }];
    }),
  );
}

/** Like the comparison with stored memories: a note with lines is known by its name, any other by its whole text. */
function hashOf({ key, type, title, content, lines }: Note): string {
  const identity = JSON.stringify(lines ? [key] : [type, title, content]);
  return createHash("sha256").update(identity).digest("base64url").slice(0, HASH_LENGTH);
}
