import { constants, PerformanceObserver } from "node:perf_hooks";

/** Sees the garbage collections of this process: those of young objects, and those of all. */
export class Collections implements Disposable {
  readonly #seen: Array<{ readonly kind: "young" | "all"; readonly at: number }> = [];
  readonly #observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) this.#seen.push({ kind: kindOf(entry), at: entry.startTime });
  });

  constructor() {
    this.#observer.observe({ entryTypes: ["gc"] });
  }

  /** Runs the action; the function returned tells which collections there were meanwhile, as soon as they are known. */
  during(action: () => void): () => Array<"young" | "all"> {
    const from = performance.now();
    action();
    const until = performance.now();
    return () => this.#seen.filter(({ at }) => from <= at && at <= until).map(({ kind }) => kind);
  }

  [Symbol.dispose](): void {
    this.#observer.disconnect();
  }
}

const kindOf = (entry: object): "young" | "all" =>
  (entry as { detail: { kind: number } }).detail.kind === constants.NODE_PERFORMANCE_GC_MINOR ? "young" : "all";
