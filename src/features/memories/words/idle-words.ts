import { fold } from "./fold.js";

const wordsOf = (list: string): ReadonlySet<string> => new Set(fold(list).split(/\s+/).filter(Boolean));

/** English prepositions and the like that stemming keeps, and words of asking. */
const ENGLISH = wordsOf(
  `across already also although among around behind besides beyond could despite might must onto perhaps shall since still
   though toward towards unless upon whereas whether within without would yet
   anyone anybody anything everyone everybody everything somebody someone something
   please tell show explain wondering`,
);

/** Words of another language that say nothing about the subject of a query. */
interface Language {
  /** Question words, and others that mean nothing else in any language: idle in every query. */
  readonly always: ReadonlySet<string>;
  /** Articles, prepositions, pronouns and auxiliary verbs: idle in a query of this language. */
  readonly joining: ReadonlySet<string>;
  /** The same for those that are also English words: they do not show which language it is. */
  readonly english: ReadonlySet<string>;
}

const language = (always: string, joining: string, english: string): Language => ({
  always: wordsOf(always),
  joining: wordsOf(joining),
  english: wordsOf(english),
});

/** Words that are also technical terms in queries of their own language ("var", "bin", "todo") are not among them. */
const LANGUAGES: readonly Language[] = [
  language(
    "wie warum wieso weshalb wann welche welcher welches wofür womit",
    `der das dem den des ein eine einen einem einer eines kein keine und oder aber auch noch nur dass wenn denn
     ich mich mir wir uns ihr sie sich wer wo mein meine unser unsere dieser diese dieses diesem diesen
     mit von vom zu zum zur bei beim auf aus für über nach vor durch gegen ohne unter im um
     ist sind wird werden wurde wurden habe haben hatte kann können muss müssen soll sollen nicht`,
    "die war man hat",
  ),
  language(
    "pourquoi quand quel quelle quels quelles combien quoi",
    `le la les un une des du de au aux et ou où mais donc que qui ce cet cette ces
     je tu il elle nous vous ils elles se sa ses mes notre nos votre vos leur leurs
     dans avec sur par sous sans chez vers en est sont ont avons avez être été peut faut ne pas comme à`,
    "pour l d j n s qu",
  ),
  language(
    "cómo cuándo dónde porque cuál cuáles quién cuánto cuánta cuántos cuántas",
    `el la los las un una unos unas lo de del al y que se su sus este esta estos estas ese esa eso esto
     con por para en sobre entre desde hasta pero más nos les es está están fue ser hay han`,
    "son o e",
  ),
  language(
    "onde quando qual quais quem",
    `os um uma uns umas da dos das na nos nas em ao aos pelo pela pelos pelas que se seu sua seus suas ele ela isso este esta
     de e por para mais mas não é são está estão foi ser tem há você nós`,
    "com o",
  ),
  language(
    "perché quando dove quale quali quanto",
    `il lo la gli le un uno una di del dello della dei degli delle da dal dalla nel nella nei nelle su sul sulla
     con tra fra ed che non è sono questo questa questi queste si ci ma anche più stato essere ha hanno`,
    "per era come i e o",
  ),
  language(
    "waarom wanneer hoe welk wat waar",
    `de het een en van voor op zijn niet dat er aan om te ook als maar bij naar uit wordt worden werd heeft hebben
     kan moet moeten mag wij ze zij ik je jullie onze ons deze dit geen nog`,
    "die door met",
  ),
  language(
    "hur varför när vilken vilket vad hvorfor hvordan hvornår hvilken hvad hva hvor",
    `och att det är en ett som på för av till inte den de om jag vi från eller ska mig
     og er et af ikke jeg skal har kan fra`,
    "for at men med",
  ),
  language("miksi miten milloin missä mikä", "ja on ei se että kun niin myös tai mutta", ""),
  language("miért hogyan mikor melyik hol", "az és egy hogy nem van volt ez ezt azt vagy meg", "a is"),
  language(
    "neden nasıl nerede hangi",
    "bir bu şu ve ile için mi mı mu mü da de ne çok gibi kadar ama veya değil olarak",
    "",
  ),
  language(
    "jak dlaczego kiedy gdzie który która które ile",
    "na od po za nie się jest są mogę można mi ten ta te co czego czym czy dla przy przez że oraz lub ale był była było być gdy",
    "i w z o u do to",
  ),
  language(
    `как почему когда где зачем какой какая какие кто что
     и в во на не с со по для из от до у к о об за это так или но а мы вы он она они я его ее их
     был была было были есть нет же ли бы при чтобы если`,
    "",
    "",
  ),
  language(
    `як чому коли де навіщо який яка яке які хто що
     і й та в у на не з зі із по для від до о об за це так або але а ми ви він вона вони я мій його її їх
     був була було були є немає чи б би при щоб якщо`,
    "",
    "",
  ),
  language(
    `πώς γιατί πότε πού ποιος ποια ποιο ποιοι τι
     ο η το οι τα του της των τον την τους τις και σε στο στη στην στον στα στις στους με για από δεν δε μη να θα που
     είναι ήταν έχω έχει μου μας ένας μια ένα αν ή αλλά`,
    "",
    "",
  ),
];

/** Two different words of a language show that a query is written in it, if one of them has so many letters. */
const SHOWING_LENGTH_MIN = 3;

function isIn({ always, joining }: Language, words: ReadonlySet<string>): boolean {
  const showing = [...words].filter((word) => word.length > 1 && (always.has(word) || joining.has(word)));
  return showing.length > 1 && showing.some(({ length }) => length >= SHOWING_LENGTH_MIN);
}

/**
 * The words of a query that say nothing about its subject. A single word such as "der", "mit", "est" or "de" may be a name,
 * so it counts as one unless another word shows that the query is in its language: in a graph that is mostly in English,
 * such words are rare, and would weigh as much as a name that is asked for.
 */
export function idleAmong(query: readonly string[]): ReadonlySet<string> {
  const words = new Set(query);
  const spoken = LANGUAGES.filter((one) => isIn(one, words));
  const idle = [
    ENGLISH,
    ...LANGUAGES.map(({ always }) => always),
    ...spoken.flatMap(({ joining, english }) => [joining, english]),
  ];
  return new Set([...words].filter((word) => idle.some((some) => some.has(word))));
}

/** A word that a question begins with. */
const QUESTION = String.raw`(?:can|could|do|does|did|how|what|when|where|which|who|why)\b`;

/**
 * Phrases of asking: in English their words may mean something elsewhere, as in "known_hosts" and "Let's Encrypt"; in
 * Chinese, Japanese and Korean, without spaces, they are not words of their own.
 */
const ASKING = new RegExp(
  [
    // No "Hello, world!", no "Hey Jude".
    String.raw`^\s*(?:hi|hello|hey)(?: there| all| everyone| team)?\s*(?:[,.!](?!\s*world)|(?=\s${QUESTION}))`,
    // No "special thanks".
    String.raw`[,.!?]\s*(?:thanks|thank you)[\s.!]*$|\bthx[\s.!]*$`,
    // No "need-to-know basis", no "Remind Me bot".
    String.raw`\blet me know\b|\b(?:i|we)(?:['\u2019]d| would)? (?:need|want|like) to know\b`,
    String.raw`\b(?:remind|help) me(?=\s(?:about|find|of|to|understand|with|${QUESTION})\b)`,
    String.raw`\bdo (?:you|we) (?:know|remember|recall)\b`,
    String.raw`\b(?:i|we) (?:think|guess|believe|suppose|wonder)\b|\b(?:find|search|look)(?: up| for)? the (?:thing|one) (?:about|with)\b`,
    "请问|請問|怎么[样办]?|怎[麼樣样]|如何|为什么|為什麼|什么时候|(?<!没)什[么麼](?![都也])|哪[里裡]|[吗嗎呢](?![\\u4e00-\\u9fff])",
    "どうやって|どうすれば|どうしたら|どのように|どうして|(?<![\\u3040-\\u309f])(?:なぜ|どこ|いつ)(?!も|でも|か|なら|なぜ)",
    "を?教えて(?:ください)?",
    "(?:の|ん)?(?:です|ます|ません|ました|でしょう)か(?![\\u3040-\\u30ff])",
    "(?<![가-힣])(?:어떻게|왜|언제|어디서?|무엇을?|무슨|누가|얼마나)(?![가-힣])",
    "(?:하나요|되나요|인가요|나요|까요)(?![가-힣])",
  ].join("|"),
  "giu",
);

/** A query without such phrases, unless it has no others or quotes some. */
export function withoutAsking(query: string): string {
  const rest = query.includes('"') ? query : query.replace(ASKING, " ");
  return /[\p{L}\p{N}]/u.test(rest) ? rest : query;
}
