/** Leaves out of a text what an agent cannot follow. */
export type Told = (text: string) => string;

/** How texts name tools: by words with underscores, also in backticks, or by one word in backticks. */
const NAMES = /\b[a-z]+(?:_[a-z]+)+\b|(?<=`)[a-z]+(?=`)/g;
/** A route of REST, which no agent can call. */
const ROUTE = /`[A-Z]+ \//;

const namesIn = (text: string): readonly string[] => text.match(NAMES) ?? [];

/**
 * Leaves out the sentences that name a route, or a tool that is not among an agent's own. So each text is to name a tool
 * in a sentence of its own, which the others do not need.
 * @param all the names of all tools
 */
export function toldWith(own: ReadonlySet<string>, all: ReadonlySet<string>): Told {
  const isMissing = (name: string): boolean => all.has(name) && !own.has(name);
  return (text) =>
    text
      .split(/(?<=[.?!])(?=\s)/)
      .filter((sentence) => !ROUTE.test(sentence) && !namesIn(sentence).some(isMissing))
      .join("")
      .trim();
}

/**
 * The paragraphs of the instructions that an agent can follow: each is about the tool that it names first, or about
 * all. Undefined if it has none of the named tools.
 */
export function instructionsFor(text: string, own: ReadonlySet<string>, told: Told): string | undefined {
  if (!namesIn(text).some((name) => own.has(name))) return undefined;
  const isAboutOwn = ([about]: readonly string[]): boolean => about === undefined || own.has(about);
  return text
    .split("\n\n")
    .filter((paragraph) => isAboutOwn(namesIn(paragraph)))
    .map(told)
    .join("\n\n");
}
