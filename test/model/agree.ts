import { ANY } from "./model.js";

/** The service and the model do not say the same. */
export class Disagreement extends Error {}

/** Where an answer differs from what the model knows of it; undefined where it does not. Fields may be left out. */
export function difference(expected: unknown, actual: unknown, path = "answer"): string | undefined {
  if (expected === ANY) return undefined;
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return differs(path, expected, actual);
    if (actual.length !== expected.length) {
      return `${path} has ${actual.length} items, not ${expected.length}:\n  ${inShort(actual)}\n  ${inShort(expected)}`;
    }
    return expected.map((item, index) => difference(item, actual[index], `${path}[${index}]`)).find(Boolean);
  }
  if (typeof expected !== "object" || expected === null) {
    return Object.is(expected, actual) ? undefined : differs(path, expected, actual);
  }
  if (typeof actual !== "object" || actual === null) return differs(path, expected, actual);
  const known = actual as Readonly<Record<string, unknown>>;
  return Object.entries(expected)
    .map(([name, value]) => difference(value, known[name], `${path}.${name}`))
    .find(Boolean);
}

const differs = (path: string, expected: unknown, actual: unknown) =>
  `${path} is ${inShort(actual)}, not ${inShort(expected)}`;

const SHORT = 1_500;
const inShort = (value: unknown): string => (JSON.stringify(value) ?? "nothing").slice(0, SHORT);
