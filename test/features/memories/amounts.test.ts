import { expect, it } from "vitest";
import { otherAmounts } from "../../../src/features/memories/words/amounts.js";

it.each([
  ["5k", ["5000", "5 000"]],
  ["123456k", ["123456000", "123 456 000"]],
  ["($12.34K),", ["12340", "12 340"]],
  ["2,3m", ["2300000", "2 300 000", "2300k", "2 3 million"]],
  ["7M", ["7000000", "7000k", "7 million"]],
  ["0.5M", ["500000", "500 000", "500k"]],
  ["0.05k", ["50"]],
  ["1.5 million", ["1500000", "1 500 000", "1500k", "1 5m"]],
  ["5 Million", ["5000000", "5000k", "5m"]],
  // Of two equal groups the index tells nothing.
  ["1000k", ["1000000", "1m", "1 million"]],
  ["5000.", ["5k"]],
  ["12345", []],
  ["(12.340)", ["12340", "12 34k"]],
  ["5'000", ["5000", "5k"]],
  ["5_000", ["5000", "5k"]],
  ["€2.300.000", ["2300000", "2300k", "2 3m", "2 3 million"]],
  ["900,000,000", ["900000000", "900000k", "900m", "900 million"]],
])("knows other ways to write %s", (term, others) => {
  expect(otherAmounts(term)).toEqual(others);
});

it.each([
  "999",
  "1,5",
  "1.5",
  "5k1",
  "v5k",
  "5kb",
  "5 k",
  "1.234k",
  "1234567k",
  "1234567890120",
  "12.34.000",
  "12,3400",
  "1234.000",
  "2025-12-01",
  "k",
  "",
])("takes %j for no amount", (term) => {
  expect(otherAmounts(term)).toEqual([]);
});
