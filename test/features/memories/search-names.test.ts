import { expect, it } from "vitest";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { aMemory, findTitles, manyMemories, memoriesTitled } from "../../support/memories.js";
import { createWorld } from "../../support/world.js";

/** A name, a content that has it, and a title that has its words and its punctuation, but not the name. */
const NAMES: ReadonlyArray<readonly [name: string, content: string, title: string]> = [
  ["c++", "It is written in C++ and built by Bazel.", "Plan C, after A + B"],
  ["C#", "The add-in needs C#, since Excel does.", "Vitamin C, issue #12"],
  ["f#", "Prices are in F#.", "Press F for issue # 7"],
  [".net", "It runs on .NET in a container.", "Net income. A net."],
  ["R&D", "All of it belongs to R&D.", "R is used for D & others"],
  ["at&t", "Mails over AT&T arrive late.", "Meet at T & wait"],
  ["@acme/ledger", "Import money from @acme/ledger only.", "Acme/ledger is @ the root"],
  ["max_conns=40", "Start it with max_conns=40 at most.", "max_conns: 40 = enough"],
  ["--no-cache", "Build it with --no-cache once.", "No cache - none"],
  ["$HOME", "It reads $HOME on Linux.", "Home costs 5 $"],
  ["::before", "The icon is in its ::before, on the left.", "Before:: after"],
  ["<div>", "Wrap the table in a <div> to scroll.", "Div is < 1 and > 0"],
  ["v1.2.3", "Never deploy v1.2.3 again.", "v1.2.3.4 and v1.2.30"],
  ["3.5%", "Cards cost 3.5% each.", "13.5% and 3.5 of %"],
  ["#1234", "Tracked in #1234 by Mara.", "1234 rows of # 12345"],
  ["O(n)", "The diff was O(n) for each key.", "O (n) or O-n"],
  ["i++", "A race at i++ in the loop.", "I + + I"],
  ["->", "Read p->next first.", "A - b > c"],
  ["foo.bar()", "Use foo.bar() here.", "foo.bar is not ( )"],
  [".env", "Never commit .env to it.", "The env. An env"],
  ["user?.name", "It crashed without user?.name there.", "User name? User.name"],
  ["C++", "我们用 C++ 写", "C, + and +"],
];

it.each(NAMES)("ranks a text with %s above one with its words and punctuation apart", async (name, content, title) => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title, importance: 1 });
  await aMemory(ann, { title: "What is right", content });
  const word = /\p{L}{3}/u.test(name) ? [] : [`what about (${name})?`, `"${name}",`];

  for (const query of [name, ...word]) expect((await findTitles(ann, query))[0], query).toBe("What is right");
});

it("finds a name with punctuation among more memories with its words than a search reads", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await manyMemories(world, ann, 1_200, "Plan C.");
  await aMemory(ann, { title: "A toolchain", content: "It is made for C++ alone." });
  await world.database.pool.query("SELECT count_words($1, 10000)", [ann.caller.personalGraphId]);

  expect((await findTitles(ann, "c++"))[0]).toBe("A toolchain");
  expect((await findTitles(ann, "c"))[0]).not.toBe("A toolchain");
});

it.each([
  ["looks for a name behind some long texts", 20, "A toolchain"],
  ["looks for no name behind megabytes of texts, though these have hardly any words", 30, "A note"],
])("%s", async (_what, texts, first) => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { content: "Plan C, A + B, C + D.", importance: 1 });
  await manyMemories(world, ann, texts, `Plan C + ${"c ".repeat(24_900)}`);
  await aMemory(ann, { title: "A toolchain", content: "It is made for C++ alone.", importance: 0 });

  expect((await findTitles(ann, "c++"))[0]).toBe(first);
});

it("shows the part of the text with the name, not one with its characters apart", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const content = `1 + 1 in C. ${"Nothing of it. ".repeat(60)}Then came C++ at last. ${"Nothing more. ".repeat(60)}`;
  await aMemory(ann, { title: "A history", content });

  const { memories } = await ann.did(searchMemories, { query: "c++" });

  expect(memories[0]?.snippet).toContain("Then came C++");
});

it("takes a longer name for what the query ends with, and for none of the words before", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: "A file", content: "See src/appliance.ts there." });

  const { memories } = await ann.did(searchMemories, { query: "rollback src/appl", explain: true });

  expect(memories[0]?.matches?.map(({ word, matched }) => [word, matched])).toEqual([
    ["src", "src"],
    ["appl", "srcappliancets"],
    ["srcappl", "srcappliancets"],
  ]);
});

it("takes the end of a name for the beginning of a word, not for a misspelling, where longer names begin like it", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Applayout settings", "App layon");

  expect((await findTitles(ann, "app_layou"))[0]).toBe("Applayout settings");
  // No name begins like this one.
  expect((await findTitles(ann, "the layou"))[0]).toBe("App layon");
});

it("ranks the parts of a name side by side above those apart, also in a graph that has longer names", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  for (const title of ["getUserById", "User to get", "We get user data for all"]) await aMemory(ann, { title });

  expect(await findTitles(ann, "getUser")).toEqual(["getUserById", "We get user data for all", "User to get"]);
});

it.each([
  ["CUDA out of memory", "CUDA out of memory on the training node", "CUDA memory pools"],
  ["pay for on-call", "What they pay for on-call", "Pay phone calls"],
  ["heta pump", "Heat pump of the old house", "Heat in a pump house pump"],
  ["room two", "Keys of room 2", "Two in a room"],
  ["stack overflow parser", "StackOverflowError in the parser", "Stack of parsers overflow"],
])(
  "ranks words as near to each other as in %j first, with stop words between or in another form",
  async (query, near, apart) => {
    await using world = await createWorld();
    const ann = await world.user();
    await memoriesTitled(ann, near, apart, "Memory of a node", "Memory of a phone");

    expect((await findTitles(ann, query))[0]).toBe(near);
  },
);

it.each([
  ["words that no memory has", "qxzvv kjwrr pplmm ddrtt ggbnn retry limit", "Retry limit", "Limit retry"],
  ["Chinese", "支付服务超时 retry limit", "支付服务超时: retry limit", "支付服务超时: limit retry"],
])("ranks words side by side first, also behind %s", async (_what, query, near, apart) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, near, apart);

  expect(await findTitles(ann, query)).toEqual([near, apart]);
});

it.each([
  ["IT budget", "Who plans the budget of the IT department", "It has a budget"],
  ["guidelines of the WHO", "Guidelines against germs by the WHO", "Guidelines on who writes"],
  ["US tax", "Guide to tax in the US", "Let us tax"],
  ["budget AND plan", "Plan of a budget", "SELECT budget AND a longer plan"],
  ["slow SELECT owner FROM memory", "Slow select of the owner of a memory", "Slow SELECT FROM memory, with its owner"],
])(
  "ranks a stop word in capitals above others, unless it is an operator or a keyword: %s",
  async (query, first, other) => {
    await using world = await createWorld();
    const ann = await world.user();
    await memoriesTitled(ann, first, other);

    expect(await findTitles(ann, query)).toEqual([first, other]);
  },
);

it("tells which words and punctuation of a name a hit has", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Plan C, after A + B");

  const { memories } = await ann.did(searchMemories, { query: "c++", explain: true });

  expect(memories[0]?.matches?.map(({ word, matched }) => [word, matched])).toEqual([
    ["c", "c"],
    ["c++", "c +"],
  ]);
});

it("finds names in the letters of the query, without folding texts", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Size = café, 1 café", "Then", "１ ＋ Ｃ");
  await aMemory(ann, { title: "Right", content: "Start with café=1 or ｃ＋＋." });

  for (const query of ["café=1", "CAFÉ=1", "Ｃ＋＋"]) expect((await findTitles(ann, query))[0], query).toBe("Right");
});

it("lowers no relevance for the punctuation of a sentence, or for a name that no memory has", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Reading fails", "It isn't there");
  const relevance = async (query: string) => (await ann.did(searchMemories, { query })).memories[0]?.relevance ?? 0;

  const plain = await relevance("reading fails");
  for (const query of [
    '"reading" fails!',
    "(reading fails)",
    "reading: fails…",
    "reading — fails",
    "«reading» fails。",
    "reading++ fails",
  ])
    expect(await relevance(query), query).toBeCloseTo(plain, 1);
});

it.each(["getUser", "why does getUser fail", "getUser timeout", "GETUSER getUser"])(
  "finds a name in camelCase among more memories with its parts than a search reads: %s",
  async (query) => {
    await using world = await createWorld();
    const ann = await world.user();
    await manyMemories(world, ann, 1_200, "We get the user from it.");
    await aMemory(ann, { title: "A toolchain", content: "Call getUser first." });
    await aMemory(ann, { title: "Another", content: "Call getUserById first." });
    await manyMemories(world, ann, 1_200, "We get the user from it.");
    await world.database.pool.query("SELECT count_words($1, 10000)", [ann.caller.personalGraphId]);

    const { memories, total } = await ann.did(searchMemories, { query, limit: 1_000 });

    expect(memories.slice(0, 2).map(({ title }) => title)).toEqual(["A toolchain", "Another"]);
    expect(memories).toHaveLength(Math.min(total, 1_000));
  },
);

it.each([
  ["インデックス", "Index the table"],
  ["インデックス 遅い", "Index the table"],
  ["froze", "It freezes"],
])("finds %s as written among more memories with another form of it than a search reads", async (query, title) => {
  await using world = await createWorld();
  const ann = await world.user();
  await manyMemories(world, ann, 600, `${title}, says the runbook.`);
  await aMemory(ann, { title: "A note", content: `Read of ${query.split(" ")[0]} here.` });
  await manyMemories(world, ann, 600, `${title}, says the runbook.`);
  await manyMemories(world, ann, 1_200, "Something else.");
  await world.database.pool.query("SELECT count_words($1, 10000)", [ann.caller.personalGraphId]);

  const { memories, total } = await ann.did(searchMemories, { query });
  expect(memories[0]?.title).toBe("A note");
  // The other form is still found.
  expect(total).toBeGreaterThan(400);
});

it("counts a common word in full beside one of which another form is common", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await manyMemories(world, ann, 1_200, "Index the table.");
  await aMemory(ann, { title: "A note", content: "Read of インデックス here." });
  await manyMemories(world, ann, 1_200, "It freezes.");
  await manyMemories(world, ann, 10, "It freezes at the index.");
  await manyMemories(world, ann, 1_200, "Something else.");
  const relevance = async () => {
    await world.database.pool.query("SELECT count_words($1, 10000)", [ann.caller.personalGraphId]);
    const { memories } = await ann.did(searchMemories, { query: "freezes インデックス" });
    return memories.find(({ snippet }) => snippet === "It freezes at the index.")?.relevance ?? Infinity;
  };

  const alone = await relevance();
  await aMemory(ann, { title: "Another", content: "It froze." });

  expect(await relevance()).toBeCloseTo(alone, 2);
});

it("weighs a name in camelCase by the memories that have it, not by those with its parts", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await manyMemories(world, ann, 200, "We get the user from it.");
  await memoriesTitled(ann, ...Array.from({ length: 20 }, (_, n) => `Plan ${n} of the harbour`));
  await aMemory(ann, { title: "A toolchain", content: "Call getUser first." });
  await world.database.pool.query("SELECT count_words($1, 10000)", [ann.caller.personalGraphId]);

  expect((await findTitles(ann, "harbour getUser"))[0]).toBe("A toolchain");
});

it("finds a name in camelCase that no memory has by some of its parts, as one in snake_case", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "A reminder of the mandate", "Mails are sent", "Cook rice");

  for (const name of ["reminderService", "sendMandateReminder", "sendMandateReminderNightly"]) {
    const inSnakeCase = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const found = await findTitles(ann, name);
    expect(found[0], name).toBe("A reminder of the mandate");
    expect(found, name).toEqual(await findTitles(ann, inSnakeCase));
  }
  expect(await findTitles(ann, "sendMandateReminder in the kitchen")).toContain("A reminder of the mandate");
});

it("takes no name in camelCase apart that is short, quoted or has more than eight parts, and only the first ones of many", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "A reminder of the mandate", "Mails are sent", "Harbour");

  for (const kept of ['"sendMandateReminder"', "“sendMandateReminder”", '"sendMandateReminder" now', "sentPages"])
    expect(await findTitles(ann, kept), kept).toEqual([]);
  const long = "sendMandateReminderNowOrPerhapsAtNight";
  expect([await findTitles(ann, long), await findTitles(ann, `${long}Too`)]).toEqual([
    expect.arrayContaining(["A reminder of the mandate"]),
    [],
  ]);
  const letters = [..."abcdefghijklmnopqrstuvwx"];
  const names = letters.map((letter) => `nim${letter}Rev${letter}Tok${letter}`);
  expect(await findTitles(ann, `${names.join(" ")} harbour`)).toContain("Harbour");
});

it.each([
  ["dev2", "Rechnung 2 de marzo"],
  ["ipv6", "The IP is 10.0.0.6"],
  ["de 2", "dev2"],
])("finds by %s no %s, since only longer names have their version apart", async (query, title) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, title, "Cook rice");

  expect(await findTitles(ann, query)).toEqual([]);
});

it("ranks a text that has the words of a query as one above a title and a text that have them apart", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: "Ten products", content: "It is slow to find any: the resolver waits." });
  await aMemory(ann, { title: "Too many statements", content: "It was ProductResolver that sent them." });

  expect(await findTitles(ann, "product resolver")).toEqual(["Too many statements", "Ten products"]);
});

it.each([
  ["product-resolver", "Product resolvers wait.", "ProductResolver sends them."],
  ["5 min-heap", "For 5 min it waits in a heap.", "Its 5 minHeap objects wait."],
  ["product::resolver", "Product resolvers wait.", "ProductResolver sends them."],
  ["product\\resolver", "Product resolvers wait.", "It is lib/product/resolver.ts that sends them."],
])("ranks a name above its words: by %s", async (query, words, name) => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: "Too slow", content: words, importance: 1 });
  await aMemory(ann, { title: "Too many", content: name });

  expect(await findTitles(ann, query)).toEqual(["Too many", "Too slow"]);
});

it("finds memories with the parts of many names that none has as a whole", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const names = Array.from({ length: 14 }, (_, n) => [
    `zebra${"abcdefghijklmn".charAt(n)}`,
    `kiwi${"abcdefghijklmn".charAt(n)}`,
  ]);
  for (let n = 0; n < 3; n++) await aMemory(ann, { title: "Parts", content: names.flat().join(" ") });
  await aMemory(ann, { title: "Names", content: names.map((parts) => parts.join("/")).join(" ") });

  expect(await findTitles(ann, names.map((parts) => parts.join("/")).join(" "))).toEqual([
    "Names",
    "Parts",
    "Parts",
    "Parts",
  ]);
});

it("gives a name no weight above 1, though nearly all memories have its parts", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await manyMemories(world, ann, 1_200, "We get the user from it.");
  await aMemory(ann, { title: "A toolchain", content: "Call get_user first." });
  await world.database.pool.query("SELECT count_words($1, 10000)", [ann.caller.personalGraphId]);

  const { memories } = await ann.did(searchMemories, { query: "get_user", limit: 1, explain: true });

  expect(memories[0]?.title).toBe("A toolchain");
  expect(Math.max(...(memories[0]?.matches ?? []).map(({ weight }) => weight))).toBe(1);
});
