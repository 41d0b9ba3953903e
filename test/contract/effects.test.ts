import { describe, expect, it } from "vitest";
import { operations } from "../../src/operations.js";
import { tellChanges } from "../../src/operation/audit.js";
import { actionNamed } from "../../src/operation/audit-action.js";
import { Deletion, NoInput, type Operation, defineOperation } from "../../src/operation/operation.js";
import { worldFor } from "../support/billing.js";
import { exampleInput, thingsOf } from "../support/examples.js";
import type { World } from "../support/world.js";

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

// The compiler refuses each of these: were one of them accepted, `npm run check` would fail for want of an error.
const CONTRADICTIONS = () => [
  // @ts-expect-error A change says what is recorded of it, or why nothing is.
  defineOperation({ ...FACTS, name: "deleteMemory", effect: "transaction", handle }),
  // @ts-expect-error Only listed actions are recorded.
  defineOperation({ ...FACTS, name: "doSomething", effect: "transaction", audit, handle }),
  // @ts-expect-error One statement leaves no room for an entry of the audit.
  defineOperation({ ...FACTS, name: "deleteMemory", effect: "statement", audit, handle }),
  // @ts-expect-error Nor do transactions of the handler's own.
  defineOperation({ ...FACTS, name: "deleteMemory", effect: "ownTransactions", audit, handle }),
  // @ts-expect-error What makes its transactions itself asks others itself, too.
  defineOperation({ ...FACTS, name: "x", effect: "ownTransactions", audit: { none: "Why." }, prepare, handle }),
  // @ts-expect-error What reads prepares nothing.
  defineOperation({ ...FACTS, name: "x", effect: "reads", prepare, handle }),
  // @ts-expect-error What reads records nothing.
  defineOperation({ ...FACTS, name: "deleteMemory", effect: "reads", audit, handle }),
];

it("lets the compiler refuse declarations that contradict themselves, and no others", () => {
  expect(CONTRADICTIONS).toBeTypeOf("function");
  const operation = defineOperation({ ...FACTS, name: "deleteMemory", effect: "transaction", prepare, audit, handle });
  expect(operation).toMatchObject({ kind: "mutation", effect: "transaction" });
});

const changes = operations.filter(({ kind }) => kind === "mutation");

describe.each(changes.map((operation) => [operation.name, operation] as const))("%s", (name, operation) => {
  it("records an action that the audit knows, or says why not or what records it", () => {
    const rule = auditOf(operation);
    if (typeof rule === "function" || (rule && "by" in rule)) expect(actionNamed(name)).toBe(name);
    else expect(rule?.none).toMatch(/^[A-Z].+\.$/);
  });
});

const reads = operations.filter(({ effect }) => effect === "reads");

describe.each(reads.map((operation) => [operation.name, operation] as const))("%s", (_name, operation) => {
  it("changes nothing in the database, as its effect says", async () => {
    await using world = await worldFor(operation);
    const ann = await world.user();
    const input = exampleInput(operation, await thingsOf(world, ann, operation));
    const before = await rowsOf(world);

    await ann.did(operation, input);

    const after = await rowsOf(world);
    const changed = [before.filter((row) => !after.includes(row)), after.filter((row) => !before.includes(row))];
    expect(changed, "It writes: declare another `effect` than `reads`.").toEqual([[], []]);
  });
});

/** Each row of each table, as a text. What is copied from Stripe may be copied anew whenever it is read. */
async function rowsOf({ database: { pool } }: World): Promise<readonly string[]> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables
     WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name <> 'billing_account'`,
  );
  const all = tables.map(({ name }) => `SELECT '${name} ' || row_to_json(t)::text AS row FROM "${name}" t`);
  const { rows } = await pool.query<{ row: string }>(`${all.join(" UNION ALL ")} ORDER BY row`);
  return rows.map(({ row }) => row);
}

const auditOf = (operation: Operation) => (operation.effect === "reads" ? undefined : operation.audit);

it("tells of an update what was and what is, and nothing of what stayed", () => {
  expect(
    tellChanges([
      ["name", '"Old"', '"New"'],
      ["seats", 5, 5],
      ["plan", null, "pro"],
    ]),
  ).toBe('name: "Old" → "New", plan: none → pro');
  expect(tellChanges([["seats", 5, 5]])).toBeUndefined();
});
