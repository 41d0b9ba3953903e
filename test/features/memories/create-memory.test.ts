import { expect, it } from "vitest";
import { createMemory } from "../../../src/features/memories/create-memory.js";
import { memory } from "../../../src/features/memories/get-memory.js";
import { memories } from "../../../src/features/memories/list-memories.js";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { createWorld } from "../../support/world.js";

const NOTE = { type: "solution", title: "Retry with backoff", content: "Wait longer after each failure." };

it("stores and returns every given field", async () => {
  await using world = await createWorld();
  const ann = await world.user();

  const stored = await ann.did(createMemory, { ...NOTE, summary: "Backoff", tags: ["Net"], importance: 0.1 });

  expect(stored).toMatchObject({ ...NOTE, summary: "Backoff", tags: ["net"], importance: 0.1, version: 1 });
  expect(stored).toMatchObject({ createdBy: ann.caller.userId, relationships: [], relationshipsTotal: 0 });
  expect(stored.updatedAt).toEqual(stored.createdAt);
  expect(await ann.did(memory, { id: stored.id })).toEqual(stored);
});

it("fills in defaults", async () => {
  await using world = await createWorld();
  const ann = await world.user();

  expect(await ann.did(createMemory, NOTE)).toMatchObject({ summary: null, tags: [], importance: 0.5 });
  expect(await ann.did(createMemory, { ...NOTE, summary: null })).toMatchObject({ summary: null });
});

it("keeps text unchanged, whatever its characters", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const texts = [
    "<script>alert(1)</script> & {{7*7}} ${7*7} # _x_",
    `'); DROP TABLE "memory"; --`,
    "\u202egnp.exe\u202c \u05e9\u05dc\u05d5\u05dd",
    "Z\u0310\u0301\u0332 \u{1f468}\u200d\u{1f469}\u200d\u{1f467} \u{1f3f3}\ufe0f\u200d\u{1f308}".normalize("NFC"),
    "  one\r\n\ttwo\n  ",
    "\ufb01 \u2460",
  ];

  for (const text of texts) {
    const { id } = await ann.did(createMemory, { type: "general", title: text, content: text, summary: text });
    expect(await ann.did(memory, { id })).toMatchObject({ title: text, content: text, summary: text });
  }
});

it("stores text in NFC", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [decomposed, composed] = ["Cafe\u0301", "Caf\u00e9"];

  const stored = await ann.did(createMemory, {
    type: "general",
    title: decomposed,
    content: decomposed,
    summary: decomposed,
    tags: [decomposed, composed],
  });

  expect(stored).toMatchObject({ title: composed, content: composed, summary: composed, tags: ["caf\u00e9"] });
});

it.each(["\u200b", "\u00ad", "\u200f", "\u3164", "\u2800", "\ufe0f", "\u{e0020}", "\u00a0", "\u0001"])(
  "takes a text of %j alone as blank, as a title and as a tag",
  async (invisible) => {
    await using world = await createWorld();
    const ann = await world.user();

    const refused = await ann.does(createMemory, { ...NOTE, title: invisible });
    const { tags } = await ann.did(createMemory, { ...NOTE, tags: [invisible, `a${invisible}b`] });

    expect(refused).toBeRefused("bad_request");
    expect(tags).toEqual([`a${invisible}b`]);
  },
);

it("stores tags trimmed, in lower case, without duplicates", async () => {
  await using world = await createWorld();
  const ann = await world.user();

  const { tags } = await ann.did(createMemory, { ...NOTE, tags: [" Net ", "net", "", "  ", "B c", "\u00c9T\u00c9"] });

  expect(tags).toEqual(["net", "b c", "\u00e9t\u00e9"]);
});

it("refuses a tag that would be too long in lower case, so that every stored tag can be sent back", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const growing = "\u0130";

  const { id, tags } = await ann.did(createMemory, { ...NOTE, tags: [growing.repeat(50)] });

  expect(await ann.did(updateMemory, { id, tags })).toMatchObject({ tags });
  expect(await ann.does(createMemory, { ...NOTE, tags: [growing.repeat(51)] })).toBeRefused("bad_request");
});

it("keeps every digit of an importance", async () => {
  await using world = await createWorld();
  const ann = await world.user();

  for (const importance of [0, 1, 0.1, 0.1 + 0.2, 1e-7, 5e-324, 0.999_999_999_999_999_9]) {
    const { id } = await ann.did(createMemory, { ...NOTE, importance });
    expect((await ann.did(memory, { id })).importance).toBe(importance);
  }
});

const EMOJI = "\u{1f600}";

it("accepts each maximum and refuses one more, with an emoji counted as one character", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const bounds: ReadonlyArray<[most: object, tooMuch: object]> = [
    [{ title: EMOJI.repeat(500) }, { title: EMOJI.repeat(501) }],
    [{ content: EMOJI.repeat(50_000) }, { content: EMOJI.repeat(50_001) }],
    [{ summary: EMOJI.repeat(1_000) }, { summary: EMOJI.repeat(1_001) }],
    [{ tags: [EMOJI.repeat(100)] }, { tags: [EMOJI.repeat(101)] }],
    [{ tags: numbered(50) }, { tags: numbered(51) }],
    [{ type: "t".repeat(50) }, { type: "t".repeat(51) }],
    [{ importance: 1 }, { importance: 1.000_000_1 }],
  ];

  for (const [most, tooMuch] of bounds) {
    expect(await ann.did(createMemory, { ...NOTE, ...most })).toMatchObject(most);
    expect(await ann.does(createMemory, { ...NOTE, ...tooMuch }), Object.keys(tooMuch).join()).toBeRefused(
      "bad_request",
    );
  }
});

it("refuses invalid fields by name, and stores nothing", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const wrong: Readonly<Record<string, readonly unknown[]>> = {
    type: [undefined, null, "", "Solution", "two words", "9lives", "t\u00e4sk", 1, ["task"]],
    title: [undefined, null, "", "   ", "\u200b", "\u3164", "\u2800\n", 1, true, ["a"], {}],
    content: [undefined, null, "", 1, ["a"], {}],
    summary: [1, ["a"], "a\0b"],
    tags: [null, "a", 1, {}, [["a"]], [1], [null], ["a\0b"]],
    importance: [null, "0.5", true, [0.5], -0.1, 1.1, 1e300],
    graph: ["PERSONAL", "public", 1],
  };

  for (const [field, values] of Object.entries(wrong)) {
    for (const value of values) {
      const verdict = await ann.does(createMemory, { ...NOTE, [field]: value });
      expect(verdict, `${field}: ${JSON.stringify(value)}`).toBeRefused("bad_request");
      expect(JSON.stringify(verdict)).toContain(field);
    }
  }
  expect((await ann.did(memories)).memories).toEqual([]);
});

it("refuses text that PostgreSQL cannot store unchanged", async () => {
  await using world = await createWorld();
  const ann = await world.user();

  for (const text of ["\0", "a\0b", "\ud800", "a\udc00b", "\ude00\ud83d"]) {
    for (const field of ["title", "content", "summary"]) {
      expect(await ann.does(createMemory, { ...NOTE, [field]: `x${text}` })).toBeRefused("bad_request");
    }
  }
});

it("gives later memories later ids", async () => {
  await using world = await createWorld();
  const ann = await world.user();

  const ids: string[] = [];
  for (let count = 0; count < 20; count++) ids.push((await ann.did(createMemory, NOTE)).id);

  expect(ids.toSorted()).toEqual(ids);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

it("stores in the personal graph of a user without a team, and refuses them a team graph", async () => {
  await using world = await createWorld();
  const ann = await world.user();

  const { id } = await ann.did(createMemory, { ...NOTE, graph: "personal" });

  expect(await ann.did(memory, { id })).toMatchObject({ id });
  expect(await ann.does(createMemory, { ...NOTE, graph: "team" })).toBeRefused("not_found", "no_team");
});

function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `tag ${index}`);
}
