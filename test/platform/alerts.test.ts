import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";

const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;
if (!hasPromtool) console.error("promtool is not installed: the test of the alert rules is skipped.");

/** What Prometheus reads every 30 s, by series, as `first+step x times`. All other series are healthy. */
type Readings = Readonly<Record<string, string>>;

const WELL: Readings = {
  'up{job="memory-graph"}': "1x240",
  memory_graph_ready: "1x240",
  memory_graph_database_read_only: "0x240",
  'memory_graph_requests_total{door="rest",operation="memories",outcome="ok"}': "0+100x240",
  'memory_graph_chore_last_success_timestamp_seconds{chore="send mails"}': "0+30x240",
  'memory_graph_backlog_oldest_seconds{kind="mails",instance="one"}': "20x240",
  'memory_graph_database_waiting{pool="account"}': "100x240",
  'memory_graph_database_waiting{pool="replica-account"}': "100x240",
  'memory_graph_mails_total{outcome="sent"}': "0+1x240",
  'memory_graph_mails_total{outcome="refused"}': "0x240",
  memory_graph_log_errors_total: "0x240",
  memory_graph_embeddings_failed_total: "0x240",
  memory_graph_redis_fallbacks_total: "0x240",
  nodejs_eventloop_lag_p99_seconds: "0.02x240",
};
const failed = (outcome: string) => `memory_graph_requests_total{door="rest",operation="none",outcome="${outcome}"}`;
const mails = (outcome: string) => `memory_graph_mails_total{outcome="${outcome}"}`;
const took = (le: string) => `memory_graph_request_duration_seconds_bucket{door="rest",le="${le}"}`;
const lost = { memory_graph_ready: "1x20 0x220", [failed("unavailable")]: "0x20 0+90x220" };

/** Each fault, the minute in which Prometheus is asked, and exactly the alerts that fire then. */
const CASES: ReadonlyArray<readonly [fault: string, readings: Readings, minute: number, alerts: readonly string[]]> = [
  ["nothing", {}, 60, []],
  ["a server that is gone", { 'up{job="memory-graph"}': "1x20 0x220" }, 13, ["Down"]],
  ["a server that starts anew", { 'up{job="memory-graph"}': "1x20 0x2 1x200" }, 13, []],
  ["a lost database", lost, 14, ["NotReady", "Unavailable"]],
  ["a database that is lost for long", lost, 100, ["NotReady", "Unavailable"]],
  ["a lost database without requests", { memory_graph_ready: "1x20 0x220" }, 12, ["NotReady"]],
  ["a read-only database", { memory_graph_database_read_only: "0x20 1x220" }, 12, ["ReadOnly"]],
  ["a failover of half a minute", { memory_graph_database_read_only: "0x20 1x1 0x200" }, 12, []],
  ["the first error", { memory_graph_log_errors_total: "0x20 1x200" }, 11, ["Errors"]],
  ["an error that is long over", { memory_graph_log_errors_total: "0x20 1x200" }, 20, []],
  ["every fiftieth request with an error", { [failed("internal_error")]: "0+2x240" }, 20, ["Unavailable"]],
  ["every fiftieth request unavailable", { [failed("unavailable")]: "0+2x240" }, 20, ["Unavailable"]],
  ["an account that sends too much at once", { [failed("over_share")]: "0+50x240" }, 20, []],
  ["half a minute of outage", { [failed("unavailable")]: "0x20 100x200" }, 13, []],
  ["slow answers", { [took("1")]: "0+90x240", [took("2.5")]: "0+100x240", [took("+Inf")]: "0+100x240" }, 20, ["Slow"]],
  ["statements that wait", { 'memory_graph_database_waiting{pool="shared"}': "0x20 9x200" }, 30, ["DatabaseWaits"]],
  ["a minute of waiting", { 'memory_graph_database_waiting{pool="shared"}': "0x20 40x2 0x200" }, 22, []],
  ["old mails", { 'memory_graph_backlog_oldest_seconds{kind="mails",instance="two"}': "400x240" }, 6, ["Backlog"]],
  ["events that may wait longer", { 'memory_graph_backlog_oldest_seconds{kind="payment_events"}': "400x240" }, 6, []],
  ["refused addresses", { [mails("refused")]: "0+1x240" }, 60, ["MailsRefused"]],
  ["a few refused addresses", { [mails("refused")]: "0x100 4x140" }, 60, []],
  ["failing payments", { memory_graph_payments_failed_total: "0x20 0+1x200" }, 14, ["Payments"]],
  ["failing embeddings", { memory_graph_embeddings_failed_total: "0+1x240" }, 20, ["Embeddings"]],
  [
    "a job that fails",
    { 'memory_graph_chore_last_success_timestamp_seconds{chore="send mails"}': "0+30x20 600x220" },
    28,
    ["ChoreStuck"],
  ],
  ["a lost replica", { memory_graph_replica_failures_total: "0x20 0+3x200" }, 17, ["ReplicaLost"]],
  ["a lost Redis", { memory_graph_redis_fallbacks_total: "0x20 0+9x200" }, 17, ["RedisLost"]],
  ["a Redis that was lost for a minute", { memory_graph_redis_fallbacks_total: "0x20 9x2 18x200" }, 17, []],
  ["stalls of the event loop", { nodejs_eventloop_lag_max_seconds: "2x240" }, 6, ["EventLoop"]],
  ["one stall of the event loop", { nodejs_eventloop_lag_max_seconds: "0.1x8 2x1 0.1x200" }, 6, []],
  ["a busy event loop", { nodejs_eventloop_lag_p99_seconds: "0.4x240" }, 6, ["EventLoop"]],
];

function testRules(tests: readonly object[]) {
  const file = join(mkdtempSync(join(tmpdir(), "alerts-")), "tests.json");
  // JSON is YAML.
  const rules = { rule_files: [resolve("docs/monitoring/alerts.yml")], evaluation_interval: "30s", tests };
  writeFileSync(file, JSON.stringify(rules));
  return spawnSync("promtool", ["test", "rules", file], { encoding: "utf8" });
}

it("has a fault for each alert", () => {
  const rules = readFileSync("docs/monitoring/alerts.yml", "utf8").matchAll(/alert: MemoryGraph(\w+)/g);
  const raised = new Set(CASES.flatMap(([, , , alerts]) => alerts));
  expect(Array.from(rules, ([, name]) => name).toSorted()).toEqual([...raised].toSorted());
});

/** An alert, what Prometheus reads while it fires, and the words that its text must have then, the worst first. */
const TEXTS: ReadonlyArray<readonly [alert: string, readings: Readings, minute: number, words: string]> = [
  [
    "Unavailable",
    {
      [failed("unavailable")]: "0+9x240",
      'memory_graph_unavailable_total{why="busy"}': "0+1x240",
      'memory_graph_unavailable_total{why="slow"}': "0+8x240",
      'memory_graph_unavailable_total{why="lost"}': "0x240",
      // Of accounts that send too much at once, for which this alert does not fire.
      'memory_graph_unavailable_total{why="share"}': "0+90x240",
    },
    20,
    "the most frequent first: slow busy. The log",
  ],
  [
    "Slow",
    {
      [took("1")]: "0+90x240",
      [took("2.5")]: "0+100x240",
      [took("+Inf")]: "0+100x240",
      'memory_graph_waited_seconds_total{operation="memories",what="client"}': "0+900x240",
      'memory_graph_waited_seconds_total{operation="memories",what="turn"}': "0+1x240",
      'memory_graph_waited_seconds_total{operation="memories",what="lock"}': "0x240",
      'memory_graph_waited_seconds_total{operation="searchMemories",what="database"}': "0+40x240",
    },
    20,
    "the longest first: database (searchMemories) turn (memories). If",
  ],
];

it.skipIf(!hasPromtool)("names the cause in the text of an alert", () => {
  const tests = TEXTS.map(([alert, readings, minute]) => ({
    interval: "30s",
    input_series: Object.entries({ ...WELL, ...readings }).map(([series, values]) => ({ series, values })),
    // Promtool prints what it got instead.
    alert_rule_test: [{ eval_time: `${minute}m`, alertname: `MemoryGraph${alert}`, exp_alerts: [] }],
  }));

  const { stdout, stderr } = testRules(tests);

  for (const [, , , words] of TEXTS) expect(stdout + stderr).toContain(words);
});

it.skipIf(!hasPromtool)("raises the alerts of each fault while it lasts, and no others", () => {
  const tests = CASES.map(([name, readings, minute, alerts]) => ({
    name,
    interval: "30s",
    input_series: Object.entries({ ...WELL, ...readings }).map(([series, values]) => ({ series, values })),
    promql_expr_test: [
      {
        expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: `${minute}m`,
        exp_samples: alerts.map((alert) => ({ labels: `{alertname="MemoryGraph${alert}"}`, value: 1 })),
      },
    ],
  }));

  const { status, stdout, stderr } = testRules(tests);

  expect(status, `${stdout}${stderr}`).toBe(0);
});
