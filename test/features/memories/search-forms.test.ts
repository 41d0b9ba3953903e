import fc from "fast-check";
import { expect, it } from "vitest";
import { fold } from "../../../src/features/memories/words/fold.js";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { aMemory, findTitles, memoriesTitled } from "../../support/memories.js";
import { roundsOf } from "../../support/rounds.js";
import { createWorld } from "../../support/world.js";

/** Two ways to write a word. */
const FORMS = {
  "full-width letters": ["ＡＰＩ", "api"],
  "half-width kana": ["ｶﾞﾗｽ", "ガラス"],
  "a ligature": ["ﬁlewatcher", "filewatcher"],
  "a letter for two": ["Straßenbahn", "strassenbahn"],
  "letters grown together": ["cæsar", "caesar"],
  "a zero-width space": ["data\u200bbase", "database"],
  "a soft hyphen": ["configu\u00adrability", "configurability"],
  "an accent of its own": ["cafe\u0301teria", "caf\u00e9teria"],
  "no accent": ["caf\u00e9teria", "cafeteria"],
  "a dotted capital": ["\u0130stanbul", "istanbul"],
  "a letter without its dot": ["kay\u0131t", "kayit"],
  "a stretched word": ["الكتـــاب", "الكتاب"],
  "Arabic vowels": ["كَتَبَ", "كتب"],
  "Hebrew vowels": ["שָׁלוֹם", "שלום"],
  "Arabic digits": ["٤٠١٧", "4017"],
  "Persian digits": ["۴۰۱۷", "4017"],
  "Hindi digits": ["४०१७", "4017"],
  "Thai digits": ["๔๐๑๗", "4017"],
  "an Arabic word with a Persian letter": ["کتابی", "كتابي"],
  "an Arabic ending without its dots": ["مدرسة", "مدرسه"],
  "a Russian ё": ["учёт", "учет"],
  "Korean letters apart": ["\u1112\u1161\u11ab\u1100\u1173\u11af", "한글"],
  "Japanese marks apart": ["テ\u3099ータ", "データ"],
  "mathematical letters": ["𝐛𝐨𝐥𝐝𝐭𝐞𝐱𝐭", "boldtext"],
  "a name for one sign": ["Phase Ⅳ", "phase iv"],
  "a trade mark": ["Acme™", "acme"],
  "umlauts in two letters": ["Schlüsselübergabe", "Schluesseluebergabe"],
  "a short word with an umlaut": ["Öl", "Oel"],
  "a Japanese word with its endings in kana": ["申し込み", "申込"],
  "an English word in kana": ["データベース", "database"],
  "an English word in hangul": ["데이터베이스", "database"],
  "a Chinese word as in Taiwan": ["服务器", "伺服器"],
  "a Chinese word of two spellings": ["登录", "登陆"],
} as const;

it.each(Object.entries(FORMS))("finds %s by the plain form, and vice versa", async (_kind, [one, other]) => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: "One", content: `Some words before ${one} here.` });
  await aMemory(ann, { title: "Other", content: `Some words before ${other} here.` });

  for (const query of [one, other]) {
    const { memories } = await ann.did(searchMemories, { query });
    expect(memories.map(({ title }) => title).toSorted(), query).toEqual(["One", "Other"]);
  }
});

it.each([
  ["3400", "3,400"],
  ["3400", "3 400"],
  ["12500", "12,500"],
  ["1200000", "1.200.000"],
  ["1200000", "1 200 000"],
  ["500ms", "500 ms"],
  ["16GB", "16 GB"],
  ["30s", "30 seconds"],
  ["30s", "(30 seconds)"],
  ["30s", "~30 seconds"],
  ["<30s", "30 sec"],
  ["30s", "30-second"],
  ["(2.5 million)", "2500000"],
  ["15min", "15 minutes"],
  ["45mins", "45 minutes"],
  ["2 h", "2 hours"],
  ["90ms", "90 milliseconds"],
  ["90us", "90 µs"],
  ["512MB", "512 MiB"],
  ["4Gi", "4 GB"],
  ["ADR-21", "ADR-0021"],
  ["INC-007", "INC-7"],
  ["invoice #482", "invoice 000482"],
  ["TLSv1.2", "TLS 1.2"],
  ["TLS v1.2", "TLSv1.2"],
])("finds %s also as %s, and vice versa, whether or not another memory has it as it is", async (one, other) => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: "One", content: `Some words before ${one} here.` });
  await aMemory(ann, { title: "Other", content: `Some words before ${other} here.` });
  await aMemory(ann, { title: "Else", content: "Some words before 7 here." });

  for (const query of [one, other]) {
    const { memories } = await ann.did(searchMemories, { query });
    expect(memories.map(({ title }) => title).toSorted(), query).toEqual(["One", "Other"]);
  }
});

it.each([
  ["VPC", "VPCs"],
  ["vpc", "vpcs"],
  ["SLA", "SLAs"],
  ["DTO", "DTOs"],
  ["502", "502s"],
  ["5xx", "5xxs"],
  ["serialisation", "serialization"],
  ["customised", "customized"],
])("finds %s also as %s, and vice versa, at any place of the query", async (one, other) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, `The ${one} of Monday`, `The ${other} of Sunday`, "Weekdays");

  for (const name of [one, other]) {
    for (const query of [name, `${name} weekend`, `weekend ${name}`]) {
      expect((await findTitles(ann, query)).toSorted(), query).toEqual([
        `The ${one} of Monday`,
        `The ${other} of Sunday`,
      ]);
    }
  }
});

it.each([
  ["JWTs", "One JWT is signed", ["Branch jw/812 with app.ts"]],
  ["502s", "The proxy answers 502", ["It took 30 s"]],
])("finds %s by its singular, though the graph has what looks like its parts", async (query, title, others) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, title, ...others);

  expect(await findTitles(ann, query)).toEqual([title]);
});

it.each([
  ["gbps", "A line of 10 Gbps", "Paid in GBP"],
  ["thus", "Thus it works", "Meeting on Thursday"],
  ["https", "See https", "See http"],
])("takes %s for no plural or singular of another word", async (query, title, other) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, title, other);

  expect(await findTitles(ann, query)).toEqual([title]);
});

it.each(["Straßenbahn", "ﬁlewatcher", "ＡＰＩ", "data\u200bbase", "con\u00adfiguration", "كَتَبَ"])(
  "shows %s in the form in which the text has it",
  async (word) => {
    await using world = await createWorld();
    const ann = await world.user();
    const filler = "Äußerst ﬂüchtig, cœur. ".repeat(50);
    await aMemory(ann, { title: "A note", content: `${filler}${word} ${filler}` });

    const { memories } = await ann.did(searchMemories, { query: fold(word) });

    expect(memories[0]?.snippet?.indexOf(word)).toBeGreaterThan(0);
    expect(memories[0]?.snippet?.indexOf(word)).toBeLessThan(80);
  },
);

it("folds queries as PostgreSQL folds texts", async () => {
  await using world = await createWorld();
  const letter = (first: number, last: number) =>
    fc.integer({ min: first, max: last }).map((code) => String.fromCodePoint(code));
  const letters = fc.oneof(
    letter(0x20, 0x24f),
    letter(0x300, 0x36f),
    letter(0x370, 0x52f),
    letter(0x591, 0x6ff),
    letter(0x1e00, 0x206f),
    letter(0x900, 0xeff),

    letter(0x2100, 0x218b),
    letter(0x3040, 0x33ff),
    letter(0xac00, 0xac80),
    letter(0xf900, 0xfaff),
    letter(0xfe00, 0xfeff),
    letter(0xff01, 0xff9f),
    letter(0x1d400, 0x1d4ff),
    fc.constantFrom(..."ßẞæÆœŒøØłŁđĐı™℠ﷺ"),
  );

  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.array(letters, { maxLength: 12 }).map((all) => all.join("")),
        { minLength: 50 },
      ),
      async (texts) => {
        const { rows } = await world.database.pool.query<{ folded: string }>(
          "SELECT fold_accents(text) AS folded FROM unnest($1::text[]) WITH ORDINALITY AS given (text, place) ORDER BY place",
          [texts],
        );
        // PostgreSQL cuts the result where characters fold to many.
        expect(rows.map(({ folded }) => folded)).toEqual(
          texts.map((text) => [...fold(text)].slice(0, 2 * [...text].length + 20).join("")),
        );
      },
    ),
    { numRuns: roundsOf(40) },
  );
});

it("folds each letter on its own as PostgreSQL does, and separates words at every ASCII sign", async () => {
  await using world = await createWorld();
  const between = (first: number, last: number) =>
    Array.from({ length: last - first + 1 }, (_, place) => String.fromCodePoint(first + place));
  const letters = [between(0x80, 0x24f), between(0x600, 0x6ff), between(0x900, 0xe7f), between(0x1e9e, 0x214f)].flat();
  const signs = between(0x21, 0x7e).filter((sign) => !/[a-z\d]/i.test(sign));

  const { rows } = await world.database.pool.query<{ folded: string[]; plain: string }>(
    `SELECT (SELECT array_agg(fold_accents(letter) ORDER BY place) FROM unnest($1::text[]) WITH ORDINALITY
       AS given (letter, place)) AS folded, plain_words($2) AS plain`,
    [letters, signs.join("a")],
  );

  expect(rows[0]?.folded).toEqual(letters.map(fold));
  expect(rows[0]?.plain).toBe(signs.map(() => " ").join("a"));
  expect(signs).toHaveLength(32);
});

it("finds numbers in digits by words, and vice versa", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: "Four-day week in summer" });
  await aMemory(ann, { title: "Tokens expire after 4 weeks" });
  await aMemory(ann, { title: "Leave of 16 weeks" });
  await aMemory(ann, { title: "The team of the 2nd floor" });
  const first = async (query: string) => (await ann.did(searchMemories, { query })).memories[0]?.title;

  expect(await first("4-day week")).toBe("Four-day week in summer");
  expect(await first("sixteen weeks")).toBe("Leave of 16 weeks");
  expect(await first("tokens of four weeks")).toBe("Tokens expire after 4 weeks");
  expect(await first("second floor")).toBe("The team of the 2nd floor");
});

it("keeps the same vectors as when their parts were merged in order", async () => {
  await using world = await createWorld();
  const part = fc.array(
    fc.oneof(
      fc.constantFrom("getUserById", "src/app.ts", "c++", "the", "Straße", "サーバー", "^a", ":task"),
      fc.string(),
    ),
  );
  const text = part.map((parts) => parts.join(" ").replaceAll("\0", "").toWellFormed());

  await fc.assert(
    fc.asyncProperty(
      text,
      fc.array(text, { maxLength: 3 }),
      fc.option(text),
      text,
      async (title, tags, summary, content) => {
        const { rows } = await world.database.pool.query<{ same: boolean }>(
          `SELECT memory_search('task', $1, $2, $3, $4)::text = (
           text_search($1) || text_search(array_to_string($2::text[], ' ')) || text_search(coalesce($3 || ' ', '') || $4)
           || mark_words('^', strip(text_search($1)
             || to_tsvector('simple', plain_words(set_apart(fold_accents($1))))))
           || mark_words('#', text_search(array_to_string($2::text[], ' ')))
           || array_to_tsvector(ARRAY[':task'] || ARRAY(SELECT '=' || tag FROM unnest($2::text[]) AS tag))
           || array_to_tsvector(string_to_array(left(regexp_replace(
             fold_accents($1 || array_to_string($2::text[], '') || coalesce($3 || ' ', '') || $4),
             '[[:alnum:][:space:]]+', '', 'g'), 5000), NULL)))::text AS same`,
          [title, tags, summary, content],
        );
        expect(rows[0]?.same).toBe(true);
      },
    ),
    { numRuns: roundsOf(300) },
  );
});
