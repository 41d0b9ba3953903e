import { readFileSync, readdirSync } from "node:fs";
import { Visitor, parseSync } from "rolldown/utils";
import { analyse } from "scslre";
import { expect, it } from "vitest";
import { withSlashes } from "../support/folder.js";

/** Files, with their regular expressions that take quadratic time for long texts, and what keeps these short. */
const SHORT_TEXTS: ReadonlyArray<readonly [file: string, why: string, ...expressions: string[]]> = [
  [
    "config.ts",
    "a variable",
    String.raw`^[a-z]+:\/\/([^/?#]*@)?[^/?#@]*,[^/?#@]*([/?#]|$)|[?&](host|port)=[^&#]*(,|%2c)`,
  ],
  ["config.ts", "a variable", String.raw`^\d*\.?\d+$`],
  ["variables.ts", "a variable", String.raw`\/+$`],
  ["platform/meaning/embeddings.ts", "a variable", String.raw`\/+$`],
  ["import/call-service.ts", "an option", String.raw`\/+$`],
  ["import/formats/markdown-note.ts", "a link to a day", String.raw`\|.*$`],
  ["import/formats/front-matter.ts", "at most ten spaces", String.raw`^((?:tags?|keywords)[ \t]{0,10}:[ \t]+)(.*)$`],
  ["import/note-names.ts", "nothing need to: it matches from the first sign on", "#.*$"],
  ["features/memories/words/amounts.ts", "a number of a query", String.raw`(?=(?:\d{3})+$)`, "0+$"],
  ["features/memories/words/spelling.ts", "a number of a query", String.raw`(?=(?:\d{3})+$)`],
  ["operation/names.ts", "our own message", "`([a-z]+[A-Za-z]*)`"],
  ["operation/network.ts", "an address", String.raw`[\d.]+\.[\d.]+$`],
  ["platform/billing/payments.ts", "a message of Stripe", String.raw`\S+@\S+`],
  ["platform/embedded/cannot-start.ts", "a line of PostgreSQL's log", String.raw`\.?\s*$`],
  ["platform/embedded/postmaster.ts", "a line of PostgreSQL's own file", String.raw`^\s*(\S.*?)\s*$`],
];

interface Found {
  readonly pattern: string;
  readonly flags: string;
}

it("writes no regular expression that takes quadratic time, but for short texts", () => {
  const slow = new Set<string>();
  for (const path of readdirSync("src", { recursive: true, encoding: "utf8" }).map(withSlashes)) {
    // Commands read what an operator writes.
    if (!/\.tsx?$/.test(path) || /^(?:platform\/prisma|commands)\//.test(path)) continue;
    for (const { pattern, flags } of expressionsIn(path)) {
      if (analyse({ source: pattern, flags }).reports.length > 0) slow.add(`${path} ${pattern}`);
    }
  }

  const known = SHORT_TEXTS.flatMap(([path, _why, ...patterns]) => patterns.map((pattern) => `${path} ${pattern}`));
  expect([...slow].toSorted()).toEqual(known.toSorted());
});

it("finds those that grow in one of several ways", () => {
  const isSlow = (source: string) => analyse({ source, flags: "" }).reports.length > 0;

  expect(["\\?[^#]*$", "^a*a*$", "(?:a|a)*b", "a*b"].map(isSlow)).toEqual([true, true, true, true]);
  expect(["^a*$", "a+", "^\\s+b"].map(isSlow)).toEqual([false, false, false]);
});

/** The literals of a module. Those made by `new RegExp` have no pattern here. */
function expressionsIn(path: string): Found[] {
  const found: Found[] = [];
  const lang = path.endsWith("x") ? "tsx" : "ts";
  new Visitor({ Literal: (node) => void ("regex" in node && found.push(node.regex)) }).visit(
    parseSync(path, readFileSync(`src/${path}`, "utf8"), { lang }).program,
  );
  return found;
}
