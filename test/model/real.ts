import { setTimeout as sleep } from "node:timers/promises";
import type { GraphQLSchema } from "graphql";
import { startApp } from "../../src/app.js";
import { graphqlSchema } from "../../src/operations.js";
import { readConfig } from "../../src/config.js";
import { sendDueMails } from "../../src/features/mail/outbox.js";
import { sha256 } from "../../src/operation/sha256.js";
import type { Message } from "../../src/platform/mailer.js";
import type { Budgets } from "../../src/platform/rate-limit/rate-limiter.js";
import { type StripeWorld, createStripeWorld } from "../support/billing.js";
import { codeIn, tokenIn } from "../support/mail-server.js";
import { PATIENT_PAYMENTS } from "../support/patience.js";
import { endTogether, startTcpProxy } from "../support/tcp-proxy.js";
import { environmentOf } from "../support/world.js";
import { Disagreement } from "./agree.js";

/** The real service, with its own database, payment provider and mailbox. */
export interface Real extends AsyncDisposable {
  readonly world: StripeWorld;
  readonly url: string;
  /** The URLs of all servers, which share the database. */
  readonly urls: readonly string[];
  readonly schema: GraphQLSchema;
  /** Sends all mails. Returns the codes in those to this address, in both forms. */
  codesTo(email: string): Promise<{ code: string; long: string }[]>;
  /** Whether a user has this address now. */
  hasUser(email: string): Promise<boolean>;
  /** The token in the mail of an invitation. */
  tokenOf(invitationId: string, email: string): Promise<string>;
  /** Lets time pass for all stored data by moving its times back, because the database's clock cannot be moved. */
  letTimePass(milliseconds: number): Promise<void>;
  /** With two servers, each message from and to the database is delayed at random during this work. */
  unevenly<Result>(work: () => Promise<Result>): Promise<Result>;
}

const longCodeIn = ({ text }: { readonly text: string }): string => /^ *([\w-]{43})$/m.exec(text)?.[1] ?? "";

/** Unlimited budgets: other tests cover rate limits, and here thousands of requests are sent each second. */
const WITHOUT_END: Budgets = {
  take: async () => ({ used: 0, resetMs: 1_000 }),
  use: async () => [],
  close: async () => {},
};

/** The URL of a pooler in front of the database at `url`. */
export type Way = (url: string) => Promise<string>;

export interface Service {
  /** How the service connects to its database. */
  readonly way?: Way | undefined;
  /** Whether two servers share the database, to which messages may be delayed. */
  readonly isDouble?: boolean;
}

export async function startReal({ way, isDouble = false }: Service = {}): Promise<Real> {
  const world = await createStripeWorld({ fresh: way !== undefined, paymentWaits: PATIENT_PAYMENTS });
  const proxy = isDouble ? await startUnevenProxy(world.databaseUrl) : undefined;
  // In production without SMTP the server sends no mail, so each mail can be read here.
  const url = (await way?.(world.databaseUrl)) ?? proxy?.url ?? world.databaseUrl;
  const addresses = way && { DATABASE_URL: url, DIRECT_DATABASE_URL: world.databaseUrl };
  const config = readConfig({ ...environmentOf(world.stripe), ...addresses, NODE_ENV: "production", PORT: "0" });
  const overrides = { budgets: WITHOUT_END, leaveMs: 0, paymentWaits: PATIENT_PAYMENTS };
  const start = () => startApp(config, url, world.services.log, overrides);
  const [app, ...others] = [await start(), ...(isDouble ? [await start()] : [])];
  world.stripe.sendEventsTo(`${app.url}/billing/stripe-webhook`);
  const { database, services } = world;
  const sent: Message[] = [];
  const mailer = { send: async (message: Message) => void sent.push(message) };
  const outbox = { database, mailer, publicUrl: () => app.url, log: services.log, newId: services.newId };
  const lettersTo = async (email: string) => {
    while (await sendDueMails(outbox)) continue;
    return sent.filter(({ to }) => to === email).map((letter) => ({ ...letter, from: "", headers: new Map() }));
  };
  return {
    world,
    url: app.url,
    urls: [app, ...others].map((each) => each.url),
    schema: await graphqlSchema(),
    async codesTo(email) {
      const codes = (await lettersTo(email)).map((letter) => ({ code: codeIn(letter), long: longCodeIn(letter) }));
      return codes.filter(({ code }) => code !== "");
    },
    hasUser: async (email) => (await database.models.user.count({ where: { email } })) > 0,
    async tokenOf(invitationId, email) {
      for (const token of (await lettersTo(email)).map(tokenIn)) {
        const found = await database.models.invitationToken.findUnique({ where: { hash: sha256(token) } });
        if (found?.invitationId === invitationId) return token;
      }
      // It was deleted with its team at the same moment: no mail is sent any more.
      if (!(await database.models.invitation.findUnique({ where: { id: invitationId } }))) return "no-token";
      return noLetter(email);
    },
    async letTimePass(milliseconds) {
      for (const { table, columns, lists } of await timesOf(world)) {
        const moved = columns.map((column) => `"${column}" = "${column}" - $1 * interval '1 millisecond'`);
        for (const list of lists) {
          moved.push(`"${list}" = ARRAY(SELECT t - $1 * interval '1 millisecond' FROM unnest("${list}") t)`);
        }
        await database.pool.query(`UPDATE "${table}" SET ${moved.join(", ")}`, [milliseconds]);
      }
    },
    async unevenly(work) {
      proxy?.delay(true);
      try {
        return await work();
      } finally {
        proxy?.delay(false);
      }
    },
    async [Symbol.asyncDispose]() {
      for (const each of [app, ...others]) await each[Symbol.asyncDispose]();
      await proxy?.[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

/** The longest delay of a message. */
const DELAY_MAX_MS = 4;

/** A proxy that delays messages at random if it is told to, and keeps their order. */
async function startUnevenProxy(target: string) {
  let isDelaying = false;
  const proxy = await startTcpProxy(target, (near, far) => {
    endTogether(near, far);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      let before = Promise.resolve();
      const passOn = async (bytes: Buffer, earlier: Promise<void>) => {
        if (isDelaying) await sleep(Math.random() * DELAY_MAX_MS);
        await earlier;
        to.write(bytes);
      };
      from.on("data", (bytes) => void (before = passOn(bytes, before)));
    }
  });
  return { ...proxy, delay: (isWanted: boolean) => void (isDelaying = isWanted) };
}

function noLetter(email: string): never {
  throw new Disagreement(`No letter came to ${email}.`);
}

/** Tables whose times come from the payment provider's clock. */
const OTHERS_CLOCK = ["billing_account", "payment_event"];

interface Times {
  readonly table: string;
  readonly columns: readonly string[];
  readonly lists: readonly string[];
}

async function timesOf({ database }: StripeWorld): Promise<Times[]> {
  const { rows } = await database.pool.query<Times>(
    `SELECT table_name AS table,
       coalesce(array_agg(column_name::text) FILTER (WHERE data_type <> 'ARRAY'), '{}') AS columns,
       coalesce(array_agg(column_name::text) FILTER (WHERE data_type = 'ARRAY'), '{}') AS lists
     FROM information_schema.columns
     WHERE table_schema = 'public' AND udt_name IN ('timestamptz', '_timestamptz')
       AND table_name <> ALL($1) AND table_name NOT LIKE '\\_prisma%'
       -- A partition's rows are its table's.
       AND NOT (SELECT relispartition FROM pg_class WHERE oid = format('%I.%I', table_schema, table_name)::regclass)
     GROUP BY table_name ORDER BY table_name`,
    [OTHERS_CLOCK],
  );
  return rows;
}
