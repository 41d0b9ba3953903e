/** An address or a key; `@` also begins names of packages. */
const OF_PEOPLE = /[\w.+-]@[a-z\d-]+\.[a-z]|mg_live_\w{20}/i;

/** Called at the end of each test with the log of its servers. @throws Error when a line has an address or a key. */
export function assertTellsOfNobody(log: readonly string[]): void {
  const told = log.filter((line) => OF_PEOPLE.test(line));
  if (told.length > 0) throw new Error(`The log has somebody's address or key:\n${told.join("\n")}`);
}
