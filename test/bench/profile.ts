import { type Profiler, Session } from "node:inspector/promises";

/** The parts of a server that a profile tells apart, by the files whose functions ran. The first that fits counts. */
const PARTS = [
  ["writing", /^\(native\)write/],
  ["HTTP", /^node:_?http/],
  ["Node", /^node:|^\(native\)/],
  ["pg", /\/node_modules\/(?:pg|postgres)[^/]*\//],
  ["Express", /\/node_modules\/(?:express|router|cors|path-to-regexp|vary|parseurl|finalhandler)\//],
  ["GraphQL", /\/node_modules\/(?:graphql|@apollo|type-graphql|mercurius)[^/]*\/|\/surfaces\/graphql\//],
  ["log", /\/node_modules\/(?:pino|sonic-boom)[^/]*\//],
  ["doors", /\/surfaces\/|\/doors\.js$/],
  ["operations", /\/operation\//],
  ["features", /\/features\//],
  ["platform", /\/platform\//],
  ["own", /\/\.bench\/floor/],
] as const;

/** The headings of a profile, in order. "garbage" is its collection, "rest" other packages. */
export const HEADINGS: readonly string[] = [...PARTS.map(([name]) => name), "garbage", "rest"];

/** The shares of a process's work, by heading; together 1, or 0 without work. */
export type Shares = Readonly<Record<string, number>>;

const SAMPLED_EVERY_US = 250;
const session = new Session();

export async function beginProfile(): Promise<void> {
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: SAMPLED_EVERY_US });
  await session.post("Profiler.start");
}

export async function endProfile(): Promise<Shares> {
  const { profile } = await session.post("Profiler.stop");
  session.disconnect();
  return sharesOf(profile);
}

/** Each sample counts for the function that ran, not for its callers. */
export function sharesOf({ nodes, samples = [] }: Pick<Profiler.Profile, "nodes" | "samples">): Shares {
  const headings = new Map(nodes.map(({ id, callFrame }) => [id, headingOf(callFrame)]));
  const working = samples.map((id) => headings.get(id)).filter((heading) => heading !== undefined);
  return Object.fromEntries(
    HEADINGS.map((heading) => [
      heading,
      working.filter((other) => other === heading).length / Math.max(1, working.length),
    ]),
  );
}

/** Undefined while the process had nothing to do. */
function headingOf({ url, functionName }: Profiler.ProfileNode["callFrame"]): string | undefined {
  if (functionName === "(idle)") return undefined;
  if (functionName === "(garbage collector)") return "garbage";
  const place = url === "" ? `(native)${functionName}` : url;
  return PARTS.find(([, pattern]) => pattern.test(place))?.[0] ?? "rest";
}
