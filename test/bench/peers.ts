import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { built } from "./built.js";
import { type Case, GRAPHQL_GET } from "./cases.js";
import { MEMORY_FIELDS } from "./documents.js";
import type { contextOf, resolversOf } from "./peer-schema.js";
import type { Work } from "./floor-work.js";

const { PROJECT } = await built<typeof import("../../src/platform/project.js")>("platform/project.js");

/** What a peer's `server.mjs` gets to serve; it returns the port on which it listens. */
export interface PeerParts {
  readonly databaseUrl: string;
  readonly connections: number | null | undefined;
  readonly schema: string;
  readonly resolvers: ReturnType<typeof resolversOf>;
  readonly contextOf: (authorization: string | undefined | null) => ReturnType<typeof contextOf>;
  readonly callerOf: Work["callerOf"];
}

export interface Peer {
  /** Its folder in `test/bench/peers`. */
  readonly name: string;
  readonly title: string;
  /** Documents that replace the cases' own; if given, cases without one are left out. */
  readonly documents?: Readonly<Record<string, string>>;
  /** Why cases are left out or not quite the same. */
  readonly note?: string;
}

export const PEERS: readonly Peer[] = [
  { name: "mercurius", title: "mercurius with jit" },
  { name: "yoga", title: "GraphQL Yoga" },
  { name: "apollo", title: "Apollo Server, Express" },
  {
    name: "postgraphile",
    title: "PostGraphile",
    documents: {
      [GRAPHQL_GET]: `query Get($id: UUID!) {
  memory: ownMemory(id: $id) {
    ${Object.keys(MEMORY_FIELDS)
      .map((name) => (name === "id" ? "id: rowId" : name))
      .join(" ")}
  }
}`,
    },
    note:
      "makes its SQL itself, so it only takes part where that can give the same answer: one memory, whose times it " +
      "writes in another form. The other cases need SQL of their own: relationships of both directions in one list, the " +
      "ranking of searches, and storing a memory within the limits of its graph.",
  },
];

const folderOf = ({ name }: Peer): string => join(PROJECT, "test", "bench", "peers", name);
export const serverFileOf = (peer: Peer): string => join(folderOf(peer), "server.mjs");

/** Written when an installation is complete, with the installed packages. */
const stampOf = (peer: Peer): string => join(folderOf(peer), "node_modules", ".installed");
const lockOf = (peer: Peer): string =>
  createHash("sha256")
    .update(readFileSync(join(folderOf(peer), "package-lock.json")))
    .digest("hex");

export const isInstalled = (peer: Peer): boolean =>
  existsSync(stampOf(peer)) && readFileSync(stampOf(peer), "utf8") === lockOf(peer);

/** Installs each peer's packages into its own folder, unless they are installed. Packages run no scripts. */
export function installPeers(peers: readonly Peer[], say: (message: string) => void): void {
  for (const peer of peers.filter((one) => !isInstalled(one))) {
    say(`Installing ${peer.title} (once) …`);
    const { status, error } = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
      cwd: folderOf(peer),
      stdio: ["ignore", "ignore", "inherit"],
      shell: process.platform === "win32",
    });
    if (status !== 0) throw new Error(`${peer.title} could not be installed.`, { cause: error });
    writeFileSync(stampOf(peer), lockOf(peer));
  }
}

/** The case in the form for this peer; undefined if the peer cannot take part. */
export function caseFor({ documents }: Peer, bench: Case): Case | undefined {
  if (!bench.name.startsWith("graphql-")) return undefined;
  if (!documents) return bench;
  const query = documents[bench.name];
  if (query === undefined) return undefined;
  const requests = bench.requests.map(({ body = "{}", ...ask }) => ({
    ...ask,
    body: JSON.stringify({ ...(JSON.parse(body) as object), query }),
  }));
  return { ...bench, requests };
}
