import { fold } from "./fold.js";

/**
 * Endings of languages that share their script with others, so nothing tells which language a word is of. A word is
 * looked up with the other endings of each kind that it may be of, in the languages of which the graph has texts: most
 * of these forms are words of no language, so the graph does not have them. Accents are left out, as in the index.
 */
interface Kind {
  /** The longest first: "ations" before "s". */
  readonly endings: readonly string[];
  /** Those of participles with "ge", as in "gesetzt" and "zurückgesetzt". */
  readonly participles: readonly string[];
  /** How else a stem is written before other endings. */
  readonly respell: (stem: string) => readonly string[];
}

const listOf = (endings: string): string[] => fold(endings).split(/\s+/).filter(Boolean);

/** "-" is to have no ending. Endings in -s that English has, too, are among the stems of the index. */
const kindOf = (endings: string, participles = "", respell: Kind["respell"] = () => []): Kind => ({
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

/** Swedish stems: "nyckel" and "nycklar", "server" and "servrar", "långsam" and "långsamma". */
function respellSwedish(stem: string): string[] {
  if (/[^aeiou]e[lr]$/.test(stem)) return [stem.slice(0, -2) + stem.slice(-1)];
  if (/[bdgkptv][lr]$/.test(stem)) return [`${stem.slice(0, -1)}e${stem.slice(-1)}`];
  if (/(mm|nn)$/.test(stem)) return [stem.slice(0, -1)];
  return /[aeiou][mn]$/.test(stem) ? [stem + stem.slice(-1)] : [];
}

const HARD = [..."kptgbd"];
const SOFT = [..."gbdkpt"];
/** Turkish stems, whose last consonant is softer before a vowel: "bellek" and "belleği", "kitap" and "kitabı". */
const respellTurkish = (stem: string): string[] => {
  const other = SOFT[HARD.indexOf(stem.slice(-1))];
  return other === undefined ? [] : [stem.slice(0, -1) + other];
};

/** A language, or several that share their endings. */
export interface Language {
  /**
   * Common words that English texts hardly have; so not "der", "ist" or "los", for DER, IST and Los Angeles. Few, since
   * each search asks for them. A graph without any of them has hardly a text of the language: most words with its
   * endings are English there, as "socket" beside "sock". Russian needs none, since it has another script.
   */
  readonly common: readonly string[];
  readonly kinds: readonly Kind[];
}

const language = (common: string, ...kinds: readonly Kind[]): Language => ({ common: listOf(common), kinds });

const FRENCH = language(
  "une dans",
  kindOf("er e es ent ez ons ee ees ant ait ation ations ement ements age"),
  kindOf("ir re it is ie ies i u ue us ues issent ent"),
  kindOf("al aux ale ales"),
);
const SPANISH_OR_PORTUGUESE = language(
  "una uma para",
  kindOf(
    `ar arse o a e as os an am en em aba aban ava ado ada ados adas ando amos aron aram ou acion aciones acao acoes
     amento`,
  ),
  kindOf(
    `er ir erse irse e en em es o a ido ida idos idas iendo endo indo ieron eram iram iu eu ia ian cion ciones cao coes
     encia`,
  ),
  kindOf("ao oes aes"),
  kindOf("al ales ais"),
);
const ITALIAN = language(
  "della che",
  kindOf("are arsi o a i e ano ato ata ati ate ava ando iamo azione azioni amento"),
  kindOf("ere ire ersi irsi o e i a ono uto uta uti ute ito ita iti ite iva eva endo izione izioni imento"),
  kindOf("ca che co chi ci"),
  kindOf("ga ghe go ghi gi"),
);
const GERMAN = language("und eine", kindOf("- e en er ern es em n t et end ung ungen", "t et en te ten"));
const DUTCH = language("het een", kindOf("- en e t d de den te ten ing ingen", "d t en de te", respellDutch));
const POLISH = language(
  "nie przez",
  kindOf("ac ic yc ec am amy a y i e o u al ala ali il ila ili yl any ana ane ano ony ona one ono anie ania enie enia"),
  kindOf("- a y i e o u ie em ow ami ach om ego ej ym ych"),
);
/** With Danish and Norwegian. */
const SWEDISH = language(
  "och ikke",
  kindOf("- a e an en n et t er ar or na ene arna erna orna erne", "", respellSwedish),
  kindOf(
    `a e ar er ad ade ades ande at as ede era erar erad erades ering eringen
     ing ingen inger ning ningen ningar ningarna`,
  ),
);
const TURKISH = language(
  "bir icin daha",
  // Behind a consonant, then behind a vowel.
  kindOf("- i u a e in un da de ta te dan den tan ten la le im lar ler lari leri larin lerin", "", respellTurkish),
  kindOf("- si su yi yu ya ye da de dan den nin yla yle mi mu lar ler lari leri larin lerin lara lere larda lerde"),
  kindOf("mak mek ma me di ti du tu dik ir ar er iyor uyor iyorlar an en ildi acak ecek"),
);
const LATIN = [FRENCH, SPANISH_OR_PORTUGUESE, ITALIAN, GERMAN, DUTCH, POLISH, SWEDISH, TURKISH];
/** The verbs of Russian and Ukrainian; nouns and adjectives are among the other endings. */
const RUSSIAN = language(
  "",
  kindOf(
    `ать ить еть ять ал ала али ает ают ил ила или ит ят аем им ание ания ение ения
     анныи анная анное анные енныи енная енное енные ан ана аны ен ена ены`,
  ),
  kindOf(
    `ить лять ит ят им ил ила или ляет ляют ляем ление ления лении лено лена
     ити ляти ив ять імо ляє ляють ення ень лення лень ено ена ені`,
  ),
  kindOf("ати ав ала али ає ають аємо ання ань ано ана ании ані ував увати ує ують ування"),
);

/** Prefixes that German and Dutch verbs have before "ge". */
const PREFIX = "zuruck|terug|auf|aus|bei|ein|vor|weg|nach|uit|aan|over|door|toe|ab|an|zu|um|her|hin|op|af|in";
const PREFIXED = new RegExp(`^(${PREFIX})(.{2,})$`);
const PARTICIPLE = new RegExp(`^(${PREFIX})?ge(.{3,})$`);

/** For graphs with texts of both: English words that are no forms of others, as "listen" of "list". */
const ENGLISH = new Set(
  listOf("center corner filter folder layer letter listen master number order poster rating render router server"),
);

const STEM_LENGTH_MIN = 3;
const INFLECTED = /^(?:[a-z]{4,30}|\p{Script=Cyrillic}{5,30})$/u;

/** Whether a word may have other forms in texts. */
export const mayInflect = (word: string): boolean => INFLECTED.test(word) && !ENGLISH.has(word);

/** The words by which `languagesIn` recognises languages. */
export const COMMON_WORDS: readonly string[] = [...new Set(LATIN.flatMap(({ common }) => common))];

/** The languages that a graph has texts of, by whether it has a word. */
export const languagesIn = (has: (word: string) => boolean): readonly Language[] => [
  ...LATIN.filter(({ common }) => common.some(has)),
  RUSSIAN,
];

/** The other forms that a word may have in texts, if it is of one of these languages. */
export function inflectionsOf(word: string, languages: readonly Language[]): ReadonlySet<string> {
  const forms = new Set<string>();
  const [, prefix = "", rest] = PARTICIPLE.exec(word) ?? [];
  const isLatin = /^[a-z]/.test(word);
  for (const { kinds } of languages.filter((one) => isLatin === LATIN.includes(one))) {
    for (const kind of kinds) {
      addForms(forms, word, kind);
      if (rest && kind.participles.length > 0) addForms(forms, prefix + rest, kind);
    }
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
