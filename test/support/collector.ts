import { once } from "node:events";
import { createServer } from "node:http";
import { listen } from "./listening.js";

interface Sent {
  readonly resource: Readonly<Record<string, unknown>>;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A span as a collector receives it. */
export interface Span extends Sent {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  /** Code 2: failed. */
  readonly status: { readonly code: number };
}

/** A log record as a collector receives it. */
export interface LogRecord extends Sent {
  readonly traceId?: string;
  readonly severityText: string;
  /** 1: the trace is sampled. */
  readonly flags?: number;
  readonly body: { readonly stringValue: string };
}

/** A collector that accepts OTLP over HTTP, and reads it if it is JSON. */
export interface Collector extends AsyncDisposable {
  readonly url: string;
  readonly spans: Span[];
  readonly logs: LogRecord[];
  /** The bodies of all requests, as they were sent. */
  readonly bodies: string[];
  /** The paths of all requests, each with the type of its body. */
  readonly requests: Set<string>;
}

export async function startCollector(): Promise<Collector> {
  const spans: Span[] = [];
  const logs: LogRecord[] = [];
  const bodies: string[] = [];
  const requests = new Set<string>();
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (part: string) => (text += part));
    request.on("end", () => {
      bodies.push(text);
      const { "content-type": type } = request.headers;
      requests.add(`${request.url} ${type}`);
      const body = (type === "application/json" ? JSON.parse(text) : {}) as Export;
      if (request.url === "/v1/traces") spans.push(...read<Span>(body.resourceSpans, "scopeSpans", "spans"));
      if (request.url === "/v1/logs") logs.push(...read<LogRecord>(body.resourceLogs, "scopeLogs", "logRecords"));
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    spans,
    logs,
    bodies,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

interface Export {
  readonly resourceSpans?: readonly Resource[];
  readonly resourceLogs?: readonly Resource[];
}

type Pairs = ReadonlyArray<{ readonly key: string; readonly value: Readonly<Record<string, unknown>> }>;
type Resource = { readonly resource: { readonly attributes: Pairs } } & Readonly<Record<string, unknown>>;

/** The items of all scopes, each with its attributes by name. */
function read<Item>(resources: readonly Resource[] = [], scopes: string, items: string): Item[] {
  return resources.flatMap(({ resource, [scopes]: ofScopes }) =>
    (ofScopes as Array<Record<string, Array<{ attributes: Pairs }>>>).flatMap((scope) =>
      (scope[items] ?? []).map(
        (item) => ({ ...item, attributes: byName(item.attributes), resource: byName(resource.attributes) }) as Item,
      ),
    ),
  );
}

const byName = (pairs: Pairs): Record<string, unknown> =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, Object.values(value)[0]]));

/** The spans of a trace as lines in order of their start, each indented below its parent. */
export function treeOf(spans: readonly Span[], parentId: string | undefined, depth = 0): string[] {
  return spans
    .filter(({ parentSpanId }) => (parentSpanId || undefined) === parentId)
    .sort((one, other) => one.startTimeUnixNano.localeCompare(other.startTimeUnixNano))
    .flatMap(({ name, spanId }) => [`${"  ".repeat(depth)}${name}`, ...treeOf(spans, spanId, depth + 1)]);
}
