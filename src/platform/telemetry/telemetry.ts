import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Attributes,
  DiagLogLevel,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer as SpanMaker,
  defaultTextMapGetter,
  diag,
  trace,
} from "@opentelemetry/api";
import { type AnyValueMap, SeverityNumber } from "@opentelemetry/api-logs";
import { type ExportResult, ExportResultCode, W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPLogExporter as JsonLogExporter } from "@opentelemetry/exporter-logs-otlp-http";
import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-proto";
import { OTLPTraceExporter as JsonTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { type Resource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { sqlStateOf } from "../database/database-errors.js";
import type { Logger } from "./logger.js";
import type { RequestSpan, SpanFacts, TracedPart, Tracer } from "./tracer.js";
import { warnSeldom } from "./warn-seldom.js";

/** What is sent to the collector, and how. */
export interface TelemetryConfig {
  readonly traces: Protocol | undefined;
  readonly logs: Protocol | undefined;
}

type Protocol = "http/protobuf" | "http/json";

const traceExporter = (protocol: Protocol, options = {}) =>
  protocol === "http/json" ? new JsonTraceExporter(options) : new OTLPTraceExporter(options);
const logExporter = (protocol: Protocol, options = {}) =>
  protocol === "http/json" ? new JsonLogExporter(options) : new OTLPLogExporter(options);

/** Sends traces and logs in the background. */
export interface Telemetry extends AsyncDisposable {
  readonly tracer: Tracer | undefined;
  /** Takes each line of the log. */
  readonly writeLog: ((line: string) => void) | undefined;
  /** Says in the log, at most once a minute, that something could not be sent. */
  complainTo(log: Logger): void;
}

const NAME = "memory-graph-gateway";
/** How long the shutdown waits for the last spans and lines to be sent. */
const LAST_MS = 2_000;
const REASON_LENGTH = 300;
const NOT_SENT = "telemetry could not be sent. `npm run doctor` says what to do";

/**
 * Starts OpenTelemetry. Its packages read their settings from the environment themselves: endpoint, headers, sampler,
 * the size of the queues. A full queue drops new items, so a slow or dead collector has no other effect.
 */
export function startTelemetry({ traces, logs }: TelemetryConfig): Telemetry {
  const ours = resourceFromAttributes({ "service.name": NAME, "service.instance.id": randomUUID() });
  const resource = ours.merge(detectResources({ detectors: [envDetector] }));
  const spans = traces && startTracing(resource, traces);
  const lines = logs && startLogging(resource, logs);
  return {
    tracer: spans?.tracer,
    writeLog: lines?.write,
    complainTo(log) {
      const tell = (...told: unknown[]) => {
        // Many collectors answer with something else than the standard says.
        if (told.some((part) => String(part).startsWith("Export succeeded"))) return;
        const reason = told.map((part) => reasonIn(String(part))).join(" ");
        warnSeldom(log, "telemetry", { reason: reason.slice(0, REASON_LENGTH) }, NOT_SENT);
      };
      const ignore = () => {};
      diag.setLogger({ error: tell, warn: tell, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN);
    },
    async [Symbol.asyncDispose]() {
      const sent = Promise.allSettled([spans?.shutdown(), lines?.shutdown()]);
      await Promise.race([sent, sleep(LAST_MS, undefined, { ref: false })]);
      diag.disable();
    },
  };
}

/** The packages tell of an error by all its properties as JSON, the stack first; of anything else by texts. */
function reasonIn(told: string): string {
  try {
    const { message, code } = JSON.parse(told) as { message?: string; code?: string };
    return message ?? code ?? told;
  } catch {
    return told;
  }
}

/** How long a collector may take to answer an empty request. */
const TRIED_MS = 5_000;

/**
 * Sends an empty request for each signal that is exported, as the service sends its own.
 * @returns for each signal that the collector does not take, why; its own words may follow.
 */
export async function tryCollector({ traces, logs }: TelemetryConfig): Promise<Map<"traces" | "logs", Error>> {
  const options = { timeoutMillis: TRIED_MS };
  const exporters = [
    ...(traces ? [["traces", traceExporter(traces, options)] as const] : []),
    ...(logs ? [["logs", logExporter(logs, options)] as const] : []),
  ];
  const problems = new Map<"traces" | "logs", Error>();
  await Promise.all(
    exporters.map(async ([signal, exporter]) => {
      const { error, code } = await new Promise<ExportResult>((resolve) => {
        exporter.export([], resolve);
      });
      if (code === ExportResultCode.FAILED) problems.set(signal, error ?? new Error("it refuses"));
      await exporter.shutdown();
    }),
  );
  return problems;
}

function startTracing(resource: Resource, protocol: Protocol) {
  const provider = new BasicTracerProvider({
    resource,
    spanProcessors: [new BatchSpanProcessor(traceExporter(protocol))],
  });
  return { tracer: new Spans(provider.getTracer(NAME)), shutdown: () => provider.shutdown() };
}

class Spans implements Tracer {
  readonly #present = new AsyncLocalStorage<Span>();
  readonly #propagator = new W3CTraceContextPropagator();

  constructor(private readonly make: SpanMaker) {}

  request(headers: Parameters<Tracer["request"]>[0]): RequestSpan {
    const context = this.#propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);
    const span = this.make.startSpan("request", { kind: SpanKind.SERVER }, context);
    const { traceId, spanId, traceFlags } = span.spanContext();
    return {
      ids: { trace_id: traceId, span_id: spanId, trace_flags: traceFlags.toString(16).padStart(2, "0") },
      // A request that is not sampled needs no span in its context.
      bind: (work) => (span.isRecording() ? () => this.#present.run(span, work) : work),
      end({ name, facts, isFault }) {
        span.updateName(name).setAttributes(attributesOf(facts));
        if (isFault) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      },
    };
  }

  async during<T>({ name, isElsewhere, facts = {} }: TracedPart, work: Work<T>): Promise<T> {
    const parent = this.#present.getStore();
    if (!parent) return work(() => {});
    const kind = isElsewhere ? SpanKind.CLIENT : SpanKind.INTERNAL;
    const span = this.make.startSpan(
      name,
      { kind, attributes: attributesOf(facts) },
      trace.setSpan(ROOT_CONTEXT, parent),
    );
    try {
      return await this.#present.run(span, () => work((more) => span.setAttributes(attributesOf(more))));
    } catch (error) {
      span.setAttribute("error.type", typeOf(error)).setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  }
}

type Work<T> = (note: (facts: SpanFacts) => void) => Promise<T>;

const attributesOf = (facts: SpanFacts): Attributes => facts as Attributes;

/** The code of an error. Its message may hold what a client sent. */
function typeOf(error: unknown): string {
  const { reason, kind, code, name } = Object(error) as Readonly<Record<string, unknown>>;
  return String(reason ?? sqlStateOf(error) ?? kind ?? code ?? name).slice(0, REASON_LENGTH);
}

function startLogging(resource: Resource, protocol: Protocol) {
  const provider = new LoggerProvider({
    resource,
    processors: [new BatchLogRecordProcessor({ exporter: logExporter(protocol) })],
  });
  const logger = provider.getLogger(NAME);
  const write = (line: string) => {
    const { level, time, msg, trace_id: traceId, span_id: spanId = "", ...rest } = JSON.parse(line) as LogLine;
    const { trace_flags: flags = "00", ...facts } = rest;
    const span = traceId === undefined ? undefined : { traceId, spanId, traceFlags: Number.parseInt(flags, 16) };
    logger.emit({
      timestamp: Date.parse(time),
      severityText: level,
      severityNumber: SEVERITIES.get(level) ?? SeverityNumber.UNSPECIFIED,
      body: msg ?? "request",
      attributes: facts,
      ...(span && { context: trace.setSpanContext(ROOT_CONTEXT, span) }),
    });
  };
  return { write, shutdown: () => provider.shutdown() };
}

interface LogLine extends AnyValueMap {
  readonly level: string;
  readonly time: string;
  readonly msg?: string;
  readonly trace_id?: string;
  readonly span_id?: string;
  readonly trace_flags?: string;
}

const SEVERITIES = new Map([
  ["trace", SeverityNumber.TRACE],
  ["debug", SeverityNumber.DEBUG],
  ["info", SeverityNumber.INFO],
  ["warn", SeverityNumber.WARN],
  ["error", SeverityNumber.ERROR],
  ["fatal", SeverityNumber.FATAL],
]);
