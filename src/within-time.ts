/**
 * Calls `late` after so many milliseconds, unless the returned function was called before. What came in until then is
 * read first: to a process that was busy or paused for this long, all others would seem late, though their answers wait
 * to be read. The timer does not keep the process alive.
 */
export function whenLate(ms: number, late: () => void): () => void {
  let afterReading: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => (afterReading = setImmediate(late)), ms).unref();
  return () => {
    clearTimeout(timer);
    clearImmediate(afterReading);
  };
}

/** The result of `work`; after `ms` milliseconds that of `late`, and nobody waits for the work any more. */
export function withinTime<T>(work: PromiseLike<T>, ms: number, late: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = whenLate(ms, () => resolve(Promise.resolve().then(late)));
    work.then(resolve, reject).then(cancel);
  });
}
