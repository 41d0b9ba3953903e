import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createWorld } from "../support/world.js";
import { runTool } from "./tools.js";

it.each(["handshake", "a program", "stateless"])(
  "the SDK's client by %s stores, finds, links, walks, reads in parts, changes, deletes, and sees refusals",
  async (client) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const { key } = await world.user();

    await runTool("mcp/run.js", client, `${url}/mcp`, key);

    expect(world.bugs).toEqual([]);
  },
);

it.each(["handshake", "stateless"])(
  "the SDK's client by %s finds and reads as ChatGPT's research does",
  async (client) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const { key } = await world.user();

    await runTool("mcp/research.js", client, `${url}/mcp`, key);

    expect(world.bugs).toEqual([]);
  },
);

/** The reasons for failing checks, and those checks by revision: the scenario, then the check. */
type Baseline = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

/** How many checks pass. */
const SUCCEEDED: Readonly<Record<string, number>> = { "2025-11-25": 35, "2026-07-28": 96 };

it.each(Object.keys(SUCCEEDED))(
  "passes the conformance tool in revision %s, except for the checks in the baseline",
  async (revision) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const { key } = await world.user({ plan: "pro" });
    const folder = mkdtempSync(join(tmpdir(), "conformance-"));

    await runTool("mcp/conformance.js", revision, folder, `${url}/mcp`, key);

    const checks = readdirSync(folder).flatMap((run) => {
      const [, scenario = ""] = /^server-(.+?)-\d{4}-\d\d-\d\dT/.exec(run) ?? [];
      const found = JSON.parse(readFileSync(join(folder, run, "checks.json"), "utf8")) as Check[];
      return found.map(({ id, status }) => ({ name: `${scenario}: ${id}`, status }));
    });
    rmSync(folder, { recursive: true });
    const ofStatus = (...known: string[]) =>
      checks.filter(({ status }) => known.includes(status)).map(({ name }) => name);
    const baseline = JSON.parse(readFileSync("test/clients/mcp/baseline.json", "utf8")) as Baseline;
    const expected = Object.values(baseline).flatMap((why) => why[revision] ?? []);
    expect(ofStatus("FAILURE", "WARNING").toSorted()).toEqual(expected.toSorted());
    expect(ofStatus("SUCCESS")).toHaveLength(SUCCEEDED[revision] ?? 0);
    expect(world.bugs).toEqual([]);
  },
);

interface Check {
  readonly id: string;
  readonly status: string;
}
