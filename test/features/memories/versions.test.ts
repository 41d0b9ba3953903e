import { expect, it } from "vitest";
import { readQuery } from "../../../src/features/memories/words/query.js";

it.each([
  ["2.4.1", "2", "v2"],
  ["2.4.2", "2", "v2"],
  ["v2.4.2", "v2", "2"],
  ["(2.x)", "2", "v2"],
])("knows the major version of %s with and without a v", (query, major, other) => {
  const word = readQuery(query).words.find(({ text }) => text === major);

  expect(word?.synonyms).toEqual([[{ text: other, asWritten: false }]]);
});

it("takes a version at the end as it is written for the beginning of longer ones", () => {
  expect(readQuery("node 3.9").lastName).toEqual({ text: "39", asWritten: true });
  expect(readQuery("node v3.9").lastName).toEqual({ text: "v39", asWritten: true });
});
