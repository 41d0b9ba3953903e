import { type Chance, capital, chanceOf, oneOf, whole } from "../bench/text.js";
import type { LabelledMemory } from "./labelled.js";

const words = (list: string): readonly string[] => list.trim().split(/\s*,\s*/);

const TOOLS =
  words(`Postgres, Redis, Kafka, RabbitMQ, nginx, Envoy, Kubernetes, Docker, Helm, Terraform, Ansible, Jenkins,
  GitHub Actions, GitLab, Prometheus, Grafana, Loki, Elasticsearch, ClickHouse, DynamoDB, MongoDB, MySQL, SQLite, S3,
  Lambda, Cloudflare, Fastly, React, Vue, Svelte, Next.js, Vite, webpack, TypeScript, Node, Deno, Bun, Python, Django,
  Flask, FastAPI, Rails, Sidekiq, Go, gRPC, Rust, tokio, Java, Spring, Gradle, Kotlin, Swift, Flutter, GraphQL, Apollo,
  Prisma, Knex, Stripe, Twilio, SendGrid, Auth0, Okta, Keycloak, Vault, Consul, etcd, ZooKeeper, Airflow, dbt, Spark,
  Snowflake, BigQuery, Playwright, Cypress, Jest, Vitest, pytest, Storybook, Sentry, Datadog, OpenTelemetry, Jaeger`);
const PARTS = words(`connection pool, login form, session cookie, upload handler, search page, checkout, invoice job,
  webhook, message queue, background worker, cache layer, rate limiter, feature flag, deployment, rollout, migration,
  schema, primary key, foreign key, index, replica, backup, restore, certificate, secret, token refresh, password reset,
  email template, push notification, export, import, report, dashboard, alert rule, health check, load balancer, ingress,
  service mesh, container image, build cache, test suite, flaky test, snapshot, fixture, mock server, linter, formatter,
  type checker, lock file, dependency, package registry, monorepo, release branch, changelog, code review, pull request,
  audit log, permission check, tenant filter, billing run, subscription, refund, tax rule, currency conversion, time zone,
  date picker, data grid, file tree, editor, parser, tokenizer, stream, socket, retry policy, circuit breaker, timeout,
  event loop, memory leak, garbage collection, thread pool, scheduler, cron job, leader election, consensus, partition`);
const TROUBLES =
  words(`fails, times out, is slow, leaks memory, loses messages, shows stale data, runs twice, never ends,
  blocks everything, returns 500, returns an empty list, crashes, restarts, hangs, deadlocks, runs out of disk, duplicates
  rows, drops requests, ignores the setting, breaks on Safari, cannot be resolved, refuses the connection, is rejected,
  overflows, flickers, loops, is not found, expires too early, cannot be decoded, sorts wrongly, grows without end`);
const TIMES = words(`after the upgrade, under load, on Mondays, during a deploy, at midnight, in production, in staging,
  on the new cluster, when two users save at once, with large files, behind the proxy, on slow networks, after a restart,
  once the cache is cold, for one customer, in the nightly run, on the first request, since the last release, in CI,
  when the clock changes, without any error, for admins only, on mobile, in the sandbox, with an old client`);
const CURES =
  words(`pinned the version, raised the limit, added an index, moved it to a worker, set a timeout, retried with
  backoff, split the batch, warmed the cache, rotated the key, dropped the constraint, wrote a script, turned the flag off,
  rolled back, added a test, documented the steps, opened a ticket upstream, changed the default, replaced the library,
  reduced the payload, made it idempotent, logged the reason, alerted on it, limited concurrency, used a transaction,
  locked the row, made the key longer, cleaned old rows, switched the region, renewed it by hand, asked the vendor`);
const REASONS =
  words(`the header was missing, two settings contradict each other, the default changed, a lock was held too
  long, nobody owned it, the disk was full, the name was misspelt, the order is not guaranteed, it was never tested, the
  proxy buffers answers, the driver caches plans, the clock drifts, the library swallows errors, retries pile up, the quota
  is shared, DNS answers are cached, the index was not used, strings are compared by bytes, the token has no audience`);
const PEOPLE = words("Mara, Ilse, Tom, Priya, Chen, Olu, Sofia, Nils, Aiko, Pavel, Rosa, Dev, Anouk, Karim");
const TYPES = [
  "problem",
  "solution",
  "error",
  "fix",
  "decision",
  "code_pattern",
  "task",
  "workflow",
  "command",
  "general",
];

const pick = (chance: Chance, list: readonly string[]): string => oneOf(chance, list);

/** A name as it appears in code. */
function identifier(chance: Chance): string {
  const parts = [pick(chance, PARTS), pick(chance, ["get", "load", "handle", "on", "make", "is"])]
    .join(" ")
    .split(" ")
    .reverse();
  const style = whole(chance, 4);
  if (style === 0) return parts.map((part, place) => (place === 0 ? part : capital(part))).join("");
  if (style === 1) return parts.join("_").toUpperCase();
  if (style === 2) return `src/${parts.join("-")}.ts`;
  return `${parts.join("_")}_${whole(chance, 1_000)}`;
}

const SENTENCES: ReadonlyArray<(chance: Chance) => string> = [
  (c) => `The ${pick(c, PARTS)} ${pick(c, TROUBLES)} ${pick(c, TIMES)}.`,
  (c) => `We ${pick(c, CURES)} because ${pick(c, REASONS)}.`,
  (c) => `${pick(c, PEOPLE)} ${pick(c, CURES)} in ${pick(c, TOOLS)}; see ${identifier(c)}.`,
  (c) => `With ${pick(c, TOOLS)} ${whole(c, 30)}.${whole(c, 20)} the ${pick(c, PARTS)} ${pick(c, TROUBLES)}.`,
  (c) => `Error ${1_000 + whole(c, 9_000)}: the ${pick(c, PARTS)} ${pick(c, TROUBLES)}, since ${pick(c, REASONS)}.`,
  (c) => `Never do it ${pick(c, TIMES)}: ${pick(c, REASONS)}.`,
  (c) => `It took ${2 + whole(c, 90)} minutes and ${pick(c, PEOPLE)} to see that ${pick(c, REASONS)}.`,
  (c) => `Call ${identifier(c)} before the ${pick(c, PARTS)} is touched.`,
];

const TITLES: ReadonlyArray<(chance: Chance) => string> = [
  (c) => `${capital(pick(c, PARTS))} ${pick(c, TROUBLES)} ${pick(c, TIMES)}`,
  (c) => `${pick(c, TOOLS)}: ${pick(c, PARTS)} ${pick(c, TROUBLES)}`,
  (c) => `How we ${pick(c, CURES)} for the ${pick(c, PARTS)}`,
  (c) => `${identifier(c)} ${pick(c, TROUBLES)}`,
  (c) => `${pick(c, TOOLS)} instead of ${pick(c, TOOLS)} for the ${pick(c, PARTS)}`,
  (c) => `Notes on the ${pick(c, PARTS)} with ${pick(c, TOOLS)}`,
];

/** Notes of other users in the same field: the same numbers give the same texts. */
export function stranger(index: number): LabelledMemory {
  const chance = chanceOf(77, index);
  const content = Array.from({ length: 2 + whole(chance, 5) }, () => oneOf(chance, SENTENCES)(chance)).join(" ");
  const tags = [pick(chance, TOOLS), pick(chance, PARTS).split(" ").at(-1) ?? ""].map((tag) => tag.toLowerCase());
  return {
    id: `stranger${index}`,
    type: oneOf(chance, TYPES),
    title: oneOf(chance, TITLES)(chance),
    content,
    tags: [...new Set(tags)],
    importance: whole(chance, 11) / 10,
  };
}
