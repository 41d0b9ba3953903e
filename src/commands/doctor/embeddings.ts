import type { Config } from "../../config.js";
import { LIMITS } from "../../limits.js";
import { adviceForCertificate } from "../../platform/certificate-advice.js";
import { EmbeddingsServer } from "../../platform/meaning/embeddings.js";
import { Meaning } from "../../platform/meaning/meaning.js";
import { Problem } from "./problem.js";

export async function checkEmbeddings({ embeddings }: Config): Promise<string | undefined> {
  if (!embeddings) return undefined;
  const { examinedMs, searchMs } = LIMITS.embeddings;
  try {
    const server = new EmbeddingsServer(embeddings);
    await using meaning = new Meaning(server, undefined, { searchMs, requestMs: examinedMs });
    const [vector] = await server.embed(["A memory."], "document", examinedMs);
    const took: number[] = [];
    for (let query = 0; query < 3; query++) {
      const asked = performance.now();
      await server.embed([`A query, number ${query}`], "query", examinedMs);
      took.push(performance.now() - asked);
    }
    const fastest = Math.ceil(Math.min(...took));
    if (fastest > searchMs) throw new Problem(tooSlow(fastest));
    const { query, document } = server.prefixes;
    const size = await meaning.pieceSizeBy(server.model);
    return (
      `The server embeds by ${embeddings.model}, in ${vector?.values.length} dimensions; a query in ${fastest} ms. ` +
      `Before queries it gets ${JSON.stringify(query)}, before memories ${JSON.stringify(document)}. ` +
      `Memories are sent in pieces of ${size.toLocaleString("en")} English letters.`
    );
  } catch (error) {
    if (error instanceof Problem) throw error;
    const { message } = error as Error;
    throw new Problem(`The embeddings server cannot be used: ${message}. ${todoForEmbeddings(message)}`);
  }
}

/** What to do, by what `EmbeddingsFailed` says. */
function todoForEmbeddings(message: string): string {
  const [, todo] = TODOS.find(([said]) => said.test(message)) ?? [];
  return todo ?? adviceForCertificate(message, "EMBEDDINGS_URL") ?? "Check EMBEDDINGS_URL, _MODEL and _KEY.";
}

const TODOS = [
  [/^it answers 40[13]$/, "Check EMBEDDINGS_KEY, and that it may use this model."],
  [
    /^it answers (402|429)$/,
    "It limits your requests: raise your rate or your credit there. Memories wait until then.",
  ],
  [/ after a redirect to /, "Write that address into EMBEDDINGS_URL, without /embeddings at its end."],
  // LM Studio answers 200 at paths that it does not have.
  [
    /^it answers 404$|no vector for each text$/,
    "Check EMBEDDINGS_URL, which for most servers ends with /v1, and that the server has the model of EMBEDDINGS_MODEL.",
  ],
  [/^it answers 50[234]$/, "It is down or overloaded: look at its log, or at its provider's page of states."],
  [
    /^it does not answer in time$/,
    "It hangs, is overloaded or loads the model, for which the service waits longer: look at its log, and check " +
      "EMBEDDINGS_URL.",
  ],
] as const;

const tooSlow = (ms: number): string =>
  `The embeddings server takes ${ms} ms for a query, and a search waits ${LIMITS.embeddings.searchMs} ms: new queries are ` +
  "searched by words alone. Use a smaller model or a nearer server.";
