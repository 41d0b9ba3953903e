import { setImmediate as nextTurn } from "node:timers/promises";
import pg from "pg";
import { describe, expect, it, vi } from "vitest";
import { LIMITS } from "../../../src/limits.js";
import { memories } from "../../../src/features/memories/list-memories.js";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { searchHits } from "../../../src/features/memories/words/search-statements.js";
import { SNIPPET_MAX } from "../../../src/features/memories/search/snippet.js";
import { ask } from "../../support/http.js";
import { aMemory, manyMemories, memoriesTitled } from "../../support/memories.js";
import { listenTo } from "../../support/statements.js";
import { type Actor, createWorld } from "../../support/world.js";

const search = (actor: Actor, query: string, wishes: object = {}) => actor.did(searchMemories, { query, ...wishes });
const filler = (words: number) => "lorem ipsum dolor sit amet ".repeat(words / 5);

describe("the snippet", () => {
  const snippetsOf = async (actor: Actor, query: string) =>
    (await search(actor, query)).memories.map(({ snippet }) => snippet ?? "");

  it.each([
    ["a word in another form", "retries", "It retried twice, then gave up.", "It retried twice"],
    ["a stem with another last letter", "retry", "Three retries were not enough.", "Three retries"],
    ["a part of a name", "user", "We call getUserById for it.", "getUserById"],
    ["a name that is joined otherwise", "get_user_by_id", "We call getUserById for it.", "getUserById"],
    ["a name without signs", "getuserbyid", "We call get_user_by_id for it.", "get_user_by_id"],
    ["an abbreviation", "k8s", "It runs in kubernetes by now.", "kubernetes"],
    ["a misspelt word", "kuberentes", "It runs in kubernetes by now.", "kubernetes"],
    ["the beginning of a word", "kubern", "It runs in kubernetes by now.", "kubernetes"],
    ["accents", "cafe", "Ils sont au Café de la Gare.", "Café"],
    ["Chinese", "连接", "服务器无法建立连接池，因为端口已被占用。", "建立连接池"],
    ["Japanese", "データベース", "移行のあとデータベースが遅くなった。", "データベース"],
    ["Thai", "ชำระเงิน", "ระบบชำระเงินล่มช่วงเทศกาล", "ชำระเงิน"],
    ["a Latin word in Chinese", "libvips", "为了速度使用libvips和线程。", "使用libvips"],
    ["a number in other digits", "401", "ظهر الخطأ رقم ٤٠١ أمس.", "٤٠١"],
    ["a word with an article", "للمستخدم", "عند المستخدم الجديد.", "المستخدم"],
    ["Cyrillic", "миграция", "После этого миграция прошла.", "миграция"],
    ["a sign", "%", "It grew by 50% a year.", "50%"],
  ])("shows %s, far behind the beginning", async (_what, query, sentence, shown) => {
    await using world = await createWorld();
    const ann = await world.user();
    const content = `${filler(400)}${sentence} ${filler(400)}`;
    await aMemory(ann, { content });

    const [snippet = ""] = await snippetsOf(ann, query);

    expect(snippet).toContain(shown);
    expect(snippet.length).toBeLessThanOrEqual(SNIPPET_MAX);
    expect(snippet).toMatch(/^…\S.*\S…$/u);
    expect(content.split(" ")).toEqual(expect.arrayContaining(snippet.slice(1, -1).split(" ")));
  });

  it("shows the part of the text with most of the words", async () => {
    await using world = await createWorld();
    const ann = await world.user();
    const best = "A circuit breaker opens before the queue is full.";
    await aMemory(ann, {
      content: `The queue. ${filler(200)} A breaker. ${filler(200)} ${best} ${filler(100)} A circuit.`,
    });

    expect(await snippetsOf(ann, "circuit breaker queue")).toEqual([expect.stringContaining(best)]);
  });

  it.each([
    ["実験 57", (section: number) => `実験${section}: 学習率を変えた。`],
    ["trial 57", (section: number) => `Trial ${section}: another rate of learning.`],
    ["step57", (section: number) => `step${section}: nothing was changed.`],
  ])("shows the section that %s names, not one that has its parts apart or a longer number", async (query, section) => {
    await using world = await createWorld();
    const ann = await world.user();
    const sections = Array.from({ length: 80 }, (_, index) => `${section(index + 1)} ${570 + index} 件。`);
    await aMemory(ann, { title: "Notes", content: sections.join("\n") });

    const [snippet = ""] = await snippetsOf(ann, query);

    expect(snippet).toContain(section(57));
    expect(snippet.indexOf(section(57))).toBeLessThan(100);
  });

  it("shows a rare word far after a word that is in every line", async () => {
    await using world = await createWorld();
    const ann = await world.user();
    const rare = "At last rotate the credentials.";
    await aMemory(ann, { title: "Runbook", content: `${"Failover step. ".repeat(400)}${rare} ${filler(100)}` });

    expect(await snippetsOf(ann, "failover rotate credentials")).toEqual([expect.stringContaining(rare)]);
  });

  it.each(["zirconium trial", "trial 47"])(
    "shows for %j where a word of each section stands beside it",
    async (query) => {
      await using world = await createWorld();
      const ann = await world.user();
      const filler = "The values were noted and compared with what was expected. ".repeat(6);
      const sections = Array.from({ length: 60 }, (_, n) => {
        return `## Trial ${n}\n\n${n === 47 ? "Zirconium was used." : "Iron was used."} ${filler}`;
      });
      await aMemory(ann, { title: "Laboratory notes", content: sections.join("\n") });

      expect(await snippetsOf(ann, query)).toEqual([expect.stringContaining("## Trial 47 Zirconium was used.")]);
    },
  );

  it("shows the summary if only that matches, otherwise the start of the content", async () => {
    await using world = await createWorld();
    const ann = await world.user();
    await aMemory(ann, { title: "One", summary: "About   backoff\nand\tjitter.", content: "Wait." });
    await aMemory(ann, { title: "Two backoff", content: "Short\n\n and  whole." });
    await aMemory(ann, { title: "Three backoff", content: filler(1_000) });

    const { memories: hits } = await search(ann, "backoff");
    const shown = Object.fromEntries(hits.map(({ title, snippet }) => [title.split(" ")[0], snippet]));

    expect(shown).toMatchObject({ One: "About backoff and jitter.", Two: "Short and whole." });
    expect(shown["Three"]).toMatch(/^lorem .* \w+…$/);
  });

  it("never cuts within a character as people see it", async () => {
    await using world = await createWorld();
    const ann = await world.user();
    const characters = ["👩‍👩‍👧", "🇩🇪", "👍🏽", "𠮷", "a\u0316\u0317"];
    for (const character of characters) {
      for (const shift of ["", "x", "xy"]) {
        await aMemory(ann, { content: `${shift}${character.repeat(200)} needle ${character.repeat(200)}` });
      }
    }
    const whole = new RegExp(`^…?[xy]*(?:${characters.join("|")})* ?(?:needle)? ?(?:${characters.join("|")})*…?$`, "u");

    const snippets = await snippetsOf(ann, "needle");

    expect(snippets).toHaveLength(15);
    for (const snippet of snippets) {
      expect(snippet).toMatch(whole);
      expect(snippet.length).toBeLessThanOrEqual(SNIPPET_MAX);
    }
  });

  it("reads the content of the best hits up to its limit, and only the start for others", async () => {
    await using world = await createWorld();
    const ann = await world.user();
    const { snippetBytes } = LIMITS.search;
    const content = `${"lorem ".repeat(8_000)} needle`;
    const readWhole = Math.floor(snippetBytes / content.length);
    await manyMemories(world, ann, readWhole + 5, content);

    const snippets = await snippetsOf(ann, "needle");

    expect(snippets.filter((snippet) => snippet.endsWith("needle"))).toHaveLength(readWhole);
    expect(snippets.filter((snippet) => /^lorem .*lorem…$/.test(snippet))).toHaveLength(5);
  });

  it("cuts the same from whole memories, whose contents are then read once", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const { snippetBytes, snippetCharacters } = LIMITS.search;
    // Each of these characters has two UTF-16 units and four bytes.
    const content = `${"🧶 ".repeat(snippetCharacters / 2 - 4)}needle needles ${"lorem ".repeat(7_000)} needle`;
    await manyMemories(world, ann, Math.floor(snippetBytes / Buffer.byteLength(content)) + 3, content);
    const queries = vi.spyOn(pg.Client.prototype, "query");
    const place = searchHits.names.indexOf("textBytes");
    const snippets = async (more: string) => {
      const answer = await ask(`${url}/v1/memories/search?query=needle${more}`, { key: ann.key });
      return (answer.body as { memories: { snippet: string }[] }).memories.map(({ snippet }) => snippet);
    };

    const plain = await snippets("");
    const whole = await snippets("&full=true");

    const sent = queries.mock.calls.map(([query]: readonly unknown[]) => query as Partial<pg.QueryConfig>);
    queries.mockRestore();
    expect(whole).toEqual(plain);
    expect(new Set(plain).size).toBeGreaterThan(1);
    const bytes = sent.filter(({ text }) => text === searchHits.text).map(({ values }) => values?.[place] as unknown);
    expect(bytes).toEqual([snippetBytes, 0]);
  });

  it("cuts snippets from whole memories over many turns of the event loop", async () => {
    await using world = await createWorld();
    const ann = await world.user();
    const content = "needle ".repeat(200);
    await manyMemories(world, ann, 500, content);
    const measured = vi.spyOn(Buffer, "byteLength");
    // No list of all turns: while the database works there are very many.
    const cut = { inAll: 0, inOneTurn: 0 };
    const count = () => {
      const inTurn = measured.mock.calls.filter(([text]) => text === content).length;
      cut.inAll += inTurn;
      cut.inOneTurn = Math.max(cut.inOneTurn, inTurn);
      measured.mockClear();
      turn = setImmediate(count);
    };
    let turn = setImmediate(count);

    const { memories } = await search(ann, "needle", { full: true, limit: 500 });
    await nextTurn();
    clearImmediate(turn);
    measured.mockRestore();

    expect(memories).toHaveLength(500);
    expect(cut.inAll).toBeGreaterThanOrEqual(500);
    expect(cut.inOneTurn).toBeLessThan(30);
  });

  it("reads no content when no snippet is requested", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    await aMemory(ann, { title: "Backoff", content: "needle" });
    const queries = vi.spyOn(pg.Client.prototype, "query");
    const place = searchHits.names.indexOf("textBytes");
    const asked = (fields: string) =>
      ask(`${url}/graphql`, { key: ann.key, body: { query: `{ searchMemories(query: "backoff") { ${fields} } }` } });

    await asked("memories { title }");
    await asked("memories { snippet }");

    const sent = queries.mock.calls.map(([query]: readonly unknown[]) => query as Partial<pg.QueryConfig>);
    queries.mockRestore();
    const bytes = sent.filter(({ text }) => text === searchHits.text).map(({ values }) => values?.[place] as unknown);
    expect(bytes).toEqual([0, LIMITS.search.snippetBytes]);
  });
});

it("returns summary, tags and snippet at both doors", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await aMemory(ann, { title: "Backoff", summary: "In short", tags: ["net", "retry"], content: "Wait." });
  await aMemory(ann, { title: "Backoff", importance: 0 });
  const fields = "summary tags snippet matches { word }";
  const query = `{ searchMemories(query: "backoff") { memories { ${fields} } } }`;

  const graphql = await ask(`${url}/graphql`, { key: ann.key, body: { query } });
  const rest = await ask(`${url}/v1/memories/search?query=backoff`, { key: ann.key });

  const hits = [
    { summary: "In short", tags: ["net", "retry"], snippet: "Wait.", matches: null },
    { summary: null, tags: [], snippet: "Something.", matches: null },
  ];
  expect(graphql.body).toEqual({ data: { searchMemories: { memories: hits } } });
  expect(rest.body).toMatchObject({ memories: hits });
});

describe("pages", () => {
  it("contain each hit once, in the order of one large page, and all give the same total", async () => {
    await using world = await createWorld();
    const ann = await world.user();
    for (let number = 0; number < 25; number++) {
      await aMemory(ann, { title: `Backoff ${"x".repeat(number % 7)}`, importance: (number % 3) / 2 });
    }
    const { memories: all } = await search(ann, "backoff", { limit: 100 });
    const pages = [];
    for (let offset = 0; offset < 40; offset += 10) pages.push(await search(ann, "backoff", { limit: 10, offset }));

    expect(pages.flatMap(({ memories: hits }) => hits)).toEqual(all);
    expect(pages.map(({ memories: hits, total }) => [hits.length, total])).toEqual([
      [10, 25],
      [10, 25],
      [5, 25],
      [0, 25],
    ]);
  });

  it("end at the last ranked hit", async () => {
    await using world = await createWorld();
    const ann = await world.user();
    await manyMemories(world, ann, 1_005, "A frequency.");
    const sizeAt = async (offset: number) => (await search(ann, "frequency", { offset, limit: 20 })).memories.length;

    expect([await sizeAt(0), await sizeAt(990), await sizeAt(1_000)]).toEqual([20, 10, 0]);
  });

  it("keep a phrase together also after its last hit", async () => {
    await using world = await createWorld();
    const ann = await world.user();
    await memoriesTitled(ann, "The connection pool", "A pool of connections");

    const { memories: hits, total } = await search(ann, '"connection pool"', { offset: 1 });

    expect([hits, total]).toEqual([[], 1]);
  });
});

it("counts the memories with all words, or with some if none has all", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Retry budget, backoff, jitter", "Retry with backoff", "Backoff with jitter");
  const counted = async (query: string) => {
    const { total, memories } = await search(ann, query);
    return [total, memories.length];
  };

  expect(await counted("retry backoff jitter budget")).toEqual([1, 3]);
  expect(await counted("retry backoff jitter elephants")).toEqual([3, 3]);
});

it("finds by words what a phrase does not find, whether or not a memory has all of its words", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(
    ann,
    "A timeout, a retry, a pool and a connection",
    "A retry, a pool and a connection",
    "A pool",
  );
  using ear = listenTo(world);
  const found = async (query: string) => {
    const { memories: hits, total } = await search(ann, query);
    const searches = ear.heard(/search_hits/).length;
    return { titles: hits.map(({ title }) => title), total, searches };
  };

  for (const words of ["connection pool retry timeout", "connection pool retry nowhere", "pool nowhere"]) {
    const byWords = await found(words);
    expect(byWords.titles.length).toBeGreaterThan(0);
    expect(await found(`"${words}"`)).toEqual({ ...byWords, searches: byWords.searches + 1 });
  }
});

it("finds and lists memories that have any of the given tags", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  for (const tags of [["a"], ["a", "b"], ["b"], ["c"]]) await aMemory(ann, { title: `Note ${tags.join("")}`, tags });
  const titlesOf = (list: ReadonlyArray<{ title: string }>) => list.map(({ title }) => title).toSorted();

  for (const [wishes, titles] of [
    [{ tags: ["A", "b"] }, ["Note ab"]],
    [{ tags: ["A", "b"], tagsMatch: "all" }, ["Note ab"]],
    [{ tags: ["A", "b"], tagsMatch: "any" }, ["Note a", "Note ab", "Note b"]],
    [{ tags: ["c"], tagsMatch: "any" }, ["Note c"]],
    [{ tags: ["d"], tagsMatch: "any" }, []],
  ] as const) {
    expect(titlesOf((await search(ann, "note", wishes)).memories), JSON.stringify(wishes)).toEqual(titles);
    expect(titlesOf((await ann.did(memories, wishes)).memories), JSON.stringify(wishes)).toEqual(titles);
  }
});

describe("an explanation", () => {
  it.each([
    ["word", "retries", "retried", { title: "Nothing retried" }, "title"],
    ["parts", "userPool", "user pool", { content: "A pool for each user." }, "text"],
    ["abbreviation", "k8s", "kubernetes", { tags: ["kubernetes"] }, "tags"],
    ["spelling", "kuberentes", "kubernetes", { title: "In kubernetes" }, "title"],
    ["beginning", "kubern", "kubernet", { content: "In kubernetes." }, "text"],
  ])("says how a word was understood: as %s", async (kind, query, matched, memory, place) => {
    await using world = await createWorld();
    const ann = await world.user();
    await aMemory(ann, memory);

    const { memories: hits } = await search(ann, query, { explain: true });

    const word = query.toLowerCase();
    expect(hits[0]?.matches).toEqual([
      expect.objectContaining({ word, kind, place, matched: kind === "word" ? query : matched }),
    ]);
  });

  it("has weights that add up to the relevance, with larger ones for rare words", async () => {
    await using world = await createWorld();
    const ann = await world.user();
    await aMemory(ann, { title: "Zanzibar", content: "A common word." });
    await manyMemories(world, ann, 50, "A common word.");
    await world.database.pool.query("SELECT count_words($1, 10000)", [ann.caller.personalGraphId]);

    const { memories: hits } = await search(ann, "common zanzibar", { explain: true, limit: 2 });

    const [first] = hits;
    const weights = (first?.matches ?? []).map(({ word, weight }) => [word, weight] as const);
    expect(weights.map(([word]) => word)).toEqual(["zanzibar", "common"]);
    expect(weights[0]?.[1]).toBeGreaterThan(2 * (weights[1]?.[1] ?? 1));
    const sum = weights.reduce((total, [, weight]) => total + weight, 0);
    expect(Math.abs(sum - (first?.relevance ?? 0))).toBeLessThan(0.15);
  });

  it("has the greatest weight first, and of each word the way and the place that are worth most", async () => {
    await using world = await createWorld();
    const ann = await world.user();
    await aMemory(ann, { title: "Kubernetes", content: "A breaker in k8s." });

    const { memories: hits } = await search(ann, "breaker k8s", { explain: true });

    expect(hits[0]?.matches).toMatchObject([
      { word: "k8s", kind: "abbreviation", place: "title" },
      { word: "breaker", kind: "word", place: "text" },
    ]);
  });

  it("leaves out words that a hit lacks, and explains punctuation and stop words", async () => {
    await using world = await createWorld();
    const ann = await world.user();
    await memoriesTitled(ann, "Retry with backoff in 50%", "Of the end");
    const wordsOf = async (query: string) =>
      (await search(ann, query, { explain: true })).memories.map(({ matches }) => matches?.map(({ word }) => word));

    expect(await wordsOf("retry backoff elephants")).toEqual([expect.arrayContaining(["retry", "backoff"])]);
    expect(await wordsOf("%")).toEqual([["%"]]);
    expect(await wordsOf("the of")).toEqual([["the of"]]);
  });

  it("is bounded", async () => {
    await using world = await createWorld();
    const ann = await world.user();
    const { explained } = LIMITS.search;

    expect(await ann.does(searchMemories, { query: "a", explain: true, limit: explained + 1 })).toBeRefused(
      "bad_request",
    );
    expect(await ann.does(searchMemories, { query: "a", limit: 0 })).toMatchObject({
      failure: { message: `limit: must be from 1 to 1,000, with \`explain\` to ${explained}` },
    });
    expect((await ann.does(searchMemories, { query: "a", explain: true, limit: explained })).ok).toBe(true);
  });
});

it("refuses an offset that is out of bounds", async () => {
  await using world = await createWorld();
  const ann = await world.user();

  for (const offset of [-1, 1_001, 1.5, "x"]) {
    expect(await ann.does(searchMemories, { query: "a", offset }), String(offset)).toBeRefused("bad_request");
  }
});
