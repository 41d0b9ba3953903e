import { join, resolve } from "node:path";
import { type RunningApp, startApp } from "./app.js";
import { firstRequest, npmCommand } from "./commands/first-request.js";
import { forOperator } from "./commands/for-operator.js";
import { quote } from "./commands/quote.js";
import type { Config } from "./config.js";
import { configOfProcess } from "./environment.js";
import { prepareDemoKey } from "./features/access/index.js";
import { LIMITS } from "./limits.js";
import { ACCOUNT_PATH } from "./operation/product.js";
import { CannotStart } from "./platform/embedded/index.js";
import { openDataFolder, variableOf } from "./platform/data-folder.js";
import { type Logger, createLogger } from "./platform/telemetry/logger.js";
import { migrate } from "./platform/database/migrations.js";
import { reportPauses } from "./platform/telemetry/report-pauses.js";
import { StartError } from "./platform/start-error.js";
import { optimizeWasmLate } from "./platform/wasm-tiering.js";
import { giveMemoryBack } from "./platform/young-memory.js";

/** Starts the service with the settings in the environment, and serves until SIGTERM, SIGINT or SIGHUP. */
async function main(signal: Promise<NodeJS.Signals>): Promise<void> {
  optimizeWasmLate();
  const config = configOfProcess({ wholeBilling: true });
  await using telemetry = await telemetryOf(config);
  await using log = createLogger(config.logLevel, { buffered: !config.development, also: telemetry?.writeLog });
  telemetry?.complainTo(log);
  logForgottenRejections(log);
  if (!config.development) openNoDebugger(log);
  await using dataFolder = await openDataFolder(config, { log });
  const tell = (message: string) => console.error(message);
  const applied = await migrate(dataFolder.databaseUrl, { variable: variableOf(config), tell, warn: tell });
  if (applied.length > 0) log.info({ count: applied.length, newest: applied.at(-1) }, "migrations applied");
  await using standIn = await standInFor(config);
  const { tracer } = telemetry ?? {};
  const { directDatabaseUrl, databaseUrl } = config;
  const url = directDatabaseUrl === undefined ? undefined : databaseUrl;
  const settings = { ...config, ...standIn?.settings };
  await using app = await startApp(settings, url ?? (() => dataFolder.databaseUrl), log, { tracer });
  await standIn?.sendEventsTo(`${app.url}/billing/stripe-webhook`);
  await announce(config, app, standIn?.url);
  using _memory = giveMemoryBack(app.wasQuiet);
  using _pauses = reportPauses(log);
  const reason = await Promise.race([signal, dataFolder.lost]);
  if (reason instanceof Error) throw reason;
  log.info({ signal: reason }, "stopping: finishing running requests");
}

/**
 * A rejected promise that nothing waits for would end the process, and with it everybody's requests, so it is only
 * logged. An error that is thrown where nothing catches it still ends the process: its state is unknown then.
 */
function logForgottenRejections(log: Logger): void {
  process.on("unhandledRejection", (err) => log.error({ err }, "a promise that nothing waits for was rejected"));
}

/**
 * Some tools send SIGUSR1 to let a service open its log again. By default Node then opens its debugger, by which every
 * user of this machine could run code as the service's user.
 */
function openNoDebugger(log: Logger): void {
  process.on("SIGUSR1", () => log.warn("SIGUSR1 does nothing here: in production no debugger is opened"));
}

/** OpenTelemetry is loaded only where it is configured. */
async function telemetryOf({ telemetry }: Config) {
  if (!telemetry) return undefined;
  const { startTelemetry } = await import("./platform/telemetry/telemetry.js");
  return startTelemetry(telemetry);
}

/**
 * In development a stand-in replaces Stripe, unless a key of an account is set. Production never loads it. Servers with
 * one data folder, which have a database of their own, share the stand-in of the first.
 */
async function standInFor({ development, stripeSecretKey, dataDir }: Config) {
  if (!development || stripeSecretKey !== undefined) return undefined;
  const { shareStandIn } = await import("./stand-in/stripe/shared.js");
  const stateFile = join(dataDir, "stand-in-stripe.json");
  const standIn = await shareStandIn(stateFile).catch((error: unknown) => {
    if (!(error instanceof SyntaxError)) throw error;
    throw new StartError(`The file of the stand-in for Stripe, ${stateFile}, is damaged: delete it, then start again.`);
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
    sendEventsTo: async (url: string) => standIn.sendEventsTo(url),
    [Symbol.asyncDispose]: () => standIn[Symbol.asyncDispose](),
  };
}

/** Prints the addresses and a key for developers; in production only the address. */
async function announce(config: Config, app: RunningApp, payments: string | undefined): Promise<void> {
  const url = config.publicUrl ?? app.url;
  if (!config.development) {
    const where = app.isOnAll ? `all addresses of this machine, such as ${app.url}` : app.url;
    console.log(`Memory Graph Gateway listens on ${where}`);
    if (app.metricsUrl !== undefined) console.log(`Metrics are at ${app.metricsUrl}`);
    return;
  }
  const key = await prepareDemoKey(app.services, config.dataDir);
  const database = config.databaseUrl ? "the one in DATABASE_URL" : `embedded, in ${resolve(config.dataDir)}`;
  const page = (path: string) => `${url}${path.padEnd("/docs/limits".length)}`;
  const mails = config.smtpUrl ? "sent to SMTP_URL" : `files in ${resolve(config.dataDir, "mail")}`;
  console.log(`
  Memory Graph Gateway

  Address     ${url}${app.isOnAll && config.publicUrl === undefined ? "  and all others of this machine" : ""}
  Playground  ${page("/graphql")}  to try GraphQL in a browser
  Reference   ${page("/docs")}  every REST route
  Team        ${page(ACCOUNT_PATH)}  to invite people and buy seats
  Agents      ${page("/mcp")}  to connect agents by MCP
  Limits      ${page("/docs/limits")}  the limits of a request${app.metricsUrl === undefined ? "" : `\n  Metrics     ${app.metricsUrl}`}
  Database    ${database}
  Mails       ${mails}
  Payments    ${payments === undefined ? "Stripe" : `a stand-in for Stripe, ${payments}, no real payments`}
  Key         ${key}  (of a demo user)

  Use the key in the playground and the reference, or in another terminal:

  ${firstRequest(url, key)}

  or see a tour of the main features, each request with its answer:

  ${npmCommand()} run tour${tourOptions(config, app.url)}

  Ctrl-C stops the service.
`);
}

/**
 * The options that the tour needs if this server differs from its defaults: it does not know this environment. It is run
 * on this machine, whatever the public address, since it knows the demo user's key only there.
 */
function tourOptions({ dataDir }: Config, url: string): string {
  const options = [
    ...(url === "http://127.0.0.1:4000" ? [] : [`--url ${quote(url)}`]),
    ...(resolve(dataDir) === resolve(".data") ? [] : [`--data-dir ${quote(resolve(dataDir))}`]),
  ];
  return options.length === 0 ? "" : ` -- ${options.join(" ")}`;
}

/**
 * Resolves at the first signal; SIGHUP comes when the terminal is closed. Then the process ends within
 * `LIMITS.stop.wholeMs`, and at a second signal at once.
 */
function stopSignal(): Promise<NodeJS.Signals> {
  const { wholeMs, echoMs } = LIMITS.stop;
  return new Promise((resolve) => {
    let firstAt: number | undefined;
    const onSignal = (signal: NodeJS.Signals): void => {
      // The terminal and npm may both send the same Ctrl-C; the second must not end the shutdown early.
      if (firstAt !== undefined && performance.now() - firstAt > echoMs) killAtOnce();
      if (firstAt !== undefined) return;
      firstAt = performance.now();
      setTimeout(killAtOnce, wholeMs).unref();
      resolve(signal);
    };
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, onSignal);
  });
}

/** SIGKILL, so that no exit handler and no full pipe delays it. The next start joins the embedded PostgreSQL. */
const killAtOnce = (): void => void process.kill(process.pid, "SIGKILL");

async function serve(): Promise<void> {
  // Registered first, so that a signal during the start also leads to a graceful shutdown.
  const signal = stopSignal();
  let isStopped = false;
  void signal.then(() => (isStopped = true));
  try {
    await main(signal);
  } catch (error) {
    // Ctrl-C in a terminal also ends the programs that create the database.
    if (isStopped && error instanceof CannotStart) return console.error("The service was stopped while it started.");
    console.error(forOperator(error));
    process.exitCode = 1;
  }
}

/** Shows the help, or refuses the arguments. */
async function explain(words: readonly string[]): Promise<void> {
  const [{ runProcess }, { program }] = await Promise.all([
    import("./commands/command-line.js"),
    import("./commands/start.js"),
  ]);
  await runProcess(program, words);
}

const words = process.argv.slice(2);
await (words.length > 0 ? explain(words) : serve());
// Everything is closed by now; a connection that a peer keeps open must not keep the process running.
setTimeout(() => process.exit(), 500).unref();
