import type { Caller, Context } from "../../src/operation/context.js";
import type { Database, Models } from "../../src/platform/database/database.js";
import type { Statement } from "../../src/platform/database/statement.js";
import type { Billing } from "../../src/platform/billing/billing.js";
import { built } from "./built.js";

const { createMemory } = await built<typeof import("../../src/features/memories/create-memory.js")>(
  "features/memories/create-memory.js",
);
const { memory } = await built<typeof import("../../src/features/memories/get-memory.js")>(
  "features/memories/get-memory.js",
);
const { FollowDirection, relatedMemories } = await built<
  typeof import("../../src/features/memories/related-memories.js")
>("features/memories/related-memories.js");
const { contextOf, createServices } =
  await built<typeof import("../../src/operation/context.js")>("operation/context.js");
const { loggerTo } =
  await built<typeof import("../../src/platform/telemetry/logger.js")>("platform/telemetry/logger.js");
const { ProcessBudgets } = await built<typeof import("../../src/platform/rate-limit/rate-limiter.js")>(
  "platform/rate-limit/rate-limiter.js",
);
const { idsBy } = await built<typeof import("../../src/platform/database/shared-clock.js")>(
  "platform/database/shared-clock.js",
);
const { callerOf } = await built<typeof import("../../src/features/access/caller.js")>("features/access/caller.js");

/** The statements that the cases run in the database, for every server. */
export interface Statements {
  readonly caller: Statement<object>;
  readonly memoryAlone: Statement<object>;
  readonly memoryWithRelationships: Statement<object>;
  readonly memoryWithLinks: Statement<object>;
  readonly createMemory: Statement<object>;
  readonly related: Statement<object>;
}

/** Recorded from the operations themselves by running them: nothing is written twice, so nothing drifts. */
export async function statements(): Promise<Statements> {
  const newMemory = {
    type: "fix",
    title: "A title",
    content: "Some content.",
    tags: [],
    importance: 0.5,
    confidence: 0.8,
  };
  const asked = { id: ID, maxDepth: 1, direction: FollowDirection.ANY, limit: 20 };
  const walk = { ...asked, eachRelationship: false, full: false, includeExpired: false };
  const [caller] = await recorded((database) => callerOf(undefined, database));
  const [memoryAlone] = await recorded((database) => memory.handle(recording(database, "id"), { id: ID }));
  const [memoryWithLinks] = await recorded((database) => memory.handle(recording(database), { id: ID }));
  const [memoryWithRelationships] = await recorded((database) =>
    memory.handle(recording(database, "relationships"), { id: ID }),
  );
  const [created] = await recorded((database) => createMemory.handle(recording(database), newMemory));
  const [related] = await recorded((database) => relatedMemories.handle(recording(database), walk));
  const found = { caller, memoryAlone, memoryWithRelationships, memoryWithLinks, createMemory: created, related };
  if (!isWhole(found)) throw new Error("An operation has run no statement.");
  return found;
}

type Found = { readonly [Name in keyof Statements]: Statement<object> | undefined };

function isWhole(found: Found): found is Statements {
  return Object.values(found).every((statement) => statement !== undefined);
}

/** The statements that the work runs in a database in which it finds one row with all fields missing. */
async function recorded(work: (database: Database) => Promise<unknown>): Promise<Statement<object>[]> {
  const seen: Statement<object>[] = [];
  const database: Database = {
    get models(): Models {
      throw new Error("Only statements are recorded.");
    },
    run: async <Row, Values extends object>(statement: Statement<Values, Row>) => {
      seen.push(statement as unknown as Statement<object>);
      return [{}] as Row[];
    },
    search: (inner) => inner(database.run),
    readPages: (read) => read(database.models),
    transaction: (inner) => inner(database),
    whyWaitFailed: () => undefined,
    explain: async (error) => error,
  };
  // The result for such a row does not matter.
  await work(database).catch(() => {});
  return seen;
}

const ID = "00000000-0000-7000-8000-000000000000";
const NOBODY: Caller = {
  userId: ID,
  email: "nobody@example.com",
  emailIsVerified: true,
  keyId: ID,
  plan: "pro",
  scopes: new Set(),
  personalGraphId: ID,
  team: null,
};

const NO_BILLING: Billing = {
  payments: undefined,
  freeSeats: 5,
  graceDays: 7,
  mails: new Set<never>(),
  checkout: { tax: false, promotionCodes: false, trialDays: 0 },
  returnOrigins: [],
};

const now = () => new Date();
const OTHERS = {
  now,
  newId: idsBy(now),
  budgets: new ProcessBudgets(),
  log: loggerTo(process.stderr, "warn"),
  publicUrl: () => "",
};

/** The caller will see these fields of the answer; all fields unless given. */
const recording = (database: Database, ...fields: readonly string[]): Context =>
  contextOf(createServices({ database, billing: NO_BILLING, ...OTHERS }), {
    caller: NOBODY,
    door: "rest",
    clientAddress: "127.0.0.1",
    idempotency: undefined,
    selects: (field) => fields.length === 0 || fields.includes(field),
  });
