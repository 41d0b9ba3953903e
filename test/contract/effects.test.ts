import { describe, expect, it } from "vitest";
import { ACTIONS_WITH_ADDRESS } from "../../src/features/teams/invitations/audited-address.js";
import { operations } from "../../src/operations.js";
import { tellChanges } from "../../src/operation/audit.js";
import { actionNamed } from "../../src/operation/audit-action.js";
import { Deletion, NoInput, type Operation, defineOperation } from "../../src/operation/operation.js";
import { worldFor } from "../support/billing.js";
import { exampleInput, thingsOf } from "../support/examples.js";
import { rowsOf } from "../support/tables.js";

const FACTS = {
  summary: "Does something.",
  input: NoInput,
  output: Deletion,
  permission: "any",
  failures: [],
  rest: { method: "POST", path: "/something" },
} as const;
const handle = () => Promise.resolve({ id: "" });
const prepare = () => Promise.resolve();
const audit = () => ({ teamId: null, subject: null });

// The compiler must refuse each of these. If it accepted one, its @ts-expect-error would fail `npm run check`.
const CONTRADICTIONS = () => [
  // @ts-expect-error A change declares what it records in the audit log, or why it records nothing.
  defineOperation({ ...FACTS, name: "deleteMemory", effect: "transaction", handle }),
  // @ts-expect-error Only listed actions can be recorded.
  defineOperation({ ...FACTS, name: "doSomething", effect: "transaction", audit, handle }),
  // @ts-expect-error A single statement has no room for an audit entry.
  defineOperation({ ...FACTS, name: "deleteMemory", effect: "statement", audit, handle }),
  // @ts-expect-error Nor have the handler's own transactions.
  defineOperation({ ...FACTS, name: "deleteMemory", effect: "ownTransactions", audit, handle }),
  // @ts-expect-error A handler with its own transactions also calls external services itself.
  defineOperation({ ...FACTS, name: "x", effect: "ownTransactions", audit: { none: "Why." }, prepare, handle }),
  // @ts-expect-error An operation that only reads prepares nothing.
  defineOperation({ ...FACTS, name: "x", effect: "reads", prepare, handle }),
  // @ts-expect-error An operation that only reads records nothing.
  defineOperation({ ...FACTS, name: "deleteMemory", effect: "reads", audit, handle }),
];

it("lets the compiler refuse declarations that contradict themselves, and no others", () => {
  expect(CONTRADICTIONS).toBeTypeOf("function");
  const operation = defineOperation({ ...FACTS, name: "deleteMemory", effect: "transaction", prepare, audit, handle });
  expect(operation).toMatchObject({ kind: "mutation", effect: "transaction" });
});

const changes = operations.filter(({ kind }) => kind === "mutation");

describe.each(changes.map((operation) => [operation.name, operation] as const))("%s", (name, operation) => {
  it("declares an action known to the audit log, what records it, or why nothing is recorded", () => {
    const rule = auditOf(operation);
    if (typeof rule === "function" || (rule && "by" in rule)) expect(actionNamed(name)).toBe(name);
    else expect(rule?.none).toMatch(/^[A-Z].+\.$/);
  });

  it("names nobody in the audit, which outlives people, but where `deleteUser` removes it", async () => {
    await using world = await worldFor(operation);
    const ann = await world.user();
    const input = exampleInput(operation, await thingsOf(world, ann, operation));
    await world.database.models.user.updateMany({ data: { name: "Unmistakable" } });

    await ann.did(operation, input);

    const entries = await world.database.models.auditEntry.findMany();
    const naming = entries.filter(({ detail }) => /@|Unmistakable/.test(detail ?? "")).map(({ action }) => action);
    const removed: readonly string[] = [...ACTIONS_WITH_ADDRESS, "changeEmail"];
    expect(naming.filter((action) => !removed.includes(action))).toEqual([]);
  });
});

const reads = operations.filter(({ effect }) => effect === "reads");

describe.each(reads.map((operation) => [operation.name, operation] as const))("%s", (_name, operation) => {
  it("changes nothing in the database, as its effect says", async () => {
    await using world = await worldFor(operation);
    const ann = await world.user();
    const input = exampleInput(operation, await thingsOf(world, ann, operation));
    const before = await rowsOf(world.database.pool, COPIES);

    await ann.did(operation, input);

    const after = await rowsOf(world.database.pool, COPIES);
    const changed = [before.filter((row) => !after.includes(row)), after.filter((row) => !before.includes(row))];
    expect(changed, "It writes: declare another `effect` than `reads`.").toEqual([[], []]);
  });
});

/** Reading may copy a subscription from the payment provider again. */
const COPIES = ["billing_account"];

const auditOf = (operation: Operation) => (operation.effect === "reads" ? undefined : operation.audit);

it("tells the old and new values of an update, and leaves out what stayed the same", () => {
  expect(
    tellChanges([
      ["name", '"Old"', '"New"'],
      ["seats", 5, 5],
      ["plan", null, "pro"],
    ]),
  ).toBe('name: "Old" → "New", plan: none → pro');
  expect(tellChanges([["seats", 5, 5]])).toBeUndefined();
});
