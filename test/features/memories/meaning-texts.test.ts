import { expect, it } from "vitest";
import { piecesOf } from "../../../src/features/memories/meaning/memory-pieces.js";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { LIMITS } from "../../../src/limits.js";
import { sizeOf } from "../../../src/platform/meaning/text-size.js";
import { findTitles, meaningfulWorld } from "../../support/meaning.js";
import { aMemory, memoriesTitled } from "../../support/memories.js";
import type { World } from "../../support/world.js";

const { pieceSize, pieceSizeMin, pieces, embeddedCharacters } = LIMITS.embeddings;

/** What a text and its pieces are about is only said at their end. */
const long = (text: string, end: string) => `${text.repeat(Math.ceil(1_400 / text.length))} ${end}`;
const PROSE = "The bakery sells bread until noon. ";

const waiting = ({ database }: World) => database.models.embeddingDue.count();

it.each([400, 413, 422, 500])(
  "embeds texts that a server refuses as too long with %i in smaller pieces, and others beside them",
  async (refusal) => {
    await using at = await meaningfulWorld();
    const ann = await at.world.user();
    at.server.context = { tokens: 100, refusal };
    await aMemory(ann, { title: "Long", content: long(PROSE, "An automobile.") });
    await aMemory(ann, { title: "Chinese", content: long("面包店中午前出售面包。", "An automobile.") });
    await aMemory(ann, { title: "Digits", content: long("1234567890", "An automobile.") });
    await aMemory(ann, { title: "T".repeat(400), content: "An automobile." });
    await memoriesTitled(ann, "A wagen");
    await at.embed();

    expect(await waiting(at.world)).toBe(0);
    expect((await findTitles(ann, "vehicle")).titles.toSorted()).toEqual(
      ["A wagen", "Chinese", "Digits", "Long", "T".repeat(400)].toSorted(),
    );
    expect(at.server.asked.length).toBeLessThan(40);
    expect(at.world.log.join("\n")).not.toContain("could not be embedded");
  },
);

it("embeds all of a text although the server cuts texts silently", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  at.server.context = { tokens: 100, refusal: undefined };
  await aMemory(ann, { title: "Long", content: long(PROSE, "An automobile.") });
  await aMemory(ann, { title: "Chinese", content: long("面包店中午前出售面包。", "An automobile.") });
  await at.embed();

  expect((await findTitles(ann, "vehicle")).titles.toSorted()).toEqual(["Chinese", "Long"]);
});

it.each([
  { tokens: 2_000, pieceMost: 2_000 },
  { tokens: 100, pieceMost: 500 },
])("shows the piece of a long text that is near in meaning, for a context of $tokens tokens", async (context) => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  at.server.context = { tokens: context.tokens, refusal: 413 };
  const lines = Array.from({ length: 200 }, (_, n) => `Bread of oven ${n} is sold until noon.`);
  const content = lines.toSpliced(160, 0, "An automobile stalls.").join(" ");
  await aMemory(ann, { title: "Long", summary: "Ovens and more. ".repeat(9), content });
  await at.embed();

  // The second query has one word in the text, everywhere: so words find it, too, but not well.
  for (const query of ["vehicle", "vehicle noon"]) {
    const { memories } = await ann.did(searchMemories, { query });
    const shown = memories[0]?.snippet?.replaceAll("…", "") ?? "";
    const distance = content.indexOf("automobile") - content.indexOf(shown);
    expect(distance, shown).toBeLessThanOrEqual(context.pieceMost);
    expect(content.indexOf(shown), shown).toBeGreaterThan(0);
  }
});

it("measures once by which size a server embeds texts whole, and keeps it whatever a dense text needs", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  at.server.context = { tokens: 300, refusal: 413 };
  const sentAfter = async (content: string) => {
    const before = at.server.asked.length;
    await aMemory(ann, { title: "A", content });
    await at.embed();
    return at.server.asked.slice(before).map(({ texts }) => texts.length);
  };

  const measured = await sentAfter(long(PROSE, ""));
  const dense = await sentAfter(long("1234567890", ""));
  const again = await sentAfter(long(PROSE, ""));

  // Two texts of each size are tried first.
  expect(measured).toEqual([2, 2, ...again]);
  expect(dense.length).toBe(4);
  expect(await sentAfter("Short.")).toEqual([1]);
});

it("sends fewer texts at once to a server that refuses more, and remembers how many", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  at.server.textsMax = 10;
  const titles = Array.from({ length: 14 }, (_, n) => `Wagen ${n}`);
  await memoriesTitled(ann, ...titles);
  await aMemory(ann, { title: "Long", content: long(PROSE.repeat(700), "An automobile.") });
  await at.embed();
  expect(await waiting(at.world)).toBe(0);
  expect((await findTitles(ann, "vehicle")).titles.toSorted()).toEqual(["Long", ...titles].toSorted());

  const before = at.server.asked.length;
  await memoriesTitled(ann, ...titles);
  await at.embed();
  expect(at.server.asked.slice(before).map(({ texts }) => texts.length)).toEqual([7, 7]);
});

it("keeps a long text that is refused for another reason in the queue, and embeds the others whole", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  await aMemory(ann, { title: "Bad", content: long(PROSE, "A poisoned one.") });
  await aMemory(ann, { title: "Good", content: long(PROSE, "An automobile.") });
  at.server.refused = "poisoned";
  await at.embed();

  expect((await findTitles(ann, "vehicle")).titles).toEqual(["Good"]);
  expect(await waiting(at.world)).toBe(1);
  expect(await at.world.database.models.memoryVector.count()).toBe(1);
  expect(at.server.asked.length).toBeLessThan(40);
});

it("finds by the meaning of a query that is longer than the model's context", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  await memoriesTitled(ann, "The automobile");
  await at.embed();
  at.server.context = { tokens: 100, refusal: 400 };

  for (const filler of ["面", "7", "no "]) {
    const query = `vehicle ${filler.repeat(900 / filler.length)}`;
    expect(await findTitles(ann, query)).toEqual({ titles: ["The automobile"], meaning: true });
  }
});

it("cuts texts into pieces that overlap, are small enough and lose nothing", () => {
  const numbered = (text: string, count: number) => Array.from({ length: count }, (_, n) => `${text}${n}`).join("");
  const texts = [PROSE, "面包店中午前出售面包。", "👩‍👩‍👧 ", "a面👩1é-"].flatMap((text) => [
    numbered(text, 300),
    numbered(text, 9_000),
  ]);
  for (const content of ["", "x", ...texts]) {
    for (const title of ["Short", numbered("面", 150), numbered("👩", 90)]) {
      for (let size = pieceSize; size >= pieceSizeMin; size /= 2) {
        const found = piecesOf({ title, content }, size);
        const heading = found[0]?.split("\n")[0] ?? "";
        const whole = [title.slice(heading.length), content].filter((part) => part !== "").join("\n");
        let [place, end] = [0, 0];
        for (const piece of found) {
          const text = piece.slice(heading.length + 1);
          expect(piece).toBe(`${heading}\n${text}`);
          expect(title.startsWith(heading)).toBe(true);
          expect(sizeOf(heading) + sizeOf(text)).toBeLessThanOrEqual(size);
          place = whole.indexOf(text, place);
          expect(place).toBeGreaterThanOrEqual(0);
          expect(place).toBeLessThanOrEqual(end);
          end = place + text.length;
        }
        expect(found.length).toBeLessThanOrEqual(pieces);
        if (found.length < pieces) expect(end).toBeGreaterThanOrEqual(Math.min(whole.length, embeddedCharacters - 1));
      }
    }
  }
});
