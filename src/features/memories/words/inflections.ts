/**
 * Endings of languages that share their script with others, so nothing tells which language a word is of. A word is
 * looked up with the other endings of each kind that it may be of: most of these forms are words of no language, so the
 * graph does not have them. Accents are left out, as in the index.
 */
interface Kind {
  /** The longest first: "ations" before "s". */
  readonly endings: readonly string[];
  /** Those of participles with "ge", as in "gesetzt" and "zurückgesetzt". */
  readonly participles: readonly string[];
  /** How else a stem is written before other endings. */
  readonly respell: (stem: string) => readonly string[];
}

const listOf = (endings: string): string[] => endings.split(/\s+/).filter(Boolean);

/** "-" is to have no ending. Endings in -s that English has, too, are among the stems of the index. */
const kind = (endings: string, participles = "", respell: Kind["respell"] = () => []): Kind => ({
  endings: listOf(endings)
    .map((ending) => ending.replace("-", ""))
    .toSorted((one, other) => other.length - one.length),
  participles: listOf(participles),
  respell,
});

/** Dutch stems, which change with what follows: "week" and "weken", "knop" and "knoppen", "schijf" and "schijven". */
function respellDutch(stem: string): string[] {
  if (/([aeou])\1[^aeiou]$/.test(stem)) return [stem.slice(0, -2) + stem.slice(-1)];
  if (/([bdfgklmnprst])\1$/.test(stem)) return [stem.slice(0, -1)];
  if (/[vz]$/.test(stem)) return [stem.replace(/v$/, "f").replace(/z$/, "s")];
  if (/[aeou][bdfgklmnprst]$/.test(stem)) return [stem.slice(0, -1) + stem.slice(-2), stem + stem.slice(-1)];
  return /[fs]$/.test(stem) ? [stem.replace(/f$/, "v").replace(/s$/, "z")] : [];
}

const KINDS: readonly Kind[] = [
  // French.
  kind("er e es ent ez ons ee ees ant ait ation ations ement ements age"),
  kind("ir re it is ie ies i u ue us ues issent ent"),
  kind("al aux ale ales"),
  // Spanish and Portuguese.
  kind(
    "ar o a e as os an am en em aba aban ava ado ada ados adas ando amos aron aram ou acion aciones acao acoes amento",
  ),
  kind(
    "er ir e en em es o a ido ida idos idas iendo endo indo ieron eram iram iu eu ia ian cion ciones cao coes encia",
  ),
  kind("ao oes aes"),
  kind("al ales ais"),
  // Italian.
  kind("are o a i e ano ato ata ati ate ava ando iamo azione azioni amento"),
  kind("ere ire o e i a ono uto uta uti ute ito ita iti ite iva eva endo izione izioni imento"),
  kind("ca che co chi ci"),
  kind("ga ghe go ghi gi"),
  // German.
  kind("- e en er ern es em n t et end ung ungen", "t et en te ten"),
  // Dutch.
  kind("- en e t d de den te ten ing ingen", "d t en de te", respellDutch),
  // Polish.
  kind("ac ic yc ec am amy a y i e o u al ala ali il ila ili yl any ana ane ano ony ona one ono anie ania enie enia"),
  kind("- a y i e o u ie em ow ami ach om ego ej ym ych"),
  // Russian verbs; its nouns and adjectives are among the other endings.
  kind(
    `ать ить еть ять ал ала али ает ают ил ила или ит ят аем им ание ания ение ения
     анныи анная анное анные енныи енная енное енные ан ана аны ен ена ены`,
  ),
];

/** Prefixes that German and Dutch verbs have before "ge". */
const PREFIX = "zuruck|terug|auf|aus|bei|ein|vor|weg|nach|uit|aan|over|door|toe|ab|an|zu|um|her|hin|op|af|in";
const PREFIXED = new RegExp(`^(${PREFIX})(.{2,})$`);
const PARTICIPLE = new RegExp(`^(${PREFIX})?ge(.{3,})$`);

/** English words that are not what they look like: "listen" is no form of "list". */
const ENGLISH = new Set(
  listOf("center corner filter folder layer letter listen master number order poster rating render router server"),
);

const STEM_LENGTH_MIN = 3;
const INFLECTED = /^(?:[a-z]{4,30}|\p{Script=Cyrillic}{5,30})$/u;

export const hasInflections = (word: string): boolean => INFLECTED.test(word) && !ENGLISH.has(word);

/** The other forms that a word may have in texts, if it is of one of these languages. */
export function inflectionsOf(word: string): ReadonlySet<string> {
  const forms = new Set<string>();
  const [, prefix = "", rest] = PARTICIPLE.exec(word) ?? [];
  for (const one of KINDS) {
    addForms(forms, word, one);
    if (rest && one.participles.length > 0) addForms(forms, prefix + rest, one);
  }
  forms.delete(word);
  return forms;
}

/** Into one set: a word takes 10 µs; by lists of lists it took 66. */
function addForms(forms: Set<string>, word: string, { endings, participles, respell }: Kind): void {
  const ending = endings.find((end) => word.endsWith(end) && word.length - end.length >= STEM_LENGTH_MIN);
  if (ending === undefined) return;
  const stem = word.slice(0, word.length - ending.length);
  for (const one of [stem, ...respell(stem)]) {
    for (const end of endings) forms.add(one + end);
    const [, prefix, rest] = participles.length > 0 ? (PREFIXED.exec(one) ?? []) : [];
    for (const end of participles) {
      forms.add(`ge${one}${end}`);
      if (prefix !== undefined) forms.add(`${prefix}ge${rest}${end}`);
    }
  }
}
