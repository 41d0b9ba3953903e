/** Attributes of a span: our own names, numbers and codes. Never what clients store, keys or addresses. */
export type SpanFacts = Readonly<Record<string, string | number | readonly string[]>>;

/** Records what a request did, and how long each part took. Services have one only if OpenTelemetry is configured. */
export interface Tracer {
  /** Begins the span of a request, as a child of the span in the caller's header `traceparent`. */
  request(headers: Readonly<Record<string, string | string[] | undefined>>): RequestSpan;
  /** Runs `work` in a child of the current span. Without a current span, as in background jobs, only runs `work`. */
  during<T>(part: TracedPart, work: (note: (facts: SpanFacts) => void) => Promise<T>): Promise<T>;
}

export interface TracedPart {
  readonly name: string;
  /** Whether another server does it, such as PostgreSQL or Stripe. */
  readonly isElsewhere?: boolean;
  readonly facts?: SpanFacts;
}

/** The span of one request. */
export interface RequestSpan {
  /** For log lines; the flags are two hexadecimal digits, as in `traceparent`. */
  readonly ids: { readonly trace_id: string; readonly span_id: string; readonly trace_flags: string };
  /** Returns a function that runs `work` within the span, wherever it is called. */
  bind(work: () => void): () => void;
  end(outcome: { readonly name: string; readonly facts: SpanFacts; readonly isFault: boolean }): void;
}
