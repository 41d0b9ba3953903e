import { expect, it } from "vitest";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { findMemories } from "../../../src/features/memories/words/find-memories.js";
import { matchesOfHits } from "../../../src/features/memories/words/search-statements.js";
import { IRREGULAR_FORMS } from "../../../src/features/memories/words/vocabulary.js";
import { aMemory, findTitles, memoriesTitled } from "../../support/memories.js";
import { createWorld } from "../../support/world.js";

it("finds a compound that is written as two words, and a noun in -y by its verb", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(
    ann,
    "Two signups race",
    "Sign here, then look up",
    "The expiry of tokens",
    "The delivery of mails",
  );

  expect((await findTitles(ann, "sign up")).toSorted()).toEqual(["Sign here, then look up", "Two signups race"]);
  expect(await findTitles(ann, "expired")).toEqual(["The expiry of tokens"]);
  expect(await findTitles(ann, "mails delivered")).toEqual(["The delivery of mails"]);
});

it("finds what is written as two words, with separators in numbers, or as initials", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Heat pump in the cellar", "Heat in the kitchen", "Pump of the well");
  await memoriesTitled(
    ann,
    "It cost 48,250 euros",
    "Postgres 16 by default",
    "Messages in the DLQ",
    "One letter",
    "A queue of dead letters",
  );

  expect(await findTitles(ann, "heatpump")).toEqual(["Heat pump in the cellar"]);
  expect(await findTitles(ann, "48250")).toEqual(["It cost 48,250 euros"]);
  expect(await findTitles(ann, "pg16")).toEqual(["Postgres 16 by default"]);
  expect(await findTitles(ann, "dead letter queue")).toContain("Messages in the DLQ");
  expect(await findTitles(ann, "dlq")).toEqual(["Messages in the DLQ", "A queue of dead letters"]);
});

it.each([
  "Hi, do you know why cookies are lost?",
  "hey, let me know if cookies are lost, thanks!",
  "Hello team! I think we lost cookies",
  "I'd like to know about lost cookies. Thank you.",
  "can you find the thing about lost cookies thx",
  "hey where are cookies",
  "cookies thx",
  "do you remember why we lost cookies",
  "help me find lost cookies",
  "remind me how we lost cookies",
  "we would like to know where cookies are lost, thanks",
])("finds nothing by the phrases of asking of %s", async (query) => {
  await using world = await createWorld();
  const ann = await world.user();
  const others = [
    "Hi and hello, thanks",
    "Hey and thx",
    "Let's encrypt",
    "Known hosts",
    "Remind the team",
    "Think of a thing",
    "Like it",
  ];
  await memoriesTitled(ann, "Cookies are lost", ...others);

  expect(await findTitles(ann, query)).toEqual(["Cookies are lost"]);
});

it.each([
  ["special thanks", "Special offers"],
  ["hello, world!", "World map"],
  ["hey jude", "Jude the obscure"],
  ["remind me bot", "Bot of the channel"],
  ["help me choose wizard", "Choose wizard"],
  ["need to know basis", "Basis of tax"],
])("finds by %s no %s", async (query, other) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, query, other);

  expect(await findTitles(ann, query)).toEqual([query]);
});

it.each(["hello world", "known", "thank you page", "hi", "hi-res", "hey-api", "remember me", "do we know"])(
  "finds %s, though it may be asking",
  async (query) => {
    await using world = await createWorld();
    const ann = await world.user();
    await memoriesTitled(ann, `The ${query}`, "Cook rice");

    expect(await findTitles(ann, query)).toEqual([`The ${query}`]);
  },
);

it("finds an amount that is a part of a longer term", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Timeout of 45 seconds", "Timeout of 10 minutes", "Seconds of 45 minutes");

  for (const query of ["timeout=45s", "--timeout=45s", "req/45s"])
    expect((await findTitles(ann, query))[0], query).toBe("Timeout of 45 seconds");
});

it("finds the dates of a month", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(
    ann,
    "Stable since 2025-10-04",
    "Stable since 2025-11-03",
    "Stable since 2024-11-03",
    "Plan for 2025",
    "Order 20251199",
    "Number 2025110045",
  );

  for (const query of ["november 2025", "Nov 2025", "stable in november 2025"])
    expect((await findTitles(ann, query))[0], query).toBe("Stable since 2025-11-03");
});

it("ranks a name that an unknown word begins above texts with the parts of the word", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Loop crashes", "CrashLoopBackOff of the consumer");

  expect(await findTitles(ann, "crashloop")).toEqual(["CrashLoopBackOff of the consumer", "Loop crashes"]);
});

it("finds the parts of an unknown word in several memories, if no memory has them together", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "The pump of the well", "Heat in the kitchen", "ADR on caching", "Room 21", "Cook rice");

  expect((await findTitles(ann, "heatpump")).toSorted()).toEqual(["Heat in the kitchen", "The pump of the well"]);
  const { unknownWords } = await ann.did(searchMemories, { query: "heatpump" });
  expect(unknownWords).toEqual([{ word: "heatpump", takenAs: ["heat", "pump"] }]);
  expect((await findTitles(ann, "adr21")).toSorted()).toEqual(["ADR on caching", "Room 21"]);
  await memoriesTitled(ann, "RFC 6749 on tokens", "A request", "Comments on it");
  expect(await findTitles(ann, "rfc6749")).toEqual(["RFC 6749 on tokens"]);
  await memoriesTitled(ann, "Heat pump in the cellar");
  expect(await findTitles(ann, "heatpump")).toEqual(["Heat pump in the cellar"]);
});

it("says which words no memory of the graph has, and what was looked for instead", async () => {
  await using world = await createWorld();
  const [ann, bob] = [await world.user(), await world.user()];
  await memoriesTitled(ann, "Autumn leaves are quoted", "Kubernetes upgrade", "Feature flag");
  await memoriesTitled(ann, "da39a3ee5e6b4b0d3255bfef95601890afd807091a2b3c4d", "数据库已断开,请重新连接");
  await memoriesTitled(bob, "A leak");
  const unknownIn = async (query: string, wishes: object = {}) => {
    const { unknownWords, memories } = await ann.did(searchMemories, { query, ...wishes });
    return [memories.length, unknownWords.map(({ word, takenAs }) => [word, ...takenAs])];
  };

  expect(await unknownIn("autumn LEAVES, quoting")).toEqual([1, []]);
  expect(await unknownIn("leak")).toEqual([1, [["leak", "leav"]]]);
  expect(await unknownIn("leak", { types: ["fix"] })).toEqual([0, [["leak"]]]);
  expect(await unknownIn('"autumn leak" zzzzzz')).toEqual([1, [["leak", "leav"], ["zzzzzz"]]]);
  expect(await unknownIn("kube featureflag")).toEqual([
    2,
    [
      ["kube", "kubernet"],
      ["featureflag", "featur flag"],
    ],
  ]);
  // The lexicon has no word of more than 40 characters, nor two signs of a script without spaces.
  expect(await unknownIn("da39a3ee5e6b4b0d3255bfef95601890afd807091a2b3c4d")).toEqual([1, []]);
  expect(await unknownIn("数据库连接")).toEqual([1, []]);
  expect(await unknownIn("the of")).toEqual([0, []]);
  expect(await unknownIn("%")).toEqual([0, []]);
});

it.each([
  { what: "in time", error: Object.assign(new Error("canceling statement"), { code: "57014" }), told: { total: 1 } },
  { what: "at all", error: new Error("gone"), told: "gone" },
])("finds the same if what was looked for instead is not looked up $what, unless it fails", async ({ error, told }) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Autumn leaves");
  const wishes = {
    query: "leak",
    limit: 20,
    offset: 0,
    explain: false,
    withText: false,
    withLinks: false,
    withUnknownWords: true,
  };

  const found = world.database.search((run) => {
    const failing: typeof run = (statement, values) =>
      statement.name === matchesOfHits.name ? Promise.reject(error) : run(statement, values);
    return findMemories(failing, ann.caller.personalGraphId, wishes);
  });

  expect(await found.catch(({ message }: Error) => message)).toEqual(
    typeof told === "string"
      ? told
      : expect.objectContaining({ ...told, unknownWords: [{ word: "leak", takenAs: [] }] }),
  );
});

it("looks for a number with its unit only where it is not written as in the query", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Wait 30 seconds", "Wait 45s");
  const variantsOf = async (query: string) => {
    const wishes = {
      query,
      limit: 20,
      offset: 0,
      explain: false,
      withText: false,
      withLinks: false,
      withUnknownWords: false,
    };
    const { concepts } = await world.database.search((run) => findMemories(run, ann.caller.personalGraphId, wishes));
    return concepts.map(({ variants }) => variants.map(({ text }) => text)).toSorted();
  };

  expect(await variantsOf("30 seconds")).toEqual([["30"], ["seconds"]]);
  expect(await variantsOf("45 seconds")).toEqual([
    ["45", "45s"],
    ["seconds", "45s"],
  ]);
});

it("names at most twelve unknown words, and of each five that it was taken as", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "contact contest contract content contour contain");

  const { unknownWords } = await ann.did(searchMemories, { query: "cont" });

  expect(unknownWords).toEqual([{ word: "cont", takenAs: expect.any(Array) as string[] }]);
  expect(unknownWords[0]?.takenAs).toHaveLength(5);
  const many = Array.from({ length: 20 }, (_, n) => `zzz${"abcdefghijklmnopqrst".charAt(n)}`);
  const pasted = await ann.did(searchMemories, { query: many.join(" ") });
  expect(pasted.unknownWords.map(({ word }) => word)).toEqual(many.slice(0, 12));
});

it.each([
  ["card 4111 2222 3333 4444", "4111222233334444"],
  ["call 0800 4455 667", "08004455667"],
  ["IBAN DE89 3704 0044 0532 0130 00", "DE89370400440532013000"],
  ["parcel 1Z 999 AA1 01 2345 6784", "1Z999AA10123456784"],
  ["call 493055571234", "+49 30 5557 1234"],
  ["account DE89370400440532013000", "de89 3704 0044 0532 0130 00"],
  ["frame WSBC602041234N", "WSBC 6020 41234 N"],
  ["release v2.4.1", "2.4.1"],
  ["release 2.4.1", "v2.4.1"],
])("finds %j by %j", async (title, query) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, title, "Call 0800 4466 668 of 2 or 4", "release 2.9.1 of 2 and 4", "release v2.9.1");

  expect((await findTitles(ann, query))[0]).toBe(title);
});

it("takes an unknown last word as the start of a word before it takes it as a typo", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Turn it off");
  await aMemory(ann, { title: "Stock of fish", content: `${"Bones are best. ".repeat(30)}No turbochargedness.` });

  const { memories } = await ann.did(searchMemories, { query: "turb" });
  expect(memories.map(({ title }) => title)).toEqual(["Stock of fish"]);
  expect(memories[0]?.snippet).toContain("turbochargedness");
  expect((await findTitles(ann, "turb it off"))[0]).toBe("Turn it off");
});

it("ranks the end of a name above its parts elsewhere", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Open tickets of a customer");
  await aMemory(ann, { title: "Refactored", content: "It calls findOpenTicketsByCustomer once." });

  expect((await findTitles(ann, "TicketsByCustomer"))[0]).toBe("Refactored");
});

it("ignores that a query asks how long or how many", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Long lines", "The dough rests for an hour");

  expect(await findTitles(ann, "how long does it rest")).toEqual(["The dough rests for an hour"]);
  expect(await findTitles(ann, "how long")).toEqual(["Long lines"]);
});

it.each([
  ["Was ist der Unterschied zwischen useDebounce und dem State?", "Der Plan ist da, und dem Rat wird gedankt"],
  ["dans quel fichier est le useDebounce de la page ?", "Le rapport de la nuit est dans le bureau"],
  ["para qué sirve el useDebounce en la página", "El plan para que la casa esté en venta"],
  ["onde está o useDebounce da página e não do menu", "O plano da casa não está com ela"],
  ["in welk bestand is het useDebounce van de pagina", "Het plan van de bakker is een welkom"],
  ["quando aspetta useDebounce", "Quando quando quando"],
  ["gdzie jest useDebounce i do czego jest", "Gdzie jest plan i do czego jest dom"],
  ["для чего нам какой useDebounce и что это", "План для дома и что это"],
])("ignores words of another language that join the others: %s", async (query, joining) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, ...Array.from({ length: 8 }, (_, n) => `Note ${n} on paint`), joining);
  await aMemory(ann, { title: "Typing fast", content: "The hook useDebounce waits." });

  expect((await findTitles(ann, query))[0]).toBe("Typing fast");
});

it("takes one such word as a name, and a few of two letters as codes", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(
    ann,
    "The MIT licence",
    "Any licence",
    "DER certificates",
    "Certificates",
    "Code de, en or es",
    "Code",
  );

  expect((await findTitles(ann, "licence mit"))[0]).toBe("The MIT licence");
  expect((await findTitles(ann, "certificates der"))[0]).toBe("DER certificates");
  expect((await findTitles(ann, "code de en"))[0]).toBe("Code de, en or es");
  expect(await findTitles(ann, "und der")).toEqual(["DER certificates"]);
});

it("finds other forms of a word, and synonyms of the field", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Revert a bad release", "Removing old mail", "Replication lags", "One replica");

  expect(await findTitles(ann, "how to undo it")).toEqual(["Revert a bad release"]);
  expect(await findTitles(ann, "erased emails")).toEqual(["Removing old mail"]);
  expect(await findTitles(ann, "replica lags")).toEqual(["Replication lags"]);
});

it.each([
  ["freezing", "The import froze"],
  ["wrote", "Written by hand"],
  ["runs", "It ran twice"],
  ["children", "A child process"],
  ["fails", "A failure at night"],
  ["decided", "Decisions of May"],
  ["analysis", "We analyze churn"],
  ["indices", "Index of the table"],
  ["index", "Indices of the table"],
  ["people", "A person of the team"],
  ["recoveries", "Recover it"],
  ["recovered", "A recovery"],
  ["stability", "A stable one"],
  ["parser", "It parses"],
  ["payments", "Paid by card"],
])("finds by the form %s a word that English forms irregularly, and has the form itself first", async (form, title) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, title, `Some ${form}`, "Nothing of it");

  expect(await findTitles(ann, form)).toEqual([`Some ${form}`, title]);
});

it.each([
  ["driving", "Rules for drivers"],
  ["supplier", "They supply flour"],
  ["leakage", "It leaked"],
  ["compliance", "We are compliant"],
  ["theft", "Thieves at night"],
  ["14 persons", "For 14 people"],
  ["converting", "A conversion"],
])("finds by %s, which no memory has, a word that is made of the same one", async (query, title) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, title, "Nothing of it");

  expect(await findTitles(ann, query)).toEqual([title]);
});

it.each([
  ["factor", "A fact"],
  ["statement", "The state"],
  ["docker", "A dock in the harbour"],
  ["folder", "Fold it"],
  ["instances", "An instant"],
  ["xss", "Size XS"],
  ["apply", "The application server"],
  ["index", "What it indicates"],
  ["16 gbp", "Version 16 of node"],
  ["12 august", "Ticket 1208"],
  ["22.04", "The meeting on 22 April"],
  ["24/7", "Release on 24 July"],
  ["0x10", "Ten of 10"],
  ["december", "It calls dec()"],
  ["point of sale", "The pos of the cursor"],
  ["30 seconds", "30 rooms"],
])("finds by %s nothing that is only spelt alike, above half", async (query, title) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, title, "Nothing of it");

  const { memories } = await ann.did(searchMemories, { query });
  expect(memories.filter(({ relevance }) => relevance > 0.5)).toEqual([]);
});

it("finds short forms in the plural by the singular, and vice versa", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "CVs of applicants", "Our KPI for May", "KPIs of June");

  expect(await findTitles(ann, "CV")).toEqual(["CVs of applicants"]);
  expect(await findTitles(ann, "KPIs")).toEqual(["KPIs of June", "Our KPI for May"]);
  await memoriesTitled(ann, "A GP in town");
  expect(await findTitles(ann, "GPS")).toEqual([]);
});

it.each([
  ["A pause on 27/3", "27 March"],
  ["A pause on 13 March", "13/03"],
  ["A pause on Mar 27", "27.3."],
])("finds the day in %j by %s", async (title, query) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "13, 15 and 27 rooms", title, "3 of 13, 15 or 27");

  expect((await findTitles(ann, query))[0]).toBe(title);
});

it("finds no other word by the stem that it has in common with an irregular form", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "It indicates nothing", "A vertical line", "Our conversation", "An index", "Convert it");

  expect(await findTitles(ann, "index")).toEqual(["An index"]);
  expect(await findTitles(ann, "vertex")).toEqual([]);
  expect(await findTitles(ann, "convert")).toEqual(["Convert it"]);
});

it("has each irregular form in one group only, so that no group hides another", () => {
  const all = IRREGULAR_FORMS.split(";").flatMap((group) => group.trim().split(/\s+/));

  expect(all.filter((form, place) => all.indexOf(form) !== place)).toEqual([]);
});

it("finds a name of the field by a form of it, and by its own misspelling with one letter more", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Postgres oddity", "PostgreSQL oddity", "Deleting rows", "Removing rows");

  expect((await findTitles(ann, "postgress")).toSorted()).toEqual(["PostgreSQL oddity", "Postgres oddity"]);
  expect(await findTitles(ann, "deletes")).toEqual(["Deleting rows", "Removing rows"]);
});

it("finds a synonym of a name with its number by the short form of both", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Upgrade to Postgres 16", "Upgrade to Postgres", "Upgrade to 16");

  expect(await findTitles(ann, "pg16")).toEqual(["Upgrade to Postgres 16"]);
});

it("ignores stop words, unless there are no others", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Websockets close at the proxy", "Somebody was behind something");

  expect(await findTitles(ann, "would something behind proxies close websockets")).toEqual([
    "Websockets close at the proxy",
  ]);
  expect(await findTitles(ann, "something behind")).toEqual(["Somebody was behind something"]);
});

it("ranks a name that begins with the query above its parts elsewhere", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Resolve the tenant", "A tenant could not be resolved");
  await aMemory(ann, { title: "Before anything else", content: "Call resolveTenantFromHost." });

  await world.database.pool.query("SELECT count_words($1, 10000)", [ann.caller.personalGraphId]);

  expect((await findTitles(ann, "resolveTenant"))[0]).toBe("Before anything else");
  expect(await findTitles(ann, "resolveTenant")).toHaveLength(3);
});

it("finds the memories with a name, though another word of the query is rarer and stands alone", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const named = Array.from({ length: 8 }, (_, number) => `Seun on topic${number}`);
  const others = Array.from({ length: 40 }, (_, number) => `Other matter${number}`);
  await memoriesTitled(ann, ...named, ...others, "Staging works again", "Staging with Bola", "Seun asks Bola");
  await world.database.pool.query("SELECT count_words($1, 10000)", [ann.caller.personalGraphId]);

  expect(await findTitles(ann, "what is Seun working on")).toEqual([
    "Staging works again",
    "Seun asks Bola",
    ...named.toReversed(),
  ]);
  // Here one memory has both words, so the others have fewer.
  expect(await findTitles(ann, "Seun and Bola")).toEqual(["Seun asks Bola", "Staging with Bola"]);
});

it("finds names that are made of stop words alone", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Retries and/or timeouts", "In the end", "Neither");

  expect(await findTitles(ann, "and/or")).toEqual(["Retries and/or timeouts"]);
  expect(await findTitles(ann, '"and/or" the.of')).toEqual(["Retries and/or timeouts"]);
});

it("finds a name of several parts by the word that they form, its beginning and its misspelling", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(
    ann,
    "A read-only disk",
    "Set use_sim_time first",
    "A path like session_pool.py",
    "Another readonly",
  );

  expect((await findTitles(ann, "readonly")).toSorted()).toContain("Another readonly");
  for (const query of ["usesimtime", "usesimtme", "usesim"])
    expect(await findTitles(ann, query), query).toEqual(["Set use_sim_time first"]);
  expect(await findTitles(ann, "sessionPool")).toEqual(["A path like session_pool.py"]);

  await world.database.pool.query("SELECT count_words($1, 10000)", [ann.caller.personalGraphId]);
  expect((await findTitles(ann, "readonly")).toSorted()).toEqual(["A read-only disk", "Another readonly"]);
});

it("ranks a name that begins with the last name of the query above its parts elsewhere", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: "A full disk", content: "It says cluster_block_exception for each index." });
  await aMemory(ann, { title: "A fix", content: "Then cherry-pick it, or open src/server/middleware/limiter.ts." });
  for (const content of ["A cluster, black or blue", "Blocks, exceptions, a cluster", "Cherry pie: pick one"])
    await aMemory(ann, { content });
  await aMemory(ann, { content: "The src of a server, in the middle." });

  for (const query of ["cluster_bl", "index cluster_block_ex"])
    expect((await findTitles(ann, query))[0], query).toBe("A full disk");
  for (const query of ["cherry-p", "src/server/midd"]) expect((await findTitles(ann, query))[0], query).toBe("A fix");
});

it.each(["hidration", "gydration", "ydration", "hdration"])(
  "finds a word by %s, misspelt at its beginning",
  async (word) => {
    await using world = await createWorld();
    const ann = await world.user();
    await memoriesTitled(ann, "Hydration fails", "A ration of water", "Something else");

    expect(await findTitles(ann, word)).toEqual(["Hydration fails"]);
  },
);

it.each(["hhydratiob", "yhdratoin", "hdyratiom", "gydratin", "tydratoin"])(
  "finds a word by %s, with two errors, one at its beginning",
  async (word) => {
    await using world = await createWorld();
    const ann = await world.user();
    await memoriesTitled(ann, "Hydration fails", "A ration of water", "Something else");

    expect(await findTitles(ann, word)).toEqual(["Hydration fails"]);
  },
);

it("finds a word that is written together with a stop word", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "The command is not allowed", "Moved from Kubernetes", "Something else");

  expect(await findTitles(ann, "notallowed")).toEqual(["The command is not allowed"]);
  expect(await findTitles(ann, "fromkubernetes")).toEqual(["Moved from Kubernetes"]);
  expect(await findTitles(ann, "commandthe")).toEqual(["The command is not allowed"]);
});

it.each([
  ["setup", "How to set it up"],
  ["timeouts", "The request timed out"],
  ["webhooks", "A web hook came twice"],
])("finds %s where it is written as two words", async (word, title) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, title, "Something else");

  expect(await findTitles(ann, word)).toEqual([title]);
});

it("finds a longer word by its beginning that is no form of another word", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "The filesystem collector hung", "Too many files", "Something else");

  expect(await findTitles(ann, "filesy")).toEqual(["The filesystem collector hung"]);
});

it("finds a word by a misspelt one that begins with another letter in Cyrillic", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Сервер не отвечает", "Другое");

  expect(await findTitles(ann, "цервер")).toEqual(["Сервер не отвечает"]);
});

it.each(["1 December 2025", "December 1st, 2025", "1. Dezember 2025", "1er décembre 2025", "importer 1 декабря 2025"])(
  "finds a date in digits by %s",
  async (query) => {
    await using world = await createWorld();
    const ann = await world.user();
    const dated = "The importer is off since 2025-12-01";
    await memoriesTitled(ann, "Plans of 2025 for 1 person", "Off since 2025-12-11", dated, "Off since 2024-12-01");

    expect((await ann.did(searchMemories, { query })).memories[0]?.title).toBe(dated);
  },
);

it("finds a date in digits by the month's name, of any month and in several languages", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const months = ["janvier", "fevereiro", "März", "апреля", "mayo", "juin", "Juli", "août", "sept", "octubre", "Nov"];
  const dates = months.map((_name, month) => `Off since 2025-${String(month + 1).padStart(2, "0")}-03`);
  await memoriesTitled(ann, ...dates);

  for (const [month, name] of months.entries()) expect((await findTitles(ann, `3 ${name} 2025`))[0]).toBe(dates[month]);
});

it.each([
  ["on 26 October 2025", "2025-10-26"],
  ["on 26 October 2025", "26.10.2025"],
  ["on October 26th, 2025", "10/26/2025"],
  ["am 26. Oktober 2025", "26 Oct 2025"],
  ["on 2025-06-04", "4.6.2025"],
  ["on 04.06.2025", "June 4, 2025"],
  ["on 6/4/2025", "4 June 2025"],
  ["on 4/6/2025", "2025-06-04"],
  ["on 2025-11-28", "28 Nov"],
  ["on 28.11.2025", "November 2025"],
  ["on 1 January 2026", "01.01.2026"],
])("finds a date %s by %s", async (date, query) => {
  await using world = await createWorld();
  const ann = await world.user();
  const dated = `The importer stopped ${date}`;
  await memoriesTitled(
    ann,
    "In 2025, 26 of 28 importers stopped",
    "Off since 2024-06-05",
    dated,
    "Off since 26 May 2026",
  );

  expect((await ann.did(searchMemories, { query })).memories[0]?.title).toBe(dated);
});

it.each([
  ["5,000 carts", "5k"],
  ["5k carts", "5000"],
  ["5k carts", "5,000"],
  ["a budget of 48.000 €", "48k"],
  ["a lag of 2,300,000", "2.3M"],
  ["a lag of 2.3M", "2300000"],
  ["a lag of 2.3M", "2,300,000"],
  ["900 million rows", "900M"],
  ["$31.5k a year", "31500"],
  ["$31.5k a year", "31,500"],
  ["€31.500 a year", "31,5k"],
  ["500,000 rows", "0.5M"],
])("finds the number in %j by %s", async (title, query) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, title, "Items 2, 3, 31 and 300", "48 rows of 900", "Room 5k1");

  expect((await findTitles(ann, query))[0]).toBe(title);
});

it.each([
  ["Node 20 in production", "node v20"],
  ["Node v20.11 in production", "node 20"],
  ["Released v3.9.1", "3.9.x"],
  ["Pinned to 3.9.1", "v3.9.x"],
  ["Edit release.yml", "release.yaml"],
  ["Only in Safari 17", "safari17"],
])("finds %j first by %j", async (title, query) => {
  await using world = await createWorld();
  const ann = await world.user();
  const apart = ["17 on Safari", "A release", "A yaml file", "Node x", "2.9.x"];
  await memoriesTitled(ann, title, ...apart);

  expect((await findTitles(ann, query))[0]).toBe(title);
});

it("finds a quoted version of any minor number only as it is written", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Node 2 in production", "2 of 3 servers", "Pinned to 2.x", "Pinned to 2.9");

  expect(await findTitles(ann, '"2.x"')).toEqual(["Pinned to 2.x"]);
  expect((await findTitles(ann, "pinned 2.x")).slice(0, 2).sort()).toEqual(["Pinned to 2.9", "Pinned to 2.x"]);
});

it("finds a name by its beginning, even of one letter of its last part that others have as a word", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, ...[1, 2, 3, 4, 5, 6].map((number) => `It is idempotent ${number}`));
  await aMemory(ann, { title: "A signature", content: "v=1; k=rsa" });
  await aMemory(ann, { title: "Trying again", content: "Send the Idempotency-Key header." });

  for (const query of ["idempotency-k", "idempotency-ke"])
    expect((await findTitles(ann, query))[0]).toBe("Trying again");
});

it("finds German nouns by their plural and by their singular, although others have these", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Neue Verbindungen", "Die Verbindung bricht ab", "Eine Nummer", "Alle Nummern", "A list");
  await memoriesTitled(ann, "We listen");

  for (const query of ["Verbindungen offen", "Verbindung offen"])
    expect((await findTitles(ann, query)).toSorted()).toEqual(["Die Verbindung bricht ab", "Neue Verbindungen"]);
  expect((await findTitles(ann, "Nummern fehlen")).toSorted()).toEqual(["Alle Nummern", "Eine Nummer"]);
  expect(await findTitles(ann, "listen now")).toEqual(["We listen"]);
});

it("finds German compounds by their parts, and parts by compounds", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(
    ann,
    "Ablauf der Serverumstellung",
    "Die Rechnungsnummer fehlt",
    "Der Server",
    "Eine Umstellung",
  );
  await memoriesTitled(ann, "Die Sequenz der Rechnung", "Kundendaten");

  expect(await findTitles(ann, "Umstellung Server")).toContain("Ablauf der Serverumstellung");
  expect(await findTitles(ann, "Nummer der Rechnung")).toContain("Die Rechnungsnummer fehlt");
  expect(await findTitles(ann, "Daten Kunde")).toEqual(["Kundendaten"]);
  expect(await findTitles(ann, "Rechnungssequenz")).toEqual(["Die Sequenz der Rechnung"]);
  expect(await findTitles(ann, "Kundendatensatz")).toEqual(["Kundendaten"]);
});

it.each([
  ["Passwortrichtlinien", "Passwort Richtlinie", "Passwort vergessen", "Die Richtlinie"],
  ["Passwortrichtlinien", "Richtlinie für ein Passwort", "Passwort vergessen", "Die Richtlinie"],
  ["Rechnungsadressen", "Rechnung Adresse", "Die Rechnung", "Eine Adresse"],
  ["Urlaubsanträgen", "urlaub antrag", "Der Urlaub", "Ein Antrag"],
  ["Lösenordspolicyn", "lösenord policy", "Ett lösenord", "Policy för resor"],
  ["Brukerkontoene", "bruker konto", "En bruker", "Konto i banken"],
  ["Wachtwoordregelingen", "wachtwoord regeling", "Een wachtwoord", "Regeling voor reizen"],
])("finds the compound in %j by %j, although others have these words", async (compound, query, ...others) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, compound, ...others);

  expect((await findTitles(ann, query))[0]).toBe(compound);
});

it.each([
  ["5k messages", "5k"],
  ["5,000 messages", "5k"],
  ["5,000 messages", "5000"],
  ["5000 messages", "5,000"],
  ["5 000 messages", "5k"],
])("finds %j by %j, before 5 and 000 apart", async (amount, query) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Room 5 in 000", "Messages by 5k", "000, or 5");
  await aMemory(ann, { title: "A load test", content: `It sends ${amount} a second.` });

  const titles = await findTitles(ann, query);
  expect(new Set(titles.slice(0, 2))).toEqual(new Set(["A load test", "Messages by 5k"]));
});

it.each([
  ["1.5 million", "1.5M"],
  ["1.5M", "1.5 million"],
  ["1,500,000", "1.5 million"],
  ["5M", "5 million"],
  ["12 µA", "12 uA"],
  ["12 uA", "12 µA"],
  ["30 μs", "30 us"],
])("finds the amount %j by %j, before its parts apart", async (amount, query) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "A million by 1", "Step 12 of 30", "1 by 5");
  await aMemory(ann, { title: "A measurement", content: `It says ${amount}, every day.` });

  expect((await findTitles(ann, query))[0]).toBe("A measurement");
});

it.each([
  ["02:30", "2:30"],
  ["9:45 am", "9:45am"],
  ["9:45", "9:45 am"],
  ["5pm", "17:00"],
  ["5 pm", "17:00"],
  ["5:00 pm", "17:00"],
  ["17:00", "5pm"],
  ["17:00", "5 pm"],
  ["6:00", "6am"],
  ["12am", "0:00"],
  ["2026-03-04T14:05:00Z", "14:05"],
  ["2026-03-04T02:30Z", "2:30 am"],
  ["2026-03-04T17:00:00.000+01:00", "5 pm"],
  ["17h00", "17:00"],
  ["17h30", "5:30 pm"],
  ["17 h 30", "17:30"],
  ["17h", "17:00"],
  ["17 h", "5pm"],
  ["09h05", "9:05"],
  ["17:00", "17h00"],
  ["17:00", "17h"],
  ["17:30", "17h30"],
  ["5 pm", "17h"],
  ["9 a.m.", "9:00"],
  ["9am", "9:00"],
  ["9 am", "9:00"],
  ["9:00", "9 a.m."],
  ["9:00", "9am"],
  ["9h", "9:00"],
])("finds the time %j by %j, before its numbers apart", async (time, query) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "30 minutes for 2 or 17", "Step 9 of 45 by 5", "Rooms 6, 0 and 12 of 00, pm", "Order 230");
  await aMemory(ann, { title: "A backup", content: `It begins at ${time}, every day.` });

  expect((await findTitles(ann, query))[0]).toBe("A backup");
});

it("takes 2h for how long something takes, and for no time", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "A backup takes 2h", "A backup begins at 2am", "A backup begins at 02:00");

  expect(await findTitles(ann, "2h")).toEqual(["A backup takes 2h"]);
});

it("finds a compound by two words of which one stands twice in the query", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: "A backup", content: "It begins with ratelimits." });
  await memoriesTitled(ann, "A hook", "A rate");

  expect((await findTitles(ann, "rate limit or time limit"))[0]).toBe("A backup");
});

it.each([
  ["0x80070005", "80070005"],
  ["0xC0000005", "c0000005"],
  ["1F4A", "0x1f4a"],
])("finds %j by %j", async (written, query) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Number 80070006", `Code ${written}`, "0xC0000006");

  expect(await findTitles(ann, query)).toEqual([`Code ${written}`]);
});

it("finds three words by the one that they form, and a name of three words by these", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "The openapiserver hangs", "A full name is sent to the writer", "An api server", "Open it");

  expect(await findTitles(ann, "fullnamewriter")).toEqual(["A full name is sent to the writer"]);
  expect((await findTitles(ann, "open api server"))[0]).toBe("The openapiserver hangs");
  // Not known as any word, in any part.
  expect(await findTitles(ann, "fullmadewriter")).toEqual([]);
});

it("finds short words, or words with digits, that are written as one", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "One OPC UA session", "A feed by HL7 v2");

  expect(await findTitles(ann, "opcua")).toEqual(["One OPC UA session"]);
  expect(await findTitles(ann, "hl7v2")).toEqual(["A feed by HL7 v2"]);
});

it("finds a hash by its beginning, and the beginning of a hash by all of it", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Reverted 9f2c4ab", "Image 0d5e77c1b2a94f36");

  expect(await findTitles(ann, "9f2c4ab17e0d4c5f8a6b3d2e1f0a9b8c7d6e5f40")).toEqual(["Reverted 9f2c4ab"]);
  expect(await findTitles(ann, "0d5e77c1")).toEqual(["Image 0d5e77c1b2a94f36"]);
});

it("finds short forms that are known in the field, and what they stand for", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(
    ann,
    "The SBOM is empty",
    "The TTL of a record",
    "Updates over the air",
    "Temperature of a rack",
    "The LB is down",
    "Guests of the wifi",
    "Renewal of TLS",
    "A model, a view, a controller",
    "Regular expressions",
  );

  expect(await findTitles(ann, "software bill of materials")).toEqual(["The SBOM is empty"]);
  expect(await findTitles(ann, "time to live")).toEqual(["The TTL of a record"]);
  expect(await findTitles(ann, "load balancers")).toEqual(["The LB is down"]);
  expect(await findTitles(ann, "ota")).toEqual(["Updates over the air"]);
  expect(await findTitles(ann, "temp")).toEqual(["Temperature of a rack"]);
  expect(await findTitles(ann, "wlan")).toEqual(["Guests of the wifi"]);
  expect(await findTitles(ann, "ssl")).toEqual(["Renewal of TLS"]);
  expect(await findTitles(ann, "mvc")).toEqual(["A model, a view, a controller"]);
  expect(await findTitles(ann, "regexp")).toEqual(["Regular expressions"]);
});

it.each([
  ["statement of work", "The SOW is signed"],
  ["out of home", "A plan for OOH"],
  ["CTR", "The click-through rate of May"],
  ["first quarter", "Moved to Q1"],
  ["yr 10", "Sets of year 10"],
  ["yr10", "Sets of year 10"],
  ["wednesdays", "Piano, Wed 16:15"],
  ["September", "Due on 30 Sept."],
  ["prefabricated", "Prefab bathrooms"],
])("finds by %s the memory with its short form or long one", async (query, title) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, title, "The state of our home", "A quarter of the rates");

  expect((await findTitles(ann, query))[0]).toBe(title);
});

/** Queries, a text that means the same, and titles that only have some of its words, or have them apart. */
const SHORTENED: ReadonlyArray<readonly [string[], string, string[]]> = [
  [["login", "signin"], "They cannot log in any more.", ["Log rotation", "Logs of the build", "Signed commits"]],
  [["login", "log in"], "Nobody is logged in at night.", ["Log rotation", "Logs of the build", "Signed commits"]],
  [["signup", "sign up"], "She could not sign up.", ["Signed commits", "A sign on the door"]],
  [["logout"], "They are logged out each hour.", ["Log rotation", "Logs of the build"]],
  [["oom", "out of memory"], "The heap is out of memory.", ["Memory of the team", "A memory graph"]],
  [["oom"], "Killed: OOM.", ["Memory of the team", "A memory graph"]],
  [["oom", "out of memory"], "java.lang.OutOfMemoryError: heap", ["Memory of the team", "A memory graph"]],
  [["eol"], "The end of life of this version.", ["The life that may end"]],
  [["fe", "frontend"], "A fault of the front-end.", ["Front door at the other end"]],
  [["gc"], "The garbage collector runs.", ["A collection of useless garbage"]],
  [["gc"], "The garbageCollector runs.", ["A collection of useless garbage"]],
  [["e2e"], "Tests from end to end.", ["Endings"]],
  [["rbac"], "It has role-based access.", ["Role of a base for all access"]],
  [["ttl"], "Its time to live is over.", ["Live at this time"]],
  [["setup"], "You set up the database first.", ["Set of rules", "A set", "Set upper bounds"]],
  [["set up"], "The setup takes an hour.", ["Set of rules"]],
  [["backup"], "They are backing up all disks.", ["Go back", "Back office"]],
  [["back up"], "The backup takes an hour.", ["Back office"]],
  [["lookup"], "We look up names.", ["Look of the page"]],
  [["timeout", "timeouts"], "The request timed out.", ["Time of day", "Time zones"]],
  [["breakdown"], "It may break down.", ["Break at noon"]],
  [["fallback"], "It falls back to the old one.", ["Back in the fall"]],
  [["followup", "follow up"], "A follow-up of the talk.", ["Follow me"]],
];

it.each(SHORTENED)("ranks %j: what means it above what has its words apart", async (queries, text, titles) => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: "Right", content: text });
  await memoriesTitled(ann, ...titles);

  for (const query of queries) expect((await findTitles(ann, query))[0], query).toBe("Right");
});

it("takes a word and a preposition behind it for no name, unless the graph has both as one word", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Error of the build");
  await aMemory(ann, { title: "A note", content: "There is an error in a part." });

  expect(await findTitles(ann, "error in")).toEqual(["Error of the build", "A note"]);
});

it("weighs a word by the memories that have it, not by those with a part of its long form", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Login is slow", "Login page", "Timeout of the queue", "Timeout of the mail");
  await memoriesTitled(ann, ...Array.from({ length: 20 }, (_, n) => `Log number ${n}`));
  await world.database.pool.query("SELECT count_words($1, 10000)", [ann.caller.personalGraphId]);

  const { memories } = await ann.did(searchMemories, { query: "login timeout", explain: true });
  const weightOf = (title: string) => memories.find((hit) => hit.title === title)?.matches?.[0]?.weight ?? 0;

  expect(weightOf("Login page")).toBeGreaterThan(0.9 * weightOf("Timeout of the queue"));
  expect(memories.slice(0, 4).map(({ title }) => title)).not.toContain("Log number 1");
});

/** Queries, texts with a form of the name, and a title that has its words apart. */
const FORMS_OF_NAMES: ReadonlyArray<readonly [string, string[], string]> = [
  ["wal", ["WAL.", "Write-ahead logging.", "Write-ahead logs."], "Write the log ahead"],
  ["fk", ["FK.", "Foreign keys."], "Key of a foreign office"],
  ["scale up", ["A scaleup.", "Scaling up."], "Scale"],
  ["throttle", ["Throttle it.", "Throttling.", "Rate limits."], "Limit of a rate"],
];

it.each(FORMS_OF_NAMES)("ranks %j in any form above its words apart", async (query, texts, title) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, title);
  for (const content of texts) await aMemory(ann, { title: "A note", content });

  expect(await findTitles(ann, query)).toEqual([...texts.map(() => "A note"), title]);
});

it("does not take words that begin like a short name for the name", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "PRs", "Pull a request", "Review of processes", "Review of festivals");

  const { memories } = await ann.did(searchMemories, { query: "pr review" });
  const [processes, festivals] = ["Review of processes", "Review of festivals"].map(
    (wanted) => memories.find(({ title }) => title === wanted)?.relevance,
  );

  expect(processes).toBe(festivals);
});

it("finds a name as it is written where most memories have its one word that the index has", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "OOM of a worker", "OOM of a job", "A heap is out of memory");
  await memoriesTitled(ann, ...Array.from({ length: 17 }, (_, n) => `A memory of year ${n}`));
  await world.database.pool.query("SELECT count_words($1, 10000)", [ann.caller.personalGraphId]);

  expect((await findTitles(ann, "oom")).slice(0, 3)).toEqual([
    "OOM of a job",
    "OOM of a worker",
    "A heap is out of memory",
  ]);
});

it.each([
  ["out of time", "The build ran out of time on Monday and on Friday.", ["Time is money", "Out for some time"]],
  ["not found", "The page was not found, as the log of the proxy says.", ["Found a cause", "What we have found"]],
  ["is null", "Whether a column is null.", ["A null byte", "Null safety"]],
  ["the wait", "The wait for the lock.", ["Then wait for this", "Wait a while"]],
  ["no error", "It stopped: no errors at all.", ["Node errors", "Now an error"]],
  ["not found", "Such a page was not found.", ["Notes found", "Nothing found"]],
  ["on call", "Who was on call that night.", ["Once called", "Only calls"]],
  ["the cafe", "The café at the corner.", ["Cafe closed", "A cafe"]],
])(
  "ranks what has the quoted words %j side by side first, also of words that the index lacks",
  async (phrase, content, titles) => {
    await using world = await createWorld();
    const ann = await world.user();
    await aMemory(ann, { title: "Right", content });
    await memoriesTitled(ann, ...titles);

    expect((await findTitles(ann, `"${phrase}"`))[0]).toBe("Right");
  },
);

it.each([
  ["invoice not paid", "Invoice not paid", "Invoice paid twice"],
  ["invoice not paid", "The invoice has not yet been paid", "Invoice paid twice"],
  ["user is not an admin", "User is not the admin", "User is an admin"],
  ["why is an invoice not paid", "An invoice isn't paid in time", "Invoice paid twice"],
  ["widget won't load", "Widget does not load", "Widget load times"],
  ["can't load widget", "Cannot load the widget", "Load the widget"],
  ["orders without address", "Orders without an address", "Address of orders"],
  ["key must not be logged", "Key not to be logged", "Key logged"],
  ["no such file", "No such file", "A file such as this"],
  ["lock before migrating", "Lock it before migrating", "Lock after migrating"],
  ["out of date", "Out of date", "Date of today"],
  ["server down", "Server is down", "Server room"],
  ["why is the server down again", "Server went down", "Server room"],
  ["build times out", "Build timed out", "Build times of all"],
  ["scale up workers", "Workers: scaled up", "Workers: scaled down"],
  ["rechnung nicht bezahlt", "Rechnung ist nicht bezahlt", "Rechnung bezahlt"],
  ["der server antwortet nicht", "Der Server antwortet seit heute nicht", "Der Server antwortet"],
  ["factura no pagada", "Factura aún no pagada", "Factura pagada"],
  ["factura no pagada", "La factura no está pagada", "Factura pagada"],
  ["le serveur ne répond pas", "Le serveur ne répond pas", "Le serveur répond"],
  ["le serveur répond pas", "Le serveur ne répond pas", "Le serveur répond"],
  ["pagamento não recebido", "Pagamento não recebido", "Pagamento recebido ontem"],
  ["servern svarar inte på anrop", "Servern svarar inte på anrop", "Servern svarar på anrop"],
  ["счет не оплачен", "Счёт не оплачен", "Счёт оплачен"],
  ["счет не оплачен", "Счет не был оплачен", "Счет оплачен"],
  ["файл не найден", "Файл не найден", "Файл найден"],
  ["интернет не работает", "Интернет не работает", "Интернет работает"],
])("finds for %j first what says so, not what says the contrary", async (query, right, contrary) => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: right, importance: 0, content: "It is in the list with the others." });
  await aMemory(ann, { title: contrary, importance: 1, content: contrary });

  expect((await findTitles(ann, query))[0]).toBe(right);
});

it("takes the t of a test for no denial", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: "Never test this alone", importance: 0 });
  await aMemory(ann, { title: "Test this alone", importance: 1 });

  expect((await findTitles(ann, "t test"))[0]).toBe("Test this alone");
});

it.each(["“the wait”", "„the wait“", "«the wait»", "« the wait »"])(
  "holds a phrase together by quotes of any form: %s",
  async (query) => {
    await using world = await createWorld();
    const ann = await world.user();
    await aMemory(ann, { title: "The wait for the lock", importance: 0 });
    await memoriesTitled(ann, "Then wait for this", "Wait a while");

    expect((await findTitles(ann, query))[0]).toBe("The wait for the lock");
  },
);

it("ranks the title first that has quoted words of which the index has none side by side", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "And what if it is not?", "What iffy plans, if any");

  expect(await findTitles(ann, '"what if"')).toEqual(["And what if it is not?", "What iffy plans, if any"]);
});

it.each([
  ["policy", "The retention policy.", ["Police report", "Call the police"]],
  ["factory", "A factory of objects.", ["Two factors", "The main factor"]],
  ["directory", "A directory of the user.", ["Director of sales", "New directors"]],
  ["golang", "It is in Golang.", ["Go home early", "Where to go"]],
  ["elasticsearch", "It is in Elasticsearch.", ["Es gibt Kuchen", "Qué es esto"]],
  ["passphrase", "The key has a passphrase.", ["Pass the salt", "Tests pass"]],
  ["security", "A review of security.", ["60 sec", "Wait 5 sec"]],
  ["temperature", "The temperature of a rack.", ["Temp files", "A temp folder"]],
])(
  "ranks the word %j above words that are only spelt like it or like its short form",
  async (query, content, titles) => {
    await using world = await createWorld();
    const ann = await world.user();
    await memoriesTitled(ann, ...titles);
    await aMemory(ann, { title: "Right", content });
    await world.database.pool.query("SELECT count_words($1, 10000)", [ann.caller.personalGraphId]);

    expect((await findTitles(ann, query))[0]).toBe("Right");
  },
);

it("takes a day and month for no number of their digits", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "125 users in the beta", "Standup of 12.05.");

  expect(await findTitles(ann, "12/5")).toEqual(["Standup of 12.05."]);
});

it("counts a word once that a query has in two forms", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Allocation of heaps", "Allocation of disks", "CUDA is slow", "A lamp", "A chair");
  await world.database.pool.query("SELECT count_words($1, 10000)", [ann.caller.personalGraphId]);

  expect((await findTitles(ann, "cuda allocates what is allocated"))[0]).toBe("CUDA is slow");
  expect((await findTitles(ann, "cuda allocates what is allocated here."))[0]).toBe("CUDA is slow");
});

it.each([
  "Error: read ECONNRESET at TCP.onStreamRead (node:internal/stream_base_commons:217:20)",
  "Error: read ECONNRESET at TCP.callbackTrampoline [as onread] (node:internal/async_hooks:130:17)",
  "Error: read ECONNRESET at node:internal/process/task_queues:95:5",
  "Error: read ECONNRESET at async asyncHooks (node:internal/process/task_queues:117:5)",
  "SocketException: ECONNRESET at java.base/sun.nio.ch.NioSocketImpl.implRead(NioSocketImpl.java:323)",
])("finds nothing by the places inside the runtime that %s has", async (query) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Internal hooks", "Node process with task queues", "Stream of a base", "Java of NIO");
  await aMemory(ann, { title: "Bad gateway", content: "The upstream closes first: ECONNRESET." });

  expect(await findTitles(ann, query)).toEqual(["Bad gateway"]);
});

it("finds a module of a runtime that is no place in a stack", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Look into it", "The tests of node:sqlite");

  expect((await findTitles(ann, "look at node:sqlite"))[0]).toBe("The tests of node:sqlite");
});

it("finds a place inside a runtime if nothing else is asked for", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Stuck in node:internal/process/task_queues");

  expect(await findTitles(ann, "at node:internal/process/task_queues:95:5")).toHaveLength(1);
});
