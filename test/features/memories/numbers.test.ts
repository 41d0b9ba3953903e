import { expect, it } from "vitest";
import { readQuery } from "../../../src/features/memories/words/query.js";
import { LIMITS } from "../../../src/limits.js";
import { aMemory, findTitles, memoriesTitled } from "../../support/memories.js";
import { createWorld } from "../../support/world.js";

const patternsOf = (query: string) => readQuery(query).numbers.map(({ pattern }) => pattern);
/** To look at two characters behind takes twenty times as long as all else. */
const BEHIND = /\(\?<![^)]*\]\[/;

it("tells where a number stands as such, also beside others, and where only its parts do", async () => {
  await using world = await createWorld();
  const isIn = async (query: string, text: string) => {
    const [pattern] = patternsOf(query);
    const { rows } = await world.database.pool.query("SELECT $1 ~* $2 AS is_in", [text, pattern]);
    return rows[0].is_in as boolean;
  };
  const thousands = ["5000", "5,000", "at 5 000.", "5'000", "5_000", "| 5\u00a0000 |", "5\u202f000", "5,000\nin June"];
  const amounts = [
    "5K",
    "$5k/year",
    "5,000.00",
    "5.000,00",
    "localhost:5000",
    "127.0.0.1:5000",
    "5000:80",
    "5000:5000",
  ];
  const lists = ["ports 5000,5001", "ports 5001,5000", "[5000]", "5000, 1,000"];
  const others = ["15000", "5,000,000", "1,225,000", "2.5000", "50000", "5 by 000", "5000x", "x5000", "5k8"];
  for (const query of ["5k", "5000", "5,000"]) {
    for (const text of [...thousands, ...amounts, ...lists])
      expect([query, text, await isIn(query, text)]).toContain(true);
    for (const text of others) expect([query, text, await isIn(query, text)]).toContain(false);
  }
  const times = [
    "17:00",
    "17.00 Uhr",
    "17:00:59",
    "2025-10-26 17:00:59.123",
    "5pm",
    "5 PM",
    "5:00pm",
    "5:00 PM",
    "5 p.m.",
    "2026-03-04T17:00:00Z",
    "2026-03-04T17:00Z",
    "2026-03-04t17:00+01:00",
    "17h",
    "17 h.",
    "17h00",
    "17 h 00",
    "17\u202fh\u202f00",
  ];
  const notTimes = [
    "2026-03-04T17:005",
    "T17h",
    "17h30",
    "17hz",
    "17:00zone",
    "117h",
    "17:005",
    "1:17:00",
    "17.00.12.1",
    "17 by 00",
    "15 pm",
    "5 pmx",
    "17,000",
  ];
  for (const query of ["17:00", "5 pm", "5 p.m.", "17h", "17h00"]) {
    for (const text of [...times, "5:00 P.M."]) expect([query, text, await isIn(query, text)]).toContain(true);
    for (const text of notTimes) expect([query, text, await isIn(query, text)]).toContain(false);
  }
});

it("looks for numbers by patterns that are short, and that PostgreSQL reads a text by once", () => {
  const groups = Array.from({ length: LIMITS.search.queryLength / 4 }, (_, place) => place + 101);

  expect(patternsOf(groups.join("."))).toEqual([]);
  for (const query of [
    "5 pm",
    "9:30 am",
    "21h",
    "192.168.100.200",
    "123456789012",
    "999,999,999,999,999",
    "123456abc",
    "30 seconds",
    "15min",
    "15 GBP",
    "EUR 999,999.50",
    "10/11",
    "1500 kilograms",
  ]) {
    const [pattern = ""] = patternsOf(query);
    expect(pattern.length).toBeGreaterThan(10);
    expect(pattern.length).toBeLessThan(500);
    expect(pattern).not.toMatch(BEHIND);
  }
  for (const { pattern } of readQuery("3.5% 1,000+ $5,50 5#").signed) expect(pattern).not.toMatch(BEHIND);
});

it.each([
  ["20-00-00", "200000"],
  ["12 34 56", "123456"],
  ["2025 10", "202510"],
  ["555 12", "55512"],
])("finds by the parts %j of a number also %s", async (query, number) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, number, query.split(/\W/).join(" by "));

  expect(await findTitles(ann, query)).toContain(number);
});

it.each([
  ["17:00", "5 p.m."],
  ["17:00", "5:00 p.m."],
])("finds by %s the time %j before its numbers apart, where others have it, too", async (query, time) => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, `At ${query}`, "00 or 17, pm by 5, p and m");
  await aMemory(ann, { title: "05 of 14, or 33", content: "17 in 00, m and p, 5 of pm" });
  await aMemory(ann, { title: "A backup", content: `It begins at ${time}, every day.` });

  const titles = await findTitles(ann, query);
  expect(titles.slice(0, 2)).toEqual([`At ${query}`, "A backup"]);
});

it("finds a time with its half of the day apart before other ways to write it", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "At 5 for pm", "At 5:00 pm, or", "At 17:00, or so", "At 5 PM, or so", "At 5pm, or so");

  expect((await findTitles(ann, "5pm")).slice(0, 2)).toEqual(["At 5pm, or so", "At 5 PM, or so"]);
});

it.each([
  ["Fee £15", "15 GBP"],
  ["Fee £15", "15 pounds"],
  ["From €14.00", "EUR 14"],
  ["Rent 1.480 €", "1480 euros"],
  ["Costs $1,480.50", "1480.50 dollars"],
  ["Only 390 EUR", "390 euro"],
  ["12 % quicker", "12 percent"],
  ["Bake at 320°", "320 degrees"],
  ["2,1 % of all", "2.1%"],
  ["Order 12 t", "12 tonnes"],
  ["Bake at 180 degrees", "180C"],
  ["Bake at 180°C", "180 degrees"],
  ["Every 4 yrs", "4 years"],
  ["A height of 2.35 m", "2.35m"],
  ["At most 1,500 kg", "1500kg"],
  ["Up to 5L", "5 liters"],
  ["Block at 30 days", "30d"],
  ["Takes 20 weeks", "20wks"],
  ["Feed 1080×1350", "1080x1350"],
])("finds %j first by %s", async (title, query) => {
  await using world = await createWorld();
  const ann = await world.user();
  const numbers = title.match(/\d+/g)?.join(" and ") ?? "";
  await memoriesTitled(ann, `${numbers} rooms`, title, `${numbers} doors`);

  expect((await findTitles(ann, query))[0]).toBe(title);
});
