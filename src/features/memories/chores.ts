import { MINUTE_MS } from "../../durations.js";
import { LIMITS } from "../../limits.js";
import type { Services } from "../../operation/context.js";
import type { Chore } from "../../platform/chores.js";
import { forgetAbandonedGraph } from "./abandoned-graphs.js";
import { countWordsOfGraph } from "./words/count-words.js";
import { embedDueMemories } from "./meaning/embed-memories.js";
import { fillModel, forgetUnusedVectors } from "./meaning/embedding-models.js";
import { indexVectors } from "./meaning/index-vectors.js";
import { forgetWords } from "./words/forget-words.js";

/** `url` is that of PostgreSQL itself; undefined for the embedded one. */
export const memoryChores = (services: Services, url: string | undefined): Chore[] => [
  { name: "empty graphs of deleted teams and users", intervalMs: 2_000, run: () => forgetAbandonedGraph(services) },
  { name: "count words", intervalMs: 5_000, run: () => countWordsOfGraph(services) },
  { name: "forget words", intervalMs: 10_000, run: () => forgetWords(services) },
  ...embeddingChores(services, url),
];

/** None without an embeddings server. */
function embeddingChores({ meaning, ...services }: Services, url: string | undefined): Chore[] {
  if (!meaning) return [];
  const { lookedEveryMs: intervalMs } = LIMITS.embeddings;
  const context = { ...services, meaning };
  return [
    { name: "queue memories to embed", intervalMs, run: () => fillModel(context) },
    { name: "embed memories", intervalMs, run: () => embedDueMemories(context) },
    { name: "forget vectors", intervalMs: MINUTE_MS, run: () => forgetUnusedVectors(context) },
    // The embedded PostgreSQL has no pgvector.
    ...(url === undefined
      ? []
      : [{ name: "index vectors", intervalMs: MINUTE_MS, run: () => indexVectors(context, url) }]),
  ];
}
