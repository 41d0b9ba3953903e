import { beforeAll, expect, it } from "vitest";
import { operations, relations } from "../../src/operations.js";
import { type DeclaredFailures, readDeclaredFailures } from "../support/raised-failures.js";

const FREES = "What it settles is less than before: only more can be too much.";

/** Failures that functions can raise which an operation uses, but never for this operation, and why. */
const NEVER: ReadonlyArray<readonly [operation: string, failure: string, why: string]> = [
  ["deleteMemory", "GraphFull", FREES],
  ["deleteMemories", "GraphFull", FREES],
  ["deleteRelationship", "GraphFull", FREES],
  ["putMemory", "VersionMismatch", "It expects no version."],
  ["putMemory", "ClientIdExists", "It gives no other client id to the memory that it replaces."],
  ["confirmSignUp", "TooManyApiKeys", "It says instead what else a user can do who has none of their keys."],
  ["shareMemories", "MemoryNotFound", "It says instead where the caller's own memories are found."],
  ["teamSubscription", "PaymentProviderError", "It answers with what is known, and ignores the provider's failure."],
  ["teamSubscription", "BillingNotConfigured", "The same."],
  ["updateTeam", "BillingNotConfigured", "It asks the provider only if there is one."],
];

let declared: readonly DeclaredFailures[];
beforeAll(() => {
  declared = readDeclaredFailures();
});

it("reads every operation and relation", () => {
  const names = declared.flatMap(({ name }) => name || []);
  // Two functions make relations of several types, whose names are parameters there.
  const made = ["author", "editor", "fromMemory", "toMemory"];
  expect(declared.length - names.length).toBe(2);
  expect(new Set([...names, ...made])).toEqual(new Set([...operations, ...relations].map(({ name }) => name)));
});

it("finds each failure that an operation or a relation can raise in its list", () => {
  const missing = declared.flatMap(({ name, listed, raised }) => {
    const known = allowed(name);
    return Array.from(raised).flatMap(([failure, way]) =>
      listed.has(failure) || known.has(failure) ? [] : `${name} raises ${failure}: ${way}`,
    );
  });
  expect(missing, "Add it to `failures`; or to NEVER, if it is never raised there.").toEqual([]);
});

it("finds each failure of a list in the code", () => {
  const extra = declared.flatMap(({ name, listed, raised }) =>
    Array.from(listed).flatMap((failure) => (raised.has(failure) ? [] : `${name} never raises ${failure}`)),
  );
  expect(extra, "Remove it from `failures`, or raise it.").toEqual([]);
});

it("allows no failure that the code no longer names", () => {
  const over = NEVER.filter(([operation, failure]) => {
    const found = declared.find(({ name }) => name === operation);
    return !found?.raised.has(failure) || found.listed.has(failure);
  });
  expect(over, "Remove it from NEVER.").toEqual([]);
});

/** What it declares, with what the rule of its team adds; and what the table allows. */
function allowed(name: string): Set<string> {
  const same = [...operations, ...relations].filter((one) => one.name === name);
  const failures = same.flatMap((one) => one.failures.map((failure) => failure.name));
  // `execute` makes one of the other: the caller's own team has no id that could be wrong.
  if (failures.includes("NotInTeam")) failures.push("TeamNotFound");
  return new Set([...failures, ...NEVER.flatMap(([operation, failure]) => (operation === name ? [failure] : []))]);
}
