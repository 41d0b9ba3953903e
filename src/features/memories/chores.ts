import { LIMITS } from "../../limits.js";
import type { Services } from "../../operation/context.js";
import type { Chore } from "../../platform/chores.js";
import { forgetAbandonedGraph } from "./abandoned-graphs.js";
import { countWordsOfGraph } from "./words/count-words.js";
import { embedDueMemories, fillModel, forgetUnusedVectors } from "./meaning/embed-memories.js";
import { forgetWords } from "./words/forget-words.js";

export const memoryChores = (services: Services): Chore[] => [
  { name: "empty graphs of deleted teams and users", intervalMs: 2_000, run: () => forgetAbandonedGraph(services) },
  { name: "count words", intervalMs: 5_000, run: () => countWordsOfGraph(services) },
  { name: "forget words", intervalMs: 10_000, run: () => forgetWords(services) },
  ...embeddingChores(services),
];

/** None without an embeddings server. */
function embeddingChores({ meaning, ...services }: Services): Chore[] {
  if (!meaning) return [];
  const { lookedEveryMs: intervalMs } = LIMITS.embeddings;
  const context = { ...services, meaning };
  return [
    { name: "queue memories to embed", intervalMs, run: () => fillModel(context) },
    { name: "embed memories", intervalMs, run: () => embedDueMemories(context) },
    { name: "forget vectors", intervalMs: 60_000, run: () => forgetUnusedVectors(context) },
  ];
}
