import { describe, expect, it } from "vitest";
import { countWordsOfGraph } from "../../../src/features/memories/words/count-words.js";
import { formsOf } from "../../../src/features/memories/words/endings.js";
import { fold } from "../../../src/features/memories/words/fold.js";
import { idleAmong } from "../../../src/features/memories/words/idle-words.js";
import { readQuery } from "../../../src/features/memories/words/query.js";
import {
  COMMON_WORDS,
  inflectionsOf,
  languagesIn,
  mayInflect,
} from "../../../src/features/memories/words/inflections.js";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { aMemory, findTitles, memoriesTitled } from "../../support/memories.js";
import { createWorld } from "../../support/world.js";
import { labelledSet } from "../../search-quality/labelled.js";

describe("words without spaces between them", () => {
  it.each([
    ["Thai", "ระบบชำระเงินล่มช่วงเทศกาล", "ชำระเงิน"],
    ["Thai, of two places", "เพิ่มเซิร์ฟเวอร์เป็นสองเท่าและจำกัดการลองใหม่", "จำกัด เซิร์ฟเวอร์"],
    ["Khmer", "ប្រព័ន្ធទូទាត់ប្រាក់មិនដំណើរការ", "ទូទាត់"],
    ["Burmese", "ငွေပေးချေမှုစနစ်ပျက်နေသည်", "ပေးချေ"],
    ["Lao", "ລະບົບຊຳລະເງິນລົ້ມ", "ຊຳລະເງິນ"],
    ["a Latin word in Chinese", "为了速度使用libvips和线程", "libvips"],
    ["a Latin word in Japanese", "今日からTypeScriptで書く", "typescript"],
    ["a Latin word with a Korean particle", "새로운 GraphQL에서 가져온다", "graphql"],
    ["a path in Chinese", "旧代码在utils/async_tools.py里", "utils/async_tools.py"],
    ["a version in Chinese", "升级到v2.14.3以后失败", "v2.14.3"],
    ["an amount in Chinese", "内存会超过512MB。", "512MB"],
    ["a name with signs in Chinese", "用C++重写图像模块", "C++"],
    ["a quoted name in Chinese", "使用Redis Streams缓存", '"redis streams"'],
    ["a Japanese mark of repetition", "担当は佐々木さん", "佐々木"],
  ])("finds %s", async (_what, text, query) => {
    await using world = await createWorld();
    const ann = await world.user();
    await aMemory(ann, { title: "Meant", content: text });
    await memoriesTitled(ann, "Another C", "别的东西", "เรื่องอื่น");

    expect((await findTitles(ann, query))[0]).toBe("Meant");
  });

  it("reads a name and the words beside it separately, in one query", async () => {
    await using world = await createWorld();
    const ann = await world.user();
    await memoriesTitled(ann, "用 C++ 重写", "用 Rust 重写", "C++ 的历史");

    expect((await findTitles(ann, "C++重写"))[0]).toBe("用 C++ 重写");
  });
});

it.each([
  ["traditional characters by simplified ones", "数据库 连接池", "資料、數據庫連接池"],
  ["simplified characters by traditional ones", "緩存過期", "缓存过期时间"],
  ["several traditional characters for one", "理发", "附近的理髮店"],
  ["the other one of these", "发展", "產品發展計畫"],
])("finds %s", async (_what, query, title) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, title, "别的东西", "別的東西");

  expect(await findTitles(ann, query)).toEqual([title]);
});

describe("other forms of a word", () => {
  it.each([
    ["Arabic, with an article and a little word", "للمستخدم", "تفضيلات المستخدم"],
    ["Arabic, without its article", "شحنات", "تأخر الشحنات"],
    ["Hebrew, without a little word", "חיפה", "פגישה בחיפה"],
    ["Hebrew, of many", "דוח", "ביקשו דוחות"],
    ["Hebrew, with another last letter", "עיתון", "מדור בעיתונים"],
    ["Russian", "сервером", "Отказ серверов"],
    ["Ukrainian", "користувачів", "Користувачі чекають"],
    ["Greek", "πληρωμή", "Οι πληρωμές"],
    ["Greek, of many", "συνδέσεις", "Αργή σύνδεση"],
    ["Greek, of a verb", "διορθώνω", "Ο Νίκος διορθώνει"],
    ["Hindi", "छुट्टी", "छुट्टियों की सूची"],
  ])("are found: %s", async (_what, query, title) => {
    await using world = await createWorld();
    const ann = await world.user();
    // A memory has the word as in the query, so it is not taken as a typo.
    await memoriesTitled(ann, title, query);

    expect(await findTitles(ann, query)).toEqual([query, title]);
  });

  it("exist only for words of these scripts, and are limited for any word", () => {
    expect(formsOf("servers").size).toBe(0);
    expect(formsOf("日志").size).toBe(0);
    for (const word of [
      "والمستخدمين",
      "ובהודעות",
      "серверами",
      "ασφάλειας",
      "छुट्टियों",
      "ووووووووووه",
      "ه".repeat(1_000),
    ])
      expect(formsOf(word).size, word).toBeLessThanOrEqual(150);
  });
});

describe("words with endings of languages in Latin script, and Slavic verbs", () => {
  it.each([
    ["French", "déployer", "Le service est déployé", "Une idée dans le train"],
    ["Spanish", "aprobar", "Aprobación de pedidos", "Una cita para Ana"],
    ["Portuguese", "plantões", "Plantão de dezembro", "Uma lista para Ana"],
    ["Italian", "richiesta", "Richieste di ferie", "Idea della casa"],
    ["German, of a participle", "verschlüsseln", "Neue Verschlüsselung", "Das ist eine Idee"],
    ["German, with an inner syllable", "abschalten", "Warnung abgeschaltet", "Das ist eine Idee"],
    ["German, without it", "geprüft", "Wir prüfen alles", "Das ist eine Idee"],
    ["Dutch, with one vowel less", "taak", "Alle taken", "Een idee voor Ann"],
    ["Dutch, with two consonants", "knop", "Groene knoppen", "Een idee voor Ann"],
    ["Dutch, with another consonant", "schijven", "Volle schijf", "Een idee voor Ann"],
    ["Polish", "sprawdzić", "Kasia sprawdza teksty", "Nie dla Anny"],
    ["Spanish, of itself", "conectarse", "Conectar a la red", "Una cita para Ana"],
    ["Italian, of itself", "collegare", "Collegarsi alla rete", "Idea della casa"],
    ["Swedish", "faktura", "Alla fakturor", "Böcker och tidningar"],
    ["Swedish, of a verb", "säkerhetskopiering", "Säkerhetskopia av filer", "Böcker och tidningar"],
    ["Swedish, with a vowel less", "nyckel", "Var är nycklarna", "Böcker och tidningar"],
    ["Swedish, with two consonants", "långsamma", "En långsam sida", "Böcker och tidningar"],
    ["Danish", "aftalerne", "En aftale om priser", "Det er ikke nu"],
    ["Turkish", "hatalar", "Ödeme hatası", "Yeni bir fikir"],
    ["Turkish, behind a consonant", "toplantılarda", "Toplantıya gelin", "Yeni bir fikir"],
    ["Turkish, with a softer consonant", "bellek", "Yeterli belleği var", "Yeni bir fikir"],
    ["Turkish, of a verb", "yazmak", "Ayşe raporu yazar", "Yeni bir fikir"],
    ["Russian", "продлить", "Продление домена", "Привет"],
    ["Russian, with a consonant more", "обновить", "Обновление сайта", "Привет"],
    ["Ukrainian", "замовити", "Андрій замовляє стіл", "Привіт"],
    ["Ukrainian, of many", "рішень", "Рішення готове", "Привіт"],
  ])("are found: %s", async (_what, query, title, other) => {
    await using world = await createWorld();
    const ann = await world.user();
    // A memory has the word as in the query, so it is not taken as a typo.
    await memoriesTitled(ann, other, title, query);

    expect(await findTitles(ann, query)).toEqual([query, title]);
  });

  it("are not found in a graph without texts of the language", async () => {
    await using world = await createWorld();
    const ann = await world.user();
    const words = ["sock", "socket", "tick", "ticket", "pack", "packet", "mark", "market", "donation", "done"];
    const english = "A DER certificate for Los Angeles at 5 IST";
    await memoriesTitled(ann, english, ...words.map((word) => `The ${word} here`));

    for (const word of ["sock", "tick", "pack", "mark", "donation"])
      expect(await findTitles(ann, `${word} here`), word).toEqual([`The ${word} here`]);

    await memoriesTitled(ann, "Das ist eine Idee");

    expect(await findTitles(ann, "sock here")).toEqual(["The sock here", "The socket here"]);
  });

  it("are found where no memory has the word as in the query", async () => {
    await using world = await createWorld();
    const ann = await world.user();
    await memoriesTitled(ann, "Tradução do aplicativo", "Uma lista para Ana");

    expect(await findTitles(ann, "traduzir traduções")).toEqual(["Tradução do aplicativo"]);
  });

  it("are no forms of a word if over 30 times more memories have them", async () => {
    await using world = await createWorld();
    const ann = await world.user();
    const notes = Array.from({ length: 31 }, (_, index) => `Notes on release ${index}`);
    await memoriesTitled(ann, "Nota fiscal", "Uma lista", ...notes);
    await countWordsOfGraph(world.services);

    expect(await findTitles(ann, "nota")).toEqual(["Nota fiscal"]);
  });

  it.each([20, 21])("are not looked up for a word that over 20 memories have: %i", async (count) => {
    await using world = await createWorld();
    const ann = await world.user();
    await memoriesTitled(ann, "Una date", ...Array.from({ length: count }, (_, index) => `Data of team ${index}`));
    await countWordsOfGraph(world.services);

    expect((await ann.did(searchMemories, { query: "data" })).total).toBe(21);
  });

  it("are limited for any word", () => {
    for (const word of ["日志", "v2", "a".repeat(1_000), "server"]) expect(mayInflect(word), word).toBe(false);
    const all = languagesIn(() => true);
    for (const word of ["messages", "zuruckgesetzt", "fallire", "versturen", "sifreler", "реализованные"])
      expect(inflectionsOf(word, all).size, word).toBeLessThanOrEqual(240);
  });

  it("leave no stem so short that it is another word", async () => {
    await using world = await createWorld();
    const ann = await world.user();
    await memoriesTitled(ann, "En lösning", "Tarifas de los envíos", "Böcker och tidningar");

    expect(await findTitles(ann, "lösning")).toEqual(["En lösning"]);
  });

  it("are likelier than a misspelling", async () => {
    await using world = await createWorld();
    const ann = await world.user();
    await memoriesTitled(ann, "Pago recibido", "Trettio dagar", "Una cita para Ana");

    expect(await findTitles(ann, "pagar")).toEqual(["Pago recibido"]);
  });
});

it.each([
  ["meldet sich ab", "Nutzer abmelden"],
  ["wie melde ich den Nutzer ab", "Nutzer abgemeldet"],
  ["Zertifikat läuft ab", "Das Zertifikat ist abgelaufen"],
  ["abmelden", "Das System meldet den Nutzer nach einer Stunde ab"],
])("finds a German verb apart from its particle: %s", async (query, title) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Ab morgen: der Nutzer läuft", title, "Das Zertifikat und der Nutzer");

  expect((await findTitles(ann, query))[0]).toBe(title);
});

it("finds a French verb by its noun of another stem, and vice versa", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Se connecter au VPN", "La connexion du client", "Une idée");

  for (const query of ["connexions", "connecter"]) expect((await findTitles(ann, query)).length, query).toBe(2);
});

it("ranks a name in the script of the query above the same in another script", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "서버 로그인 오류");
  await aMemory(ann, { title: "社内メモ", content: "サーバーの設定" });

  expect((await findTitles(ann, "サーバ"))[0]).toBe("社内メモ");
});

it("takes no word for unknown that memories have in kana", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "サーバーの設定");

  const { memories, unknownWords } = await ann.did(searchMemories, { query: "server" });

  expect([memories.length, unknownWords]).toEqual([1, []]);
});

it("ranks a word above another one that could be it with an umlaut", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: "Disk usage with du" });
  await aMemory(ann, { title: "Dates", content: "An invoice is due." });

  expect(await findTitles(ann, "due")).toEqual(["Dates", "Disk usage with du"]);
});

it("takes a word with an umlaut for one with two letters, and no other word", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Neue Tür", "Neue Tuer", "Die Quelle bauen", "Qulle", "Eine Tour");

  expect((await findTitles(ann, "tuer")).toSorted()).toEqual(["Neue Tuer", "Neue Tür"]);
  expect((await findTitles(ann, "Tür")).toSorted()).toEqual(["Neue Tuer", "Neue Tür"]);
  expect(await findTitles(ann, "Quelle")).toEqual(["Die Quelle bauen"]);
});

describe("words of asking", () => {
  it.each([
    ["Chinese", "怎么申请退款", "退款流程", "怎么申请办公用品"],
    ["Japanese", "どうやって返金しますか", "返金の流れ", "どうやって発注しますか"],
    ["Korean", "환불은 어떻게 하나요", "환불 절차", "비품은 어떻게 신청하나요"],
    ["Ukrainian", "як повернути кошти", "Повернення коштів", "Як ми працюємо"],
    ["Greek", "πώς αλλάζω κωδικό", "Νέος κωδικός", "Πώς δουλεύουμε"],
    ["Swedish", "hur betalar vi tillbaka", "Betala tillbaka", "Hur vi arbetar"],
    ["Polish", "jak zwrócić pieniądze", "Zwrot pieniędzy", "Jak pracujemy"],
  ])("say nothing about the subject: %s", async (_language, query, title, other) => {
    await using world = await createWorld();
    const ann = await world.user();
    await memoriesTitled(ann, title, other);

    expect((await findTitles(ann, query))[0]).toBe(title);
  });

  it.each([
    ["どこでも印刷", "どこでもオフィス", "印刷の設定"],
    ["いつか返金", "いつか読む本", "返金の流れ"],
  ])("are no parts of other words: %s", async (query, title, other) => {
    await using world = await createWorld();
    const ann = await world.user();
    await memoriesTitled(ann, title, other);

    expect((await findTitles(ann, query)).toSorted()).toEqual([title, other].toSorted());
  });

  it("are no part of a Chinese word", async () => {
    await using world = await createWorld();
    const ann = await world.user();
    await memoriesTitled(ann, "没什么大不了", "没有库存");

    expect(await findTitles(ann, "没什么")).toEqual(["没什么大不了"]);
  });

  it("are looked up if the query has no others or quotes them", async () => {
    await using world = await createWorld();
    const ann = await world.user();
    await memoriesTitled(ann, "怎么申请办公用品", "办公用品");

    for (const query of ["怎么", '"怎么申请"'])
      expect(await findTitles(ann, query), query).toEqual(["怎么申请办公用品"]);
  });
});

it("takes a word as initials of others only if no memory has more of the words", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Replace the RDS instance", "How to roll back a deploy", "Goods come with a GRN");
  await world.database.pool.query("SELECT count_words($1, 10000)", [ann.caller.personalGraphId]);

  expect((await findTitles(ann, "rollback deploy steps"))[0]).toBe("How to roll back a deploy");
  expect(await findTitles(ann, "goods received note")).toEqual(["Goods come with a GRN"]);
});

it("finds the short form of two words, also if one of them is a stop word", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Nothing happens after logout", "A new LB for the web", "The load of a truck", "A sign");

  expect(await findTitles(ann, "happens after sign out")).toContain("Nothing happens after logout");
  expect(await findTitles(ann, "load balancers")).toContain("A new LB for the web");
});

it("ranks a memory with only a longer word below one with a rarer word", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "One format", "Two format");
  await memoriesTitled(ann, ...Array.from({ length: 40 }, (_, index) => `Formatter ${index}`));
  await aMemory(ann, { title: "To the user", content: "Datumsangaben mit Punkten." });
  await world.database.pool.query("SELECT count_words($1, 10000)", [ann.caller.personalGraphId]);

  const hits = await findTitles(ann, "datumsangabe format");

  expect(hits.slice(0, 3).toSorted()).toEqual(["One format", "To the user", "Two format"]);
});

it("takes a graph with the name Jest for no Polish one", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Jest runs the tests", "Schema of orders", "A dark scheme");

  expect(await findTitles(ann, "schema")).toEqual(["Schema of orders"]);
});

it.each([
  ["HA backup NAS", "With HA to the NAS: backup", "Backup"],
  ["OS update DAS", "For DAS: an update of the OS", "Update"],
  ["backup do NAS da empresa para nuvem", "Backup para nuvem da empresa: NAS", "Backup para nuvem da empresa"],
  ["VAD threshold", "Recorder: VAD and its threshold", "Threshold"],
  ["обновление ПО", "ПО: обновление", "Обновление"],
])("takes initials for no words that say nothing: %s", async (query, first, other) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, first, other);

  expect((await findTitles(ann, query))[0]).toBe(first);
});

it.each([
  ["Der Server antwortet NICHT nach Update", "nicht"],
  ["le serveur ne marche PAS après la mise", "pas"],
  ["сервер НЕ отвечает", "не"],
  ["Backup UND Restore der Datenbank mit Skript", "und"],
])("takes a word that is stressed for no initials: %s", (query, stressed) => {
  expect(readQuery(query).words.map(({ text }) => text)).not.toContain(stressed);
});

it("takes no English sentences for texts of another language", () => {
  const texts = labelledSet("first").memories.flatMap(({ title, content }) => [title, ...content.split(/[.!?\n]/)]);
  const wordsOf = (text: string) => fold(text.toLowerCase()).match(/[\p{L}\p{N}]+/gu) ?? [];
  const found = texts.flatMap((text) => {
    const words = wordsOf(text);
    const idle = [...idleAmong(words)].filter((word) => !idleAmong([word]).has(word));
    return idle.length > 0 ? [`${text}: ${idle.join(", ")}`] : [];
  });

  expect(texts.length).toBeGreaterThan(1_000);
  expect(found, "In `LANGUAGES`, the words that English has, too, are in the third list.").toEqual([]);
  const all = new Set(texts.flatMap(wordsOf));
  const common = COMMON_WORDS.filter((word) => all.has(word));
  // UNA is a part of messages by EDIFACT.
  expect(common, "These are no `COMMON_WORDS`: English texts have them, too.").toEqual(["una"]);
});
