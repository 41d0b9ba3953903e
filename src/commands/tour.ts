import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Option } from "commander";
import { configOfProcess } from "../environment.js";
import { UserError } from "../features/access/index.js";
import { callService, notServed, stoppedBy } from "../import/call-service.js";
import { LIMITS } from "../limits.js";
import { JSON_OPTION, commandLine, runCommand } from "./command-line.js";
import { quote } from "./quote.js";
import { addressOf, keyOption } from "./service-options.js";
import { type Person, graphqlDoor, restDoor } from "./tour/doors.js";
import { Guide } from "./tour/guide.js";
import { Mails } from "./tour/mails.js";
import { walkBilling } from "./tour/walk-billing.js";
import { walkGraph } from "./tour/walk-graph.js";
import { walkTeam } from "./tour/walk-team.js";

type Part = "graph" | "team" | "billing";
type DoorName = "rest" | "graphql";

interface Options {
  readonly url?: string;
  readonly dataDir?: string;
  readonly key?: string;
  readonly only?: Part;
  readonly door?: DoorName;
  readonly json?: true;
}

/** Different people at each door, so that the second walk does not find those of the first. */
const DOORS = {
  rest: { title: "REST", open: restDoor, names: ["Ann", "Bob"] },
  graphql: { title: "GraphQL", open: graphqlDoor, names: ["Cleo", "Dan"] },
} as const;

export const program = commandLine({
  script: "tour",
  description:
    "Shows what the service does, on a running development server (`npm start` in another terminal): two memories and " +
    "a link, two people and a team, seats paid by card. It shows each request and its answer, by REST and then by " +
    "GraphQL, with new users each time.",
  notes:
    "The first walk uses the key in MEMORY_GRAPH_KEY or, with a server on this machine, the demo user's key, and deletes\n" +
    "what it creates. The other walks sign up new users. A full tour requests 4 codes; a network gets " +
    `${LIMITS.signUp.asksPerNetwork.limit} an hour.`,
  examples: [
    "npm run tour",
    "npm run tour -- --only graph --door graphql",
    "npm run tour -- --url http://127.0.0.1:4100 --data-dir /tmp/graph",
    "npm run --silent tour -- --json",
  ],
})
  .option("--url <address>", "the server's address (default: this machine, at PORT or 4000)", addressOf)
  .option("--data-dir <folder>", "the server's data folder, with its mails and demo key (default: DATA_DIR or .data)")
  .addOption(keyOption())
  .addOption(new Option("--only <walk>", "one of the walks").choices(["graph", "team", "billing"]))
  .addOption(new Option("--door <door>", "one of the doors").choices(["rest", "graphql"]))
  .option(...JSON_OPTION)
  .action(walk);

async function walk({ only, door, json, ...options }: Options): Promise<void> {
  const config = configOfProcess();
  const dataDir = options.dataDir ?? config.dataDir;
  const url = options.url ?? `http://127.0.0.1:${config.port || 4_000}`;
  const write = (text: string) => void (json || process.stdout.write(text));
  await assertReady(url);
  const mails = await Mails.watch(dataDir);
  const run = Date.now().toString(36);
  const walks = [];
  for (const name of door ? [door] : (["rest", "graphql"] as const)) {
    const { title, open, names } = DOORS[name];
    write(`\nBy ${title}, at ${url}\n`);
    const guide = new Guide(open(url), { write, colours: process.stdout.hasColors?.() ?? false });
    const users = { mails, names, addressOf: (person: string) => `${person.toLowerCase()}.${run}@example.com` };
    if (!only || only === "graph") await walkGraph(guide, await walkerOf(guide, { url, dataDir, key: options.key }));
    const ownedTeam = !only || only === "team" ? await walkTeam(guide, users) : undefined;
    if (!only || only === "billing") await walkBilling(guide, users, ownedTeam);
    walks.push({ door: name, steps: guide.taken });
  }
  const steps = walks.flatMap((each) => each.steps).length;
  if (json) console.log(JSON.stringify({ url, walks }));
  else console.log(`\nAll ${steps} steps were answered as expected.`);
}

/** @throws UserError when the service is not ready; ImportStopped when it does not answer at this address. */
async function assertReady(url: string): Promise<void> {
  const answer = await callService(url, "/readyz", { signal: AbortSignal.timeout(5_000) }).catch((error: unknown) => {
    throw stoppedBy(url, error);
  });
  if (answer.ok) return;
  if (answer.status !== 503) throw notServed(url, answer.status);
  throw new UserError(
    `The server at ${url} is not ready (status 503). Try again in a moment; \`npm run doctor\`, where it runs, says ` +
      "what is wrong.",
  );
}

/** The user of the first walk: that of the given key, or the demo user. */
async function walkerOf(
  guide: Guide,
  { url, dataDir, key }: { url: string; dataDir: string; key?: string | undefined },
): Promise<Person> {
  if (key) return { variable: "MEMORY_GRAPH_KEY", key };
  const file = join(dataDir, "demo-key");
  // The key must not be sent to another machine, where it is not valid anyway.
  const isHere = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname);
  const demo = isHere ? await readFile(file, "utf8").catch(() => undefined) : undefined;
  if (!demo) {
    throw new UserError(
      `An API key is needed: set MEMORY_GRAPH_KEY. For a development server, the tour reads the demo key from ${file}.`,
    );
  }
  guide.note(`KEY=$(cat ${quote(file)})`);
  return { variable: "KEY", key: demo.trim() };
}

await runCommand(program, import.meta.url);
