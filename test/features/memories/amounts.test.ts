import { expect, it } from "vitest";
import { otherAmounts, otherUnits, patternOfAmount } from "../../../src/features/memories/words/amounts.js";

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

it.each([
  ["5 litres", ["5l", "5 l", "5 liter", "5 liters", "5 litre"]],
  ["30d", ["30 d", "30day", "30 day", "30days", "30 days"]],
  ["2.5 tons", ["2 5t", "2 5 t", "2 5ton", "2 5 ton", "2 5tons", "2 5 tons", "2 5 tonne", "2 5 tonnes"]],
  ["1500g", ["1500 g", "1 500 g", "1500gram", "1500 gram", "1 500 gram", "1500 grams", "1 500 grams"]],
])("knows other ways to write the unit of %s", (term, others) => {
  expect(otherUnits(term)).toEqual(others);
});

it.each(["3d", "5 rooms", "5", "kg", "1.234.567 kg"])("takes %j for no number with a unit", (term) => {
  expect(otherUnits(term)).toEqual([]);
});

it.each(["15", "15 rooms", "euro", "euro rooms", "15 %", "€15"])(
  "finds no name of a unit with a sign in %j",
  (term) => {
    expect(patternOfAmount(term)).toBeUndefined();
  },
);

it.each([
  ["15 GBP", ["£15", "15 £", "15 pounds", "£15.00", "GBP 15"], ["£150", "£15.50", "215 pounds", "1.15 £", "$15"]],
  ["1480.50 dollars", ["$1,480.50", "1480,50 USD"], ["$1,480", "$1,480.505", "$1,480.51"]],
])("finds %s by a pattern where it is written otherwise, and no other amount", (term, written, others) => {
  const pattern = new RegExp(patternOfAmount(term) ?? "(?!)", "i");

  expect([...written, ...others].filter((text) => pattern.test(text))).toEqual(written);
});
