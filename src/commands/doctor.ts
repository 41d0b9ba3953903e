import "reflect-metadata";
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../config.js";
import { configOfProcess } from "../environment.js";
import { EXIT, JSON_OPTION, commandLine, runCommand } from "./command-line.js";
import { checkDatabase, checkPooler, checkReplica } from "./doctor/database.js";
import { checkDisk } from "./doctor/disk.js";
import { checkEmbeddings } from "./doctor/embeddings.js";
import { checkMail } from "./doctor/mail.js";
import { Problem } from "./doctor/problem.js";
import { checkPublicAddress } from "./doctor/public-address.js";
import { checkRedis } from "./doctor/redis.js";
import { checkStripe } from "./doctor/stripe.js";
import { checkTelemetry } from "./doctor/telemetry.js";
import { sentenceFor } from "./for-operator.js";
import { tableOf } from "./table.js";

export const program = commandLine({
  script: "doctor",
  description:
    "Looks at everything that the service needs, and says what is wrong and what to do: configuration, database, its " +
    "upkeep and migrations, pooler, replica, clock, Redis, mail server, Stripe, collector of traces, embeddings, " +
    "public address, disk. It changes nothing.",
  examples: [
    "npm run doctor",
    "NODE_ENV=production DATABASE_URL=… npm run doctor",
    "npm run --silent doctor -- --json",
  ],
  notes: "It reads the same variables as the service. Run it where the service runs, as the same user.",
});

program.option(...JSON_OPTION).action(async ({ json }: { json?: true }) => {
  const findings = await examine();
  if (json) console.log(JSON.stringify({ findings }));
  else
    console.log(
      tableOf(
        ["PART", "STATE", "FINDING"],
        findings.map(({ part, state, says }) => [part, state, says]),
      ),
    );
  if (findings.some(({ state }) => state === "wrong")) process.exitCode = EXIT.failed;
});

interface Finding {
  readonly part: string;
  /** `off`: it is not configured, and the service works without it. */
  readonly state: "ok" | "off" | "wrong";
  readonly says: string;
}

/** Says in a sentence that its part works; `undefined` if the part is not configured. Throws if something is wrong. */
type Check = (config: Config) => Promise<string | undefined>;

const CHECKS: Readonly<Record<string, { readonly check: Check; readonly without: string }>> = {
  database: { check: checkDatabase, without: "" },
  pooler: { check: checkPooler, without: "DIRECT_DATABASE_URL is not set: DATABASE_URL leads to PostgreSQL itself." },
  replica: { check: checkReplica, without: "DATABASE_REPLICA_URL is not set: all is read from the primary." },
  redis: { check: checkRedis, without: "REDIS_URL is not set: each server counts rate limits for itself." },
  mail: { check: checkMail, without: "SMTP_URL is not set: mails wait, or in development become files." },
  stripe: {
    check: checkStripe,
    without: "STRIPE_SECRET_KEY is not set: no seats are sold, or in development at a stand-in.",
  },
  telemetry: {
    check: checkTelemetry,
    without: "OTEL_EXPORTER_OTLP_ENDPOINT is not set: no traces and no logs are sent to a collector.",
  },
  embeddings: { check: checkEmbeddings, without: "EMBEDDINGS_URL is not set: memories are found by words alone." },
  "public address": {
    check: checkPublicAddress,
    without: "PUBLIC_URL is not set: links begin with the server's own address.",
  },
  disk: { check: checkDisk, without: "" },
};

async function examine(): Promise<readonly Finding[]> {
  let config: Config;
  try {
    config = configOfProcess({ wholeBilling: true });
  } catch (error) {
    return [{ part: "configuration", state: "wrong", says: sentenceFor(error).replaceAll(/\s+/g, " ") }];
  }
  const findings = Object.entries(CHECKS).map(([part, { check, without }]) =>
    examinePart(part, check(config), without),
  );
  return [{ part: "configuration", state: "ok", says: "All variables can be used." }, ...(await Promise.all(findings))];
}

/** How long one part may take to answer. */
const ANSWER_MS = 15_000;

/** An error of OpenSSL, which ends a line. Only its reason tells people something. */
const OPENSSL = /(?:write EPROTO )?[\dA-F]+:error:[^:]*:SSL routines:[^:]*:([^:]+):[^:]*:\d+:\s*/;

async function examinePart(part: string, answer: Promise<string | undefined>, without: string): Promise<Finding> {
  const over = new AbortController();
  const late = sleep(ANSWER_MS, undefined, { signal: over.signal }).then(() => {
    throw new Problem(`There is no answer within ${ANSWER_MS / 1_000} s.`);
  });
  late.catch(() => {});
  try {
    const says = await Promise.race([answer, late]);
    return says === undefined ? { part, state: "off", says: without } : { part, state: "ok", says };
  } catch (error) {
    const says = error instanceof Problem ? error.message : sentenceFor(error);
    return { part, state: "wrong", says: says.replace(OPENSSL, "TLS fails: $1") };
  } finally {
    over.abort();
  }
}

await runCommand(program, import.meta.url);
