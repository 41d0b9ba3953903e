import { join, resolve } from "node:path";
import { type RunningApp, startApp } from "./app.js";
import { forOperator } from "./commands/for-operator.js";
import { type Config, assertBillingWhole } from "./config.js";
import { configOfProcess } from "./environment.js";
import { demoKey } from "./features/access/index.js";
import { LIMITS } from "./limits.js";
import { openDataFolder } from "./platform/data-folder.js";
import { createLogger } from "./platform/logger.js";
import { migrate } from "./platform/migrations.js";
import { StartError } from "./platform/start-error.js";

/** Starts the service by the environment and serves until SIGTERM or SIGINT. */
async function main(): Promise<void> {
  const config = configOfProcess();
  assertBillingWhole(config);
  // From now on, so that a signal during the start lets it come to an end in good order.
  const signal = stopSignal();
  await using log = createLogger(config.logLevel, { buffered: !config.development });
  await using ground = await openDataFolder(config, { log });
  const applied = await migrate(ground.databaseUrl, (message) => console.error(message));
  for (const name of applied) log.info({ migration: name }, "migration applied");
  await using standIn = await standInFor(config);
  await using app = await startApp({ ...config, ...standIn?.settings }, () => ground.databaseUrl, log);
  standIn?.sendEventsTo(`${app.url}/billing/stripe-webhook`);
  await announce(config, app, standIn?.url);
  const reason = await Promise.race([signal, ground.lost]);
  if (reason instanceof Error) throw reason;
  log.info({ signal: reason }, "stopping: finishing what runs");
}

/** In development something stands in for Stripe, unless there is a key to an account. It is no part of production. */
async function standInFor({ development, stripeSecretKey, dataDir }: Config) {
  if (!development || stripeSecretKey !== undefined) return undefined;
  const { startStandInStripe } = await import("./stand-in/stripe/index.js");
  const stateFile = join(dataDir, "stand-in-stripe.json");
  const standIn = await startStandInStripe({ stateFile }).catch((error: unknown) => {
    if (!(error instanceof SyntaxError)) throw error;
    throw new StartError(`What the stand-in for Stripe knows, ${stateFile}, is damaged: delete it, then start again.`);
  });
  const settings = {
    stripeSecretKey: standIn.secretKey,
    stripeWebhookSecret: standIn.webhookSecret,
    stripePriceId: standIn.priceId,
    stripeApiBase: standIn.url,
  };
  return {
    url: standIn.url,
    settings,
    sendEventsTo: (url: string) => standIn.sendEventsTo(url),
    [Symbol.asyncDispose]: () => standIn[Symbol.asyncDispose](),
  };
}

/** Tells a newcomer where to look and with which key; in production, whoever reads logs. */
async function announce(config: Config, app: RunningApp, payments: string | undefined): Promise<void> {
  const url = config.publicUrl ?? app.url;
  if (!config.development) {
    console.log(`Memory Graph Gateway listens on ${app.url}`);
    return;
  }
  const key = await demoKey(app.services, config.dataDir);
  const database = config.databaseUrl ? "the one in DATABASE_URL" : `embedded, in ${resolve(config.dataDir)}`;
  const page = (path: string) => `${url}${path.padEnd("/docs/limits".length)}`;
  const mails = config.smtpUrl ? "handed in at SMTP_URL" : `files in ${resolve(config.dataDir, "mail")}`;
  console.log(`
  Memory Graph Gateway

  Address     ${url}
  Playground  ${page("/graphql")}  to try GraphQL in a browser
  Reference   ${page("/docs")}  every REST route
  Limits      ${page("/docs/limits")}  what bounds a request
  Database    ${database}
  Mails       ${mails}
  Payments    ${payments === undefined ? "Stripe" : `a stand-in for Stripe, ${payments}: charges no card`}
  Key         ${key}  (a demo user's)

  Playground and reference ask for the key. In another terminal, store a memory:

  curl -s ${url}/v1/memories \\
    -H 'Authorization: Bearer ${key}' \\
    -H 'Content-Type: application/json' \\
    -d '{"type": "fix", "title": "Retry", "content": "Wait longer each time."}'

  or see everything it does, step by step, each request with its answer:

  npm run tour${tourOptions(config, url)}

  Ctrl-C stops the service.
`);
}

/** What the tour must be told where it would look elsewhere: it knows nothing of this process's environment. */
function tourOptions({ dataDir }: Config, url: string): string {
  const options = [
    ...(url === "http://127.0.0.1:4000" ? [] : [`--url ${url}`]),
    ...(resolve(dataDir) === resolve(".data") ? [] : [`--data-dir ${resolve(dataDir)}`]),
  ];
  return options.length === 0 ? "" : ` -- ${options.join(" ")}`;
}

/** Resolves at the first signal to stop; from then on the process ends in time, and at a second signal at once. */
function stopSignal(): Promise<NodeJS.Signals> {
  const { wholeMs, echoMs } = LIMITS.stop;
  return new Promise((resolve) => {
    let firstAt: number | undefined;
    const onSignal = (signal: NodeJS.Signals): void => {
      // A terminal and npm may both pass on the same Ctrl-C, and the second must not cut the stop short.
      if (firstAt !== undefined && performance.now() - firstAt > echoMs) dieAtOnce();
      if (firstAt !== undefined) return;
      firstAt = performance.now();
      setTimeout(dieAtOnce, wholeMs).unref();
      resolve(signal);
    };
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, onSignal);
  });
}

/** Nothing can hold this up: no handler of an exit, no full pipe. The embedded PostgreSQL is joined by the next start. */
const dieAtOnce = (): void => void process.kill(process.pid, "SIGKILL");

try {
  await main();
} catch (error) {
  console.error(forOperator(error));
  process.exitCode = 1;
}
// All is closed by now; what a peer keeps open must not keep the process.
setTimeout(() => process.exit(), 500).unref();
