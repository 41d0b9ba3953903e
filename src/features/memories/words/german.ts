import { fold } from "./fold.js";

/** Letters of umlauts as two, as where a keyboard lacks them; not in "neue", "bauen" and "quelle". */
const IN_TWO_LETTERS = /(?<![aeq])([aou])e/g;

/** A word with umlauts in two letters as the index has it with umlauts: "tuer" is "tur", for "Tür". */
export const withUmlauts = (word: string): string[] => {
  const other = word.replace(IN_TWO_LETTERS, "$1");
  return other === word ? [] : [other];
};

const UMLAUT = /[äöü]/g;
const WORD = /[\p{L}\p{N}]+/gu;

/** The words of a text that have umlauts, each as the index has it, with the same in two letters: "Tür" as "tuer". */
export const umlautsIn = (text: string): ReadonlyMap<string, string> =>
  new Map(
    (text.normalize("NFC").toLowerCase().match(WORD) ?? []).flatMap((word) => {
      const inTwoLetters = word.replace(UMLAUT, (letter) => `${fold(letter)}e`);
      return inTwoLetters === word ? [] : [[fold(word), fold(inTwoLetters)] as const];
    }),
  );

/** Particles that stand at the end of a sentence: "abmelden" and "meldet sich ab". The index has no "an" and "in". */
const PARTICLE = "zuruck|weiter|fest|frei|hoch|weg|nach|aus|auf|vor|los|ein|um|ab|an";
const VERB = new RegExp(`^(${PARTICLE})(?:ge)?(\\p{L}{3,}?)(?:en|et|e|t|n)$`, "u");
const IS_PARTICLE = new RegExp(`^(?:${PARTICLE})$`);
const CONJUGATED = /^(\p{L}{3,}?)(?:en|et|e|t|n)$/u;

/** The verb and the particle as which a text may have a verb: "abmelden" as "meldet" and "ab". */
export function separate(word: string): string[][] {
  const [, particle = "an", stem = ""] = VERB.exec(word) ?? [];
  return particle === "an" ? [] : ["t", "et", "e", "en"].map((ending) => [stem + ending, particle]);
}

/** How the forms of a verb begin that is apart from its particle: for "meldet" and "ab" "abmeld" and "abgemeld". */
export function join(verb: string, particle: string): string[] {
  const stem = IS_PARTICLE.test(particle) ? CONJUGATED.exec(verb)?.[1] : undefined;
  return stem === undefined ? [] : [particle + stem, `${particle}ge${stem}`];
}
