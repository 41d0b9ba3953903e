import { readFileSync, readdirSync } from "node:fs";
import { Visitor, parseSync } from "rolldown/utils";
import { expect, it } from "vitest";
import { withSlashes } from "../support/folder.js";

const sources = ["commands", "contract", "features", "model", "platform", "stand-in", "support", "surfaces"].flatMap(
  (folder) =>
    readdirSync(`test/${folder}`, { recursive: true, encoding: "utf8" })
      .map(withSlashes)
      .filter((name) => name.endsWith(".ts"))
      .map((name) => [`${folder}/${name}`, readFileSync(`test/${folder}/${name}`, "utf8")] as const),
);

/** These start a PostgreSQL of their own. */
const OWN_CLUSTER = /^platform\/(?:embedded-\w+|lifecycle|replica)\.test\.ts$/;

it("looks only at its own database in what PostgreSQL shows of all, since other tests run at the same time", () => {
  const lines = sources
    .filter(([path]) => !OWN_CLUSTER.test(path))
    .flatMap(([path, source]) => {
      const statements = source.matchAll(/\b(?:FROM|JOIN) pg_(?:stat_activity|locks|stat_database)\b[^`";]*/g);
      return Array.from(statements, ([statement]) => ({ path, statement }));
    });
  expect(lines.length).toBeGreaterThan(20);
  expect(lines.filter(({ statement }) => !/\bdatname = /.test(statement))).toEqual([]);
});

/** Of vitest.config.ts: a busy machine may take so long. */
const WAIT_MS = 60_000;

it("waits for a state as long as a busy machine may take", () => {
  const hasty: string[] = [];
  let waits = 0;
  for (const [path, source] of sources) {
    if (!/\.(?:poll|waitFor|waitUntil)\(/.test(source)) continue;
    const textOf = ({ start, end }: { start: number; end: number }) => source.slice(start, end);
    new Visitor({
      CallExpression(call) {
        const { callee } = call;
        if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return;
        const { name } = callee.property;
        const isVitest = name === "poll" || (/^wait(?:For|Until)$/.test(name) && textOf(callee.object) === "vi");
        if (!isVitest) return;
        waits++;
        const [, options] = call.arguments.map(textOf);
        const [, ms] = /(?:^|\btimeout: )([\d_]+)/.exec(options ?? "") ?? [];
        // `vi` waits for a second unless it is told.
        const isLong = ms === undefined ? name === "poll" : Number(ms.replaceAll("_", "")) >= WAIT_MS;
        if (!isLong) hasty.push(`${path}: ${textOf(call)}`);
      },
    }).visit(parseSync(path, source, { lang: "ts" }).program);
  }
  expect(waits).toBeGreaterThan(200);
  expect(hasty).toEqual([]);
});
