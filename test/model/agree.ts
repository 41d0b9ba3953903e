import { ANY } from "./model.js";

/** The service and the model differ. */
export class Disagreement extends Error {}

/** Where an answer differs from the expectation; undefined if it does not. `expected` may leave fields out. */
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

/** The expectation, limited to the fields that the answer has. */
export function partOf(expected: unknown, actual: unknown): unknown {
  if (Array.isArray(expected) && Array.isArray(actual))
    return expected.map((item, index) => partOf(item, actual[index]));
  if (typeof expected !== "object" || typeof actual !== "object" || expected === null || actual === null)
    return expected;
  const parts = Object.entries(expected).filter(([name]) => name in actual);
  const known = actual as Readonly<Record<string, unknown>>;
  return Object.fromEntries(parts.map(([name, value]) => [name, partOf(value, known[name])]));
}

const differs = (path: string, expected: unknown, actual: unknown) =>
  `${path} is ${inShort(actual)}, not ${inShort(expected)}`;

const SHORT = 1_500;
const inShort = (value: unknown): string => (JSON.stringify(value) ?? "nothing").slice(0, SHORT);
