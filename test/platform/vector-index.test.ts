import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { VectorIndex, bytesOfMatrix } from "../../src/platform/meaning/vector-index.js";

const DIMENSION = 384;
const rowsOf = (count: number, piece = 0) =>
  Array.from({ length: count }, (_, index) => ({
    owner: `owner ${index}`,
    piece,
    version: 1,
    scale: 1 / 127 / 8,
    values: Uint8Array.from({ length: DIMENSION }, (_value, place) => (index * 31 + place * 17 + index * place) % 256),
  }));
const signed = (values: Uint8Array): Int8Array => new Int8Array(values.buffer, values.byteOffset, values.length);

it("finds the same vectors as a plain loop", async () => {
  await using index = new VectorIndex();
  const rows = rowsOf(1_000);
  const query = {
    values: Int8Array.from({ length: DIMENSION }, (_, place) => ((place * 37) % 255) - 127),
    scale: 0.001,
  };
  for (let start = 0; start < rows.length; start += 300)
    expect(await index.add("one", rows.slice(start, start + 300), start === 0 ? rows.length : undefined)).toBe(true);

  const found = await index.find("one", query, 20);

  const expected = rows
    .map(({ owner, values, scale }) => {
      const sum = signed(values).reduce((total, value, place) => total + value * (query.values[place] ?? 0), 0);
      return { owner, version: 1, score: sum * scale * query.scale };
    })
    .toSorted((one, other) => other.score - one.score)
    .slice(0, 20);
  expect(found?.map(({ score }) => score)).toEqual(expected.map(({ score }) => expect.closeTo(score, 9) as number));
  expect(new Set(found?.map(({ owner }) => owner))).toEqual(new Set(expected.map(({ owner }) => owner)));
});

it("returns each owner once, by its newest version, and refuses other dimensions", async () => {
  await using index = new VectorIndex();
  const [row] = rowsOf(1);
  if (!row) throw new Error("There is no row.");
  const query = { values: signed(row.values), scale: row.scale };
  expect(await index.find("one", query, 5)).toBeUndefined();
  expect(await index.add("one", [row])).toBe(false);
  await index.add("one", [row, { ...row, piece: 1 }], 2);
  expect(await index.find("one", query, 5)).toMatchObject([{ owner: "owner 0", version: 1, pieces: 2 }]);
  await index.add("one", [{ ...row, version: 2, values: row.values.map(() => 1) }]);
  const [found] = (await index.find("one", query, 5)) ?? [];
  expect(found).toMatchObject({ version: 2, piece: 0, pieces: 1 });
  await expect(index.find("one", { ...query, values: query.values.slice(1) }, 5)).rejects.toThrow(/dimension/);
});

it("drops the least recently used matrix when there is no room", async () => {
  await using index = new VectorIndex(1_000_000);
  const rows = rowsOf(1_000);
  const query = { values: Int8Array.from({ length: DIMENSION }, () => 1), scale: 1 };
  const isThere = async (matrix: string) => (await index.find(matrix, query, 1)) !== undefined;
  expect(await index.add("one", rows, 1_000)).toBe(true);
  expect(await index.add("two", rows.slice(0, 100), 100)).toBe(true);
  expect(await isThere("one")).toBe(true);
  expect(await index.add("three", rows.slice(0, 500), 500)).toBe(true);

  expect([await isThere("two"), await isThere("one"), await isThere("three")]).not.toContainEqual([true, true, true]);
  expect(await isThere("two")).toBe(false);
  expect(await isThere("three")).toBe(true);
  expect(await index.add("one", rowsOf(3_000), 3_000)).toBe(false);
  expect(await isThere("one")).toBe(false);
});

it.each([
  [DIMENSION, 1_000],
  [4_096, 50],
  [1, 3_000],
])(
  "takes a matrix of %i numbers and %i rows in the memory that is counted for it, and not in much less",
  async (dimension, count) => {
    const rows = rowsOf(count).map((row) => ({ ...row, values: new Uint8Array(dimension).fill(1) }));
    const bytes = bytesOfMatrix(dimension, count);
    await using enough = new VectorIndex(bytes);
    await using tooLittle = new VectorIndex(bytes - 131_073);

    expect(await enough.add("one", rows.slice(0, 10), count)).toBe(true);
    expect(await enough.add("one", rows.slice(10))).toBe(true);
    expect(await tooLittle.add("one", rows, count)).toBe(false);
  },
);

it("has a worker that imports only types and modules of Node, since the bundle has a copy of that file alone", () => {
  const source = readFileSync("src/platform/meaning/vector-worker.ts", "utf8");
  expect(source.match(/^import (?!type )[^;]*from "(?!node:)/gm)).toBeNull();
});

it("answers what it was asked, even if its worker ends first", async () => {
  const index = new VectorIndex();
  const asked = index.find("none", { values: Int8Array.of(127), scale: 1 / 127 }, 1);

  await index[Symbol.asyncDispose]();

  expect(await asked).toBeUndefined();
});
