import type { Services } from "../../operation/context.js";
import type { Chore } from "../../platform/chores.js";
import { forgetAbandonedGraph } from "./abandoned-graphs.js";
import { countWordsOfGraph } from "./count-words.js";
import { forgetWords } from "./forget-words.js";

export const memoryChores = (services: Services): Chore[] => [
  { name: "empty graphs of deleted teams and users", intervalMs: 2_000, run: () => forgetAbandonedGraph(services) },
  { name: "count words", intervalMs: 5_000, run: () => countWordsOfGraph(services) },
  { name: "forget words", intervalMs: 10_000, run: () => forgetWords(services) },
];
