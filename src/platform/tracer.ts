/** What a span says besides its name: names of ours, numbers and codes. Never what clients store, keys or addresses. */
export type SpanFacts = Readonly<Record<string, string | number | readonly string[]>>;

/** Records what a request did, and how long each part took. Services have one only if OpenTelemetry is configured. */
export interface Tracer {
  /** Begins the span of a request, below that of the caller who sends the header `traceparent`. */
  request(headers: Readonly<Record<string, string | string[] | undefined>>): RequestSpan;
  /** Runs `work` in a span below the present one. Where there is none, as in background jobs, it only runs it. */
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
  /** For log lines. */
  readonly ids: { readonly trace_id: string; readonly span_id: string };
  /** A function that runs `work` within the span, wherever it is called. */
  bind(work: () => void): () => void;
  end(outcome: { readonly name: string; readonly facts: SpanFacts; readonly isFault: boolean }): void;
}
