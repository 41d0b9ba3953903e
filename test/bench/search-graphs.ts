import { databases, dropUnused, fillOneGraph, hashOfMakers, userOf } from "./dataset.js";
import { databaseOn, onServer } from "./on-server.js";

export interface SearchGraph {
  readonly url: string;
  readonly graphId: string;
  /** A graph of long texts. */
  readonly longGraphId: string;
}

/** A database with a graph of this many memories; made once for each state of the code that makes it, and kept. */
export async function openSearchGraph(
  serverUrl: string,
  memories: number,
  say: (message: string) => void,
): Promise<SearchGraph> {
  const prefix = `mg_bench_search_${memories}_`;
  const name = `${prefix}${hashOfMakers()}`;
  await onServer(serverUrl, async (server) => {
    if ((await databases(server)).includes(name)) return;
    say(`Making a graph of ${memories.toLocaleString("en")} memories (once, minutes) …`);
    await dropUnused(server, (known) => known.startsWith(prefix));
    // Under another name until it is complete, so that an interrupted run leaves no incomplete database.
    await server.query(`CREATE DATABASE ${name}_new`);
    await fillOneGraph(databaseOn(serverUrl, `${name}_new`), memories, say);
    await server.query(`ALTER DATABASE ${name}_new RENAME TO ${name}`);
  });
  return { url: databaseOn(serverUrl, name), graphId: userOf(0).graphId, longGraphId: userOf(1).graphId };
}
