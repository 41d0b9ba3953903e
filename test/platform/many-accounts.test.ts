import { expect, it } from "vitest";
import { choresOf } from "../../src/chores.js";
import { readConfig } from "../../src/config.js";
import { Meaning } from "../../src/platform/meaning/meaning.js";
import { createMailer } from "../../src/platform/mailer.js";
import { operations } from "../../src/operations.js";
import { createStripeWorld } from "../support/billing.js";
import { startEmbeddingsServer } from "../support/embeddings-server.js";
import { exampleInput, thingsOf } from "../support/examples.js";
import { fillInstallation } from "../support/installation.js";
import { PATIENT } from "../support/meaning.js";
import { everythingRead } from "../support/rows-read.js";

/** Users, teams and graphs, and the rows of every other table. */
const MANY = 10_000;
/** The most rows and entries of indexes that may be read by one run of a job, or by one operation. */
const READ_MAX = 1_200;
/** How often each job runs. PostgreSQL plans the first five executions for their values, and then decides. */
const TIMES = 7;

/** Jobs that read all rows of a table, and why that is little. */
const READ_ALL: Readonly<Record<string, string>> = {
  "reconcile billing": "An account is due for one of many reasons: 20,000 accounts take 15 ms.",
  "forget billing accounts": "The same accounts, once a minute.",
  "forget mails": "Mails wait only while the mail server is down: 200,000 take 0.1 s, once a minute.",
};

/** A world with a payment provider, a mail server and an embeddings server, and many other users. */
async function fillWorld(isAnalyzed: boolean) {
  const server = await startEmbeddingsServer();
  const meaning = new Meaning(server.client(), undefined, PATIENT);
  const world = await createStripeWorld({ fresh: true, meaning, billing: { freeSeats: 50 } });
  expect(await fillInstallation(world, MANY), "Fill these tables in `fillInstallation`.").toEqual([]);
  if (isAnalyzed) await world.database.pool.query("ANALYZE");
  return {
    world,
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

it.each([
  { state: "that were analyzed", isAnalyzed: true },
  { state: "without statistics", isAnalyzed: false },
])(
  "reads few rows in each background job that has at most one mail to send, of many accounts $state",
  async (state) => {
    await using at = await fillWorld(state.isAnalyzed);
    const { world } = at;
    const config = readConfig({ SMTP_URL: "smtp://127.0.0.1:9", MAIL_FROM: "service@example.com" });
    const mailer = await createMailer(config, world.services.log);

    const much: string[] = [];
    for (const { name, run } of choresOf(config, world.services, mailer)) {
      // Once a minute, a job counts the mails that wait because they cannot be sent.
      await run();
      const read: number[] = [];
      for (let times = 0; times < TIMES; times++) {
        await world.database.pool.query("UPDATE mail SET due_at = now() WHERE id = (SELECT id FROM mail LIMIT 1)");
        const before = await everythingRead(world);
        await run();
        read.push((await everythingRead(world)) - before);
      }
      if (Math.max(...read) > READ_MAX && !(name in READ_ALL)) much.push(`${name} ${read.join(" ")}`);
    }

    expect(much, `Read at most ${READ_MAX} rows: use an index, in its order.`).toEqual([]);
  },
);

it.each([
  { state: "that were analyzed", isAnalyzed: true },
  { state: "without statistics", isAnalyzed: false },
])("reads few rows in each operation of one user, beside many accounts $state", async ({ isAnalyzed }) => {
  await using at = await fillWorld(isAnalyzed);
  const { world } = at;

  const much: string[] = [];
  for (const operation of operations) {
    const actor = await world.user();
    const input = exampleInput(operation, await thingsOf(world, actor, operation));
    const before = await everythingRead(world);
    await actor.did<object, object>(operation, input);
    const read = (await everythingRead(world)) - before;
    if (read > READ_MAX) much.push(`${operation.name} ${read}`);
  }

  expect(much, `Read at most ${READ_MAX} rows: use an index.`).toEqual([]);
});
